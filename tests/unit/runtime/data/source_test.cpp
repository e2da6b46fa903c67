#include "runtime/data/source.h"

#include "runtime/base/philox.h"
#include "runtime/data/idx.h"
#include "runtime/data/random.h"
#include "runtime/data/safetensors.h"
#include "tests/unit/runtime/data/tensor_files.h"

#include <gmock/gmock.h>

#include <cmath>

namespace sheaf {
namespace {

using data_tests::bytes_of;
using data_tests::DataFiles;
using data_tests::gzip;
using data_tests::npy;
using data_tests::tensor_of;
using data_tests::values_of;
using data_tests::zip;
using testing::HasSubstr;

class SourceFiles : public DataFiles {
 protected:
  static std::string error_of(const std::string& source, const SourceRequest& request) {
    const auto tensor = load_source(source, request);
    return tensor ? "no error" : to_string(tensor.error());
  }
};

std::string idx(const std::string& type, const std::vector<unsigned char>& dims, const std::string& data) {
  std::string bytes = std::string(2, '\0') + type + static_cast<char>(dims.size());
  for (const unsigned char dim : dims) bytes += std::string(3, '\0') + static_cast<char>(dim);
  return bytes + data;
}

const std::string kU8(1, '\x08');

TEST(ParseSource, TakesNamesApart) {
  const auto random = parse_source("random:30");
  ASSERT_TRUE(random);
  EXPECT_EQ(random->kind, DataSource::random);
  EXPECT_EQ(random->rows, 30);
  const auto npz = parse_source("a:b.npz:x:1");
  ASSERT_TRUE(npz);
  EXPECT_EQ(npz->kind, DataSource::npz);
  EXPECT_EQ(npz->file, "a:b.npz");
  EXPECT_EQ(npz->key, "x:1");
  EXPECT_EQ(parse_source("w.safetensors:net.weight")->key, "net.weight");
  EXPECT_EQ(parse_source("x.npy")->kind, DataSource::npy);
  EXPECT_EQ(parse_source("train-images-idx3-ubyte.gz")->kind, DataSource::idx);
  for (const char* text : {"", "random:", "random:x", "random:-1", "random:1.5", "random:99999999999999999999", "random: 1",
                           "a.npz", "a.npz:", "w.safetensors"})
    EXPECT_FALSE(parse_source(text)) << text;
}

TEST_F(SourceFiles, AMissingKeyListsWhatThereIs) {
  const std::string file = write("a.npz", zip("x.npy", npy("<f4", false, "()", "abcd"), false));
  EXPECT_THAT(error_of(file, {"x", DType::float32, {-1}}), HasSubstr("note: it holds 'x'"));
}

TEST_F(SourceFiles, LoadsEachKindOfFile) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::string array = npy("<f4", false, "(3, 2)", bytes_of(values));
  const HostTensor tensor = tensor_of<float>(DType::float32, {3, 2}, values);
  const std::vector<std::pair<std::string, const HostTensor*>> tensors = {{"x:1", &tensor}};
  ASSERT_TRUE(write_safetensors(path("a.safetensors"), tensors));
  for (const std::string& source :
       {write("a.npy", array), write("a.npz", zip("k.npy", array, true)) + ":k", path("a.safetensors:x:1")}) {
    const auto loaded = load_source(source, {"x", DType::float32, {-1, 2}});
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    EXPECT_EQ(loaded->shape, (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(values_of<float>(*loaded), values);
    EXPECT_TRUE(load_source(source, {"x", DType::float32, {3, -1}})) << "the batch may be any dimension";
    EXPECT_EQ(error_of(source, {"x", DType::float32, {-1, 3}}),
              "error: " + source + ": 'x' is declared as float32 [batch, 3], the data is float32 [3, 2]");
    EXPECT_THAT(error_of(source, {"x", DType::float32, {-1}}), HasSubstr("float32 [batch], the data is float32 [3, 2]"));
    EXPECT_THAT(error_of(source, {"x", DType::int64, {-1, 2}}), HasSubstr("floating-point numbers can't become int64"));
    EXPECT_EQ(load_source(source, {"x", DType::bfloat16, {-1, 2}})->dtype, DType::bfloat16);
  }
  EXPECT_THAT(error_of(path("missing.npy"), {"x", DType::float32, {-1}}), HasSubstr("missing.npy: error: can't be read"));
}

TEST_F(SourceFiles, IntegersTakeTheDeclaredWidth) {
  const std::string file = write("y.npy", npy("<i4", false, "(2,)", bytes_of<int32_t>({3, 300})));
  EXPECT_EQ(values_of<int64_t>(*load_source(file, {"y", DType::int64, {-1}})), (std::vector<int64_t>{3, 300}));
  EXPECT_THAT(error_of(file, {"y", DType::uint8, {-1}}), HasSubstr("300 can't be represented as uint8"));
}

TEST_F(SourceFiles, IdxImagesBecomeUnitFloatsWithAChannel) {
  const std::string bytes = idx(kU8, {2, 1, 2}, std::string("\x00\x33\xff\x80", 4));
  const std::vector<float> expected = {0, 0x33 / 255.0f, 1, 0x80 / 255.0f};
  for (const std::string& file : {write("images", bytes), write("images.gz", gzip(bytes))}) {
    const auto images = load_source(file, {"x", DType::float32, {-1, 1, 1, 2}});
    ASSERT_TRUE(images) << to_string(images.error());
    EXPECT_EQ(images->shape, (std::vector<int64_t>{2, 1, 1, 2}));
    EXPECT_EQ(values_of<float>(*images), expected);
    EXPECT_EQ(load_source(file, {"x", DType::float32, {-1, 1, 2}})->shape, (std::vector<int64_t>{2, 1, 2}));
    EXPECT_EQ(values_of<uint8_t>(*load_source(file, {"x", DType::uint8, {-1, 1, 2}})),
              (std::vector<uint8_t>{0, 0x33, 0xff, 0x80}));
    EXPECT_THAT(error_of(file, {"x", DType::float32, {-1, 3, 1, 2}}),
                HasSubstr("declared as float32 [batch, 3, 1, 2], the data is uint8 [2, 1, 2]"));
  }
}

TEST_F(SourceFiles, ArraysOfBytesAreTheirNumbers) {
  std::string data(512, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 37);
  for (const std::string& file :
       {write("images", idx(kU8, {8, 8, 8}, data)), write("images.npy", npy("|u1", false, "(8, 8, 8)", data))}) {
    const auto source = open_source(file, {"x", DType::float32, {-1, 8, 8}});
    ASSERT_TRUE(source) << to_string(source.error());
    const auto expected = values_of<float>(*read_rows(**source, 2, 5));
    const ByteNumbers numbers = (*source)->numbers();
    ASSERT_EQ(numbers.size(), 256);
    (*source)->give_bytes();
    const auto bytes = values_of<uint8_t>(*read_rows(**source, 2, 5));
    ASSERT_EQ(bytes.size(), expected.size());
    for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(numbers[bytes[i]], expected[i]) << file << ", " << i;
    EXPECT_TRUE((*open_source(file, {"x", DType::uint8, {-1, 8, 8}}))->numbers().empty());
    EXPECT_TRUE((*open_source(file, {"x", DType::int64, {-1, 8, 8}}))->numbers().empty());
  }
  EXPECT_TRUE((*open_source("random:8", {"x", DType::float32, {-1, 8, 8}}))->numbers().empty());
}

TEST_F(SourceFiles, IdxLabelsBecomeIntegers) {
  const std::string file = write("labels", idx(kU8, {3}, "\x07\x02\x09"));
  EXPECT_EQ(values_of<int64_t>(*load_source(file, {"y", DType::int64, {-1}})), (std::vector<int64_t>{7, 2, 9}));
  EXPECT_EQ(values_of<float>(*load_source(file, {"y", DType::float32, {-1}})), (std::vector<float>{7, 2, 9}))
      << "labels aren't scaled";
}

TEST_F(SourceFiles, IdxNumbersAreBigEndian) {
  const auto integers = load_idx(write("i", idx("\x0c", {2}, std::string("\0\0\1\2\xff\xff\xff\xff", 8))));
  ASSERT_TRUE(integers);
  EXPECT_EQ(values_of<int32_t>(*integers), (std::vector<int32_t>{258, -1}));
  EXPECT_EQ(values_of<float>(*load_idx(write("f", idx("\x0d", {1}, std::string("\x3f\x80\0\0", 4))))), (std::vector<float>{1}));
}

TEST_F(SourceFiles, RefusesIdxFilesThatAreWrong) {
  const std::string good = idx(kU8, {2, 2}, "abcd");
  for (const std::string& bytes : {good, gzip(good)}) {
    ASSERT_TRUE(load_idx(write("x", bytes)));
    for (size_t size = 0; size < bytes.size(); ++size) ASSERT_FALSE(load_idx(write("x", bytes.substr(0, size)))) << size;
    ASSERT_FALSE(load_idx(write("x", bytes + "x")));
  }
  EXPECT_FALSE(load_idx(write("x", gzip(good + "x"))));
  EXPECT_FALSE(load_idx(write("x", idx("\x0b", {2}, "abcd")))) << "16-bit integers";
  EXPECT_FALSE(load_idx(write("x", "#!/bin/sh\n")));
  const auto huge = load_idx(write("x", std::string("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16)));
  ASSERT_FALSE(huge);
  EXPECT_THAT(to_string(huge.error()), HasSubstr("too large"));
  const auto large = load_idx(write("x", std::string("\0\0\x08\x01\x7f\xff\xff\xff", 8)));
  ASSERT_FALSE(large);
  EXPECT_THAT(to_string(large.error()), HasSubstr("more than the file can hold"));
}

TEST_F(SourceFiles, ACompressedBombIsNotUnpacked) {
  // 100 MB of zeros in 100 kB, behind a header that promises 4 bytes.
  const auto bomb = load_idx(write("x", gzip(idx(kU8, {4}, std::string(100'000'000, '\0')))));
  ASSERT_FALSE(bomb);
  EXPECT_THAT(to_string(bomb.error()), HasSubstr("goes on beyond its expected end"));
}

TEST_F(SourceFiles, SurvivesEveryFlippedBitOfAnIdxFile) {
  std::string bytes = gzip(idx(kU8, {2, 2}, "abcd"));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    const auto tensor = load_idx(write("x", bytes));
    if (tensor) ASSERT_EQ(values_of<uint8_t>(*tensor), (std::vector<uint8_t>{'a', 'b', 'c', 'd'})) << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
  }
}

TEST(RandomSource, HasTheRowsAskedForAlongTheBatch) {
  const auto tensor = load_source("random:30", {"x", DType::float32, {5, -1}, 1});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{5, 30}));
  EXPECT_EQ(load_source("random:0", {"x", DType::float32, {-1, 3}, 1})->shape, (std::vector<int64_t>{0, 3}));
  EXPECT_TRUE(load_source("random:1", {"x", DType::float32, {4}, 1}));
  EXPECT_FALSE(load_source("random:2", {"x", DType::float32, {4}, 1})) << "no batch dimension";
  EXPECT_FALSE(load_source("random:1099511627776", {"x", DType::float32, {-1, 1000}, 1})) << "more than the memory";
}

TEST(RandomSource, DependsOnSeedAndNameAlone) {
  const auto of = [](const char* name, uint64_t seed) {
    return values_of<float>(*load_source("random:50", {name, DType::float32, {-1}, seed}));
  };
  EXPECT_EQ(of("x", 1), of("x", 1));
  EXPECT_NE(of("x", 1), of("x", 2));
  EXPECT_NE(of("x", 1), of("y", 1));
  const auto more = values_of<float>(*load_source("random:51", {"x", DType::float32, {-1}, 1}));
  EXPECT_EQ(std::vector<float>(more.begin(), more.begin() + 50), of("x", 1));
}

TEST(RandomSource, IntegersAreBelowTheBound) {
  const auto tensor = load_source("random:10000", {"y", DType::int64, {-1}, 3, {7}});
  ASSERT_TRUE(tensor);
  std::vector<int> counts(7, 0);
  for (const int64_t value : values_of<int64_t>(*tensor)) {
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 7);
    ++counts[static_cast<size_t>(value)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000 / 7, 150);
  EXPECT_TRUE(load_source("random:100", {"y", DType::uint8, {-1}, 3, {1000}}));
  EXPECT_TRUE(load_source("random:100", {"y", DType::int32, {-1}, 3, {INT64_MAX}}));
}

TEST(RandomSource, IsStandardNormal) {
  std::vector<float> values(200'000);
  fill_normal(values, 7, stream_of("x"));
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (const float value : values) {
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += double{value} * value;
    fourth += std::pow(double{value}, 4);
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NEAR(fourth / count, 3, 0.1);
}

// The reference implementation's known answers (Random123, kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, FollowsTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, ~uint64_t{0}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, uint64_t{0x299f31d0} << 32 | 0xa4093822),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

}  // namespace
}  // namespace sheaf
