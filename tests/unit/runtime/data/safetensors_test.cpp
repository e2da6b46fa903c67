#include "runtime/data/safetensors.h"
#include "tests/unit/runtime/data/tensor_files.h"

#include <gmock/gmock.h>

#include <limits>

namespace sheaf {
namespace {

using data_tests::DataFiles;
using data_tests::tensor_of;
using data_tests::values_of;
using testing::HasSubstr;
using testing::StartsWith;

class Safetensors : public DataFiles {
 protected:
  /// A file with this header and that many bytes of data.
  std::string file(const std::string& header, size_t data) const {
    const uint64_t size = header.size();
    return write("w.safetensors", std::string(reinterpret_cast<const char*>(&size), 8) + header + std::string(data, 'd'));
  }
  std::string error_of(const std::string& header, size_t data) const {
    const auto opened = SafetensorsFile::open(file(header, data));
    return opened ? "no error" : to_string(opened.error());
  }
};

TEST_F(Safetensors, WritesWhatItReads) {
  const HostTensor a = tensor_of<float>(DType::float32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const HostTensor b = tensor_of<int64_t>(DType::int64, {}, {-7});
  const HostTensor c = tensor_of<uint8_t>(DType::uint8, {0, 4}, {});
  const HostTensor d = tensor_of<uint16_t>(DType::bfloat16, {1}, {0x3F80});
  const std::string name = path("w.safetensors");
  const std::vector<std::pair<std::string, const HostTensor*>> tensors = {
      {"z.weight", &a}, {"a \"quoted\" é", &b}, {"empty", &c}, {"half", &d}};
  ASSERT_TRUE(write_safetensors(name, tensors, {{"format", "pt"}}));
  const auto opened = SafetensorsFile::open(name);
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_EQ(opened->entries().size(), 4u);
  EXPECT_EQ(opened->metadata().at("format"), "pt");
  for (const auto& [key, tensor] : tensors) {
    const auto read = opened->read(key);
    ASSERT_TRUE(read) << key;
    EXPECT_EQ(read->dtype, tensor->dtype);
    EXPECT_EQ(read->shape, tensor->shape);
    EXPECT_EQ(read->bytes, tensor->bytes);
  }
  // The reference implementation aligns the data to 8 bytes.
  uint64_t header = 0;
  std::memcpy(&header, read_file(name, 10000)->data(), 8);
  EXPECT_EQ(header % 8, 0u);
}

TEST_F(Safetensors, AFileWithoutTensorsIsFine) {
  ASSERT_TRUE(write_safetensors(path("empty"), std::span<const TensorView>{}));
  const auto opened = SafetensorsFile::open(path("empty"));
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->entries().empty());
}

TEST_F(Safetensors, RefusesToWriteANameTwice) {
  const HostTensor tensor = tensor_of<float>(DType::float32, {1}, {1});
  const std::vector<std::pair<std::string, const HostTensor*>> twice = {{"a", &tensor}, {"a", &tensor}};
  EXPECT_FALSE(write_safetensors(path("w"), twice));
  const std::vector<std::pair<std::string, const HostTensor*>> reserved = {{"__metadata__", &tensor}};
  EXPECT_FALSE(write_safetensors(path("w"), reserved));
  EXPECT_FALSE(std::filesystem::exists(path("w")));
}

TEST_F(Safetensors, ListsNamesWhereOneIsMissing) {
  const auto opened = SafetensorsFile::open(file(R"({"fc.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
  ASSERT_TRUE(opened);
  const auto missing = opened->read("fc.bias");
  ASSERT_FALSE(missing);
  EXPECT_EQ(to_string(missing.error()),
            path("w.safetensors") + ": error: there is no tensor 'fc.bias'\nnote: the file holds fc.weight");
}

TEST_F(Safetensors, OtherTypesAreAnErrorOnlyWhenAskedFor) {
  const auto opened = SafetensorsFile::open(file(R"({"b":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]},)"
                                                 R"("f":{"dtype":"U64","shape":[],"data_offsets":[3,11]},)"
                                                 R"("x":{"dtype":"F4","shape":[3],"data_offsets":[11,13]},)"
                                                 R"("u":{"dtype":"U8","shape":[1],"data_offsets":[13,14]}})",
                                                 14));
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_TRUE(opened->read("u"));
  for (const char* name : {"b", "f", "x"}) {
    const auto read = opened->read(name);
    ASSERT_FALSE(read);
    EXPECT_THAT(to_string(read.error()), HasSubstr("can be read"));
  }
}

TEST_F(Safetensors, DoublesBecomeFloatsAndTheFilesTypeIsKnown) {
  const double values[] = {0.1, 1e300};
  const std::string header = R"({"d":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})";
  const uint64_t size = header.size();
  const auto opened = SafetensorsFile::open(write("d", std::string(reinterpret_cast<const char*>(&size), 8) + header +
                                                           std::string(reinterpret_cast<const char*>(values), 16)));
  ASSERT_TRUE(opened) << to_string(opened.error());
  const auto read = opened->read("d");
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->dtype, DType::float32);
  EXPECT_EQ(read->stored, "float64");
  EXPECT_EQ(values_of<float>(*read), (std::vector<float>{0.1F, std::numeric_limits<float>::infinity()}));
}

TEST_F(Safetensors, RefusesHeadersThatAreWrong) {
  const auto one = [](const std::string& entry) { return "{\"a\":" + entry + "}"; };
  const std::string good = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_EQ(error_of(one(good), 8), "no error");
  EXPECT_EQ(error_of(one(good) + "   ", 8), "no error");
  EXPECT_THAT(error_of(one(good), 9), HasSubstr("its tensors have 8 bytes, it holds 9"));
  EXPECT_THAT(error_of(one(good), 7), HasSubstr("its tensors have 8 bytes, it holds 7"));
  EXPECT_THAT(error_of(" " + one(good), 8), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_of("[]", 8), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_of("{", 8), HasSubstr("its header"));
  EXPECT_THAT(error_of("{\"a\":" + good + ",\"a\":" + good + "}", 8), HasSubstr("appears twice"));
  EXPECT_THAT(error_of("{\"a\":" + good + ",\"b\":" + good + "}", 8), HasSubstr("within another one"));
  EXPECT_THAT(error_of("{\"a\":" + good + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[9,10]}})", 10),
              HasSubstr("behind a hole"));
  EXPECT_THAT(error_of(one(R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})"), 12), HasSubstr("behind a hole"));
  EXPECT_THAT(error_of(one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"), 8), HasSubstr("no range"));
  EXPECT_THAT(error_of(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})"), 8), HasSubstr("wrong type"));
  EXPECT_THAT(error_of(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,-8]})"), 8), HasSubstr("no range"));
  EXPECT_THAT(error_of(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8.0]})"), 8), HasSubstr("no range"));
  EXPECT_THAT(error_of(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"), 8),
              HasSubstr("has 12 bytes, data_offsets span 8"));
  EXPECT_THAT(error_of(one(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), 8), HasSubstr("not a size"));
  EXPECT_THAT(error_of(one(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]})"), 8),
              HasSubstr("not a size"));
  EXPECT_THAT(error_of(one(R"({"dtype":"F32","shape":[1073741824,1073741824,0],"data_offsets":[0,0]})"), 0),
              HasSubstr("too large"));
  EXPECT_THAT(error_of(one(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})"), 8), HasSubstr("wrong type"));
  EXPECT_THAT(error_of(one(R"({"dtype":7,"shape":[2],"data_offsets":[0,8]})"), 8), HasSubstr("wrong type"));
  EXPECT_THAT(error_of(one(R"({"shape":[2],"data_offsets":[0,8]})"), 8), HasSubstr("expected an object"));
  EXPECT_THAT(error_of(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"), 8), HasSubstr("expected an object"));
  EXPECT_THAT(error_of(one("[[[[[[]]]]]]"), 8), HasSubstr("nested"));
  EXPECT_THAT(error_of(R"({"__metadata__":{"a":1}})", 0), HasSubstr("other than strings"));
  EXPECT_THAT(error_of(R"({"__metadata__":[]})", 0), HasSubstr("not an object"));
}

TEST_F(Safetensors, RefusesSizesBeyondTheFile) {
  for (const uint64_t size : {uint64_t{3}, uint64_t{100'000'001}, UINT64_MAX, uint64_t{1} << 63}) {
    const auto opened = SafetensorsFile::open(write("w", std::string(reinterpret_cast<const char*>(&size), 8) + "{}"));
    EXPECT_FALSE(opened) << size;
  }
  EXPECT_FALSE(SafetensorsFile::open(write("w", "")));
  EXPECT_FALSE(SafetensorsFile::open(path("missing")));
}

TEST_F(Safetensors, RefusesEveryTruncation) {
  const HostTensor a = tensor_of<float>(DType::float32, {2}, {1, 2});
  const HostTensor b = tensor_of<int32_t>(DType::int32, {3}, {1, 2, 3});
  const std::vector<std::pair<std::string, const HostTensor*>> tensors = {{"a", &a}, {"b", &b}};
  ASSERT_TRUE(write_safetensors(path("w"), tensors));
  const std::string whole = *read_file(path("w"), 10000);
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto opened = SafetensorsFile::open(write("t", whole.substr(0, size)));
    ASSERT_FALSE(opened) << size;
    ASSERT_THAT(to_string(opened.error()), StartsWith(path("t") + ": error: "));
  }
}

TEST_F(Safetensors, SurvivesEveryFlippedBit) {
  const HostTensor a = tensor_of<float>(DType::float32, {2}, {1, 2});
  const std::vector<std::pair<std::string, const HostTensor*>> tensors = {{"a", &a}};
  ASSERT_TRUE(write_safetensors(path("w"), tensors));
  std::string bytes = *read_file(path("w"), 10000);
  size_t refused = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    const auto opened = SafetensorsFile::open(write("t", bytes));
    refused += !opened;
    if (opened)
      for (const auto& [name, entry] : opened->entries()) (void)opened->read(name);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
  }
  EXPECT_GT(refused, bytes.size() * 4);
}

TEST_F(Safetensors, AFileThatShrinksWhileItIsOpenIsAnError) {
  const HostTensor a = tensor_of<float>(DType::float32, {1000}, std::vector<float>(1000, 1));
  const std::vector<std::pair<std::string, const HostTensor*>> tensors = {{"a", &a}};
  ASSERT_TRUE(write_safetensors(path("w"), tensors));
  const auto opened = SafetensorsFile::open(path("w"));
  ASSERT_TRUE(opened);
  std::filesystem::resize_file(path("w"), 100);
  EXPECT_FALSE(opened->read("a"));
}

}  // namespace
}  // namespace sheaf
