#include "runtime/data/npy.h"
#include "runtime/data/zip.h"
#include "tests/unit/runtime/data/tensor_files.h"

#include <gmock/gmock.h>

#include <cmath>

namespace sheaf {
namespace {

using data_tests::bytes_of;
using data_tests::DataFiles;
using data_tests::npy;
using data_tests::values_of;
using data_tests::zip;
using testing::HasSubstr;

std::string error_of(const std::string& bytes) {
  const auto tensor = parse_npy(bytes);
  return tensor ? "no error" : tensor.error().message();
}

TEST(Npy, ReadsEachType) {
  const auto f4 = parse_npy(npy("<f4", false, "(2, 1)", bytes_of<float>({1.5, -2})));
  ASSERT_TRUE(f4) << f4.error().message();
  EXPECT_EQ(f4->shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(values_of<float>(*f4), (std::vector<float>{1.5, -2}));
  const auto f8 = parse_npy(npy("<f8", false, "(3,)", bytes_of<double>({0.1, 1e300, -1e300})));
  ASSERT_TRUE(f8);
  EXPECT_EQ(f8->dtype, DType::float32);
  EXPECT_EQ(values_of<float>(*f8), (std::vector<float>{0.1f, INFINITY, -INFINITY}));
  EXPECT_EQ(parse_npy(npy("<f2", false, "(1,)", "ab"))->dtype, DType::float16);
  EXPECT_EQ(values_of<int64_t>(*parse_npy(npy("<i8", false, "()", bytes_of<int64_t>({-3})))), (std::vector<int64_t>{-3}));
  EXPECT_EQ(values_of<int32_t>(*parse_npy(npy("<i4", false, "(1,)", bytes_of<int32_t>({-3})))), (std::vector<int32_t>{-3}));
  EXPECT_EQ(values_of<uint8_t>(*parse_npy(npy("|u1", false, "(2,)", "\x01\xff"))), (std::vector<uint8_t>{1, 255}));
  EXPECT_EQ(parse_npy(npy("<f8", false, "(0, 3)", ""))->shape, (std::vector<int64_t>{0, 3}));
}

TEST(Npy, ReadsColumnMajorArrays) {
  const auto matrix = parse_npy(npy("<i4", true, "(2, 3)", bytes_of<int32_t>({1, 4, 2, 5, 3, 6})));
  ASSERT_TRUE(matrix);
  EXPECT_EQ(values_of<int32_t>(*matrix), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  std::vector<double> data(24);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) data[static_cast<size_t>(i + 2 * j + 6 * k)] = i * 12 + j * 4 + k;
  const auto cube = parse_npy(npy("<f8", true, "(2, 3, 4)", bytes_of(data)));
  ASSERT_TRUE(cube);
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(cube->as<float>()[i], static_cast<float>(i));
}

TEST(Npy, ReadsVersionsTwoAndThree) {
  const std::string one = npy("<i4", false, "(1,)", bytes_of<int32_t>({9}));
  for (const char version : {'\x02', '\x03'}) {
    const std::string other =
        one.substr(0, 6) + version + std::string(1, '\0') + one.substr(8, 2) + std::string(2, '\0') + one.substr(10);
    const auto tensor = parse_npy(other);
    ASSERT_TRUE(tensor) << tensor.error().message();
    EXPECT_EQ(values_of<int32_t>(*tensor), (std::vector<int32_t>{9}));
  }
}

TEST(Npy, RefusesWhatItCannotRead) {
  const std::string data = bytes_of<int32_t>({9});
  EXPECT_THAT(error_of(npy(">i4", false, "(1,)", data)), HasSubstr("'>i4'"));
  EXPECT_THAT(error_of(npy("<c8", false, "(1,)", data)), HasSubstr("'<c8'"));
  EXPECT_THAT(error_of(npy("|O", false, "(1,)", data)), HasSubstr("'|O'"));
  EXPECT_THAT(error_of(npy("<i4", false, "(2,)", data)), HasSubstr("needs 8 bytes, 4 are there"));
  EXPECT_THAT(error_of(npy("<i4", false, "(1,)", data + "x")), HasSubstr("needs 4 bytes, 5 are there"));
  EXPECT_THAT(error_of(npy("<i4", false, "(9223372036854775807, 9)", data)), HasSubstr("too large"));
  EXPECT_THAT(error_of(npy("<i4", false, "(0, 9223372036854775807, 9)", "")), HasSubstr("too large"));
  for (const char* shape : {"(-1,)", "(1", "1", "(1,,)", "(1 1)", "(99999999999999999999,)", "(1,), 'shape': (1,)", "(1.0,)"})
    EXPECT_THAT(error_of(npy("<i4", false, shape, data)), HasSubstr("malformed")) << shape;
  EXPECT_THAT(error_of("\x93NUMPY\x04" + std::string(100, '\0')), HasSubstr("4.0"));
  EXPECT_THAT(error_of("\x93NUMPX\x01" + std::string(100, '\0')), HasSubstr("not a NumPy array"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12)), HasSubstr("ends within its header"));
}

TEST(Npy, RefusesEveryTruncationAndSurvivesEveryFlippedBit) {
  std::string bytes = npy("<f4", true, "(2, 3)", bytes_of<float>({1, 2, 3, 4, 5, 6}));
  for (size_t size = 0; size < bytes.size(); ++size) ASSERT_FALSE(parse_npy(bytes.substr(0, size))) << size;
  size_t refused = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    refused += !parse_npy(bytes);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
  }
  EXPECT_GT(refused, 400u);
}

class Npz : public DataFiles {};

TEST_F(Npz, ReadsStoredAndDeflatedArrays) {
  const std::vector<float> values(1000, 0.25f);
  for (const bool deflated : {false, true}) {
    const std::string file = write("a.npz", zip("x.npy", npy("<f4", false, "(1000,)", bytes_of(values)), deflated));
    const auto tensor = load_npz(file, "x");
    ASSERT_TRUE(tensor) << to_string(tensor.error());
    EXPECT_EQ(values_of<float>(*tensor), values);
    const auto missing = load_npz(file, "y");
    ASSERT_FALSE(missing);
    EXPECT_EQ(to_string(missing.error()), file + ": error: there is no array 'y'\nnote: the file holds x");
  }
}

TEST_F(Npz, RefusesEveryTruncation) {
  for (const bool deflated : {false, true}) {
    const std::string bytes = zip("x.npy", npy("<f4", false, "(4,)", bytes_of<float>({1, 2, 3, 4})), deflated);
    ASSERT_TRUE(load_npz(write("a.npz", bytes), "x"));
    for (size_t size = 0; size < bytes.size(); ++size)
      ASSERT_FALSE(load_npz(write("a.npz", bytes.substr(0, size)), "x")) << size;
  }
}

// The CRC guards the array; the other bits that may flip unnoticed are never read (times, versions).
TEST_F(Npz, SurvivesEveryFlippedBit) {
  const std::string array = npy("<f4", false, "(4,)", bytes_of<float>({1, 2, 3, 4}));
  for (const bool deflated : {false, true}) {
    std::string bytes = zip("x.npy", array, deflated);
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      const auto tensor = load_npz(write("a.npz", bytes), "x");
      if (tensor) ASSERT_EQ(values_of<float>(*tensor), (std::vector<float>{1, 2, 3, 4})) << "bit " << bit;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    }
  }
}

TEST_F(Npz, RefusesADirectoryThatLies) {
  const std::string content(100, 'x');
  std::string bytes = zip("x.npy", content, true);
  const size_t directory = bytes.find("PK\x01\x02");
  const auto with = [&](size_t offset, const std::string& field) {
    std::string changed = bytes;
    changed.replace(directory + offset, field.size(), field);
    const auto opened = ZipFile::open(write("a.npz", changed));
    if (!opened) return to_string(opened.error());
    const auto read = opened->read("x.npy");
    return read ? std::string("no error") : to_string(read.error());
  };
  EXPECT_EQ(with(0, "PK"), "no error");
  EXPECT_THAT(with(24, std::string("\xf0\xff\xff\xff", 4)), HasSubstr("damaged")) << "larger than deflate could ever make it";
  EXPECT_THAT(with(24, std::string("\x63\0\0\0", 4)), HasSubstr("goes on beyond"));
  EXPECT_THAT(with(24, std::string("\x65\0\0\0", 4)), HasSubstr("ends too early"));
  EXPECT_THAT(with(24, std::string("\xff\xff\xff\xff", 4)), HasSubstr("directory is damaged")) << "no Zip64 field";
  EXPECT_THAT(with(8, std::string("\x01", 1)), HasSubstr("encrypted"));
  EXPECT_THAT(with(10, std::string("\x0c", 1)), HasSubstr("method 12"));
  EXPECT_THAT(with(42, std::string("\xf0\xff\xff\x7f", 4)), HasSubstr("ends too early"));
  EXPECT_THAT(with(16, std::string("\0\0\0\0", 4)), HasSubstr("CRC"));
}

}  // namespace
}  // namespace sheaf
