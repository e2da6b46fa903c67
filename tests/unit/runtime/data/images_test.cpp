// Pictures as data. The expected CRC-32 sums are torchvision's and Pillow 13's for the same pictures.
#include "runtime/data/images/augmentation.h"
#include "runtime/data/source.h"
#include "runtime/plan/base64.h"
#include "tests/unit/runtime/data/tensor_files.h"

#include <gmock/gmock.h>

#include <algorithm>

#include <png.h>
#include <zlib.h>

namespace sheaf {
namespace {

using data_tests::DataFiles;
using data_tests::values_of;
using testing::HasSubstr;

// 44 x 30, quality 60.
constexpr const char* kJpeg =
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpR"
    "Uk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAeACwDASIAAhEB"
    "AxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS"
    "0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKz"
    "tLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgEC"
    "BAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpj"
    "ZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6"
    "/9oADAMBAAIRAxEAPwDrBqCeX1rE1PUE55qgJpfL71i6nNLz1rjq/wAQ2wnwl3+0E8zqK3NM1BOOa8586XzO9bmmSy8da9in/DOPFfEeinUE8vrWRcag"
    "nmnmswyy+X3rIuJpfNPWvFrfGduF+E7QaUPL6Vi6npY54rrhOPL+7WLqc45+Wqq/xBYT4Tj/AOyh5nStzTNKHHFV/PHmfdrc0ycccV7FP+GceK+ImOlj"
    "y+lZNxpY808V1RnHl/drJuJx5p+WvFrfGduF+E//2Q==";

std::string jpeg() {
  const auto bytes = from_base64(kJpeg);
  EXPECT_TRUE(bytes);
  return *bytes;
}

/// Pixels of many colours.
std::string png(int width = 37, int height = 29) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) pixels.push_back(static_cast<uint8_t>(x * 7 + y * 13 + c * 50 + (x * y) % 11 * 5));
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 1 << 20;
  std::string bytes(size, '\0');
  EXPECT_TRUE(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr));
  bytes.resize(size);
  return bytes;
}

class Images : public DataFiles {
 protected:
  void SetUp() override {
    DataFiles::SetUp();
    std::filesystem::create_directories(path("all/cat/more"));
    std::filesystem::create_directories(path("all/dog"));
    std::filesystem::create_directories(path("one"));
  }
  Result<std::unique_ptr<RowSource>> open(const std::string& options, int64_t channels, int64_t height, int64_t width,
                                          DType dtype = DType::uint8) const {
    return open_source("images:" + path("one") + options, {"x", dtype, {-1, channels, height, width}, 3});
  }
  /// Of the first row, in epoch 0.
  uint32_t sum(const std::string& options, int64_t channels, int64_t height, int64_t width, DType dtype = DType::uint8) const {
    const auto source = open(options, channels, height, width, dtype);
    if (!source) return ADD_FAILURE() << to_string(source.error()), 0;
    const auto rows = read_rows(**source, 0, 1);
    if (!rows) return ADD_FAILURE() << to_string(rows.error()), 0;
    return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(rows->bytes.data()), rows->bytes.size()));
  }
  std::string error_of(const std::string& options, int64_t height = 12, int64_t width = 16) const {
    const auto source = open(options, 3, height, width);
    if (!source) return to_string(source.error());
    const auto rows = read_rows(**source, 0, (*source)->rows());
    return rows ? "no error" : to_string(rows.error());
  }
};

TEST_F(Images, AreTorchvisionsBitForBit) {
  write("one/a.png", png());
  EXPECT_EQ(sum(",resize", 3, 12, 16), 0x1d71172fU);
  EXPECT_EQ(sum(",resize=20,crop", 3, 12, 16), 0x62f752abU);
  EXPECT_EQ(sum(",crop", 3, 12, 16), 0x4073a2feU);
  EXPECT_EQ(sum(",resize", 3, 40, 48), 0x548f9671U) << "larger";
  EXPECT_EQ(sum(",resize", 1, 12, 16), 0x7e6dd213U) << "grey";
  EXPECT_EQ(sum(",resize,mean=0.485/0.456/0.406,std=0.229/0.224/0.225", 3, 12, 16, DType::float32), 0xbb6a45a2U);
  write("one/a.png", jpeg());
  EXPECT_EQ(sum("", 3, 30, 44), 0x3a4130d0U) << "the content says what it is, not the name";
  EXPECT_EQ(sum(",resize", 3, 12, 16), 0x924c525eU);
}

/// The bytes of a picture, borders and flips included, and what each stands for in its channel.
TEST_F(Images, AreTheNumbersOfTheirBytes) {
  write("one/a.png", png());
  for (const int64_t channels : {1, 3}) {
    const auto source =
        open(",random_crop=9,flip,mean=0.485/0.456/0.406,std=0.229/0.224/0.225", channels, 24, 30, DType::float32);
    ASSERT_TRUE(source) << to_string(source.error());
    const auto expected = values_of<float>(*read_rows(**source, 0, 1));
    const ByteNumbers numbers = (*source)->numbers();
    ASSERT_EQ(numbers.size(), size_t(channels) * 256);
    (*source)->give_bytes();
    EXPECT_EQ((*source)->dtype(), DType::uint8);
    EXPECT_TRUE((*source)->numbers().empty());
    const auto bytes = values_of<uint8_t>(*read_rows(**source, 0, 1));
    ASSERT_EQ(bytes.size(), expected.size());
    for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(numbers[i / (24 * 30) * 256 + bytes[i]], expected[i]) << i;
  }
  EXPECT_TRUE((*open(",resize", 3, 12, 16))->numbers().empty()) << "bytes already";
  EXPECT_TRUE((*open(",resize", 3, 12, 16, DType::bfloat16))->numbers().empty());
}

TEST_F(Images, AJpegIsShrunkWhileDecodedOnlyFarAboveTheSizeNeeded) {
  const auto divisor = [](int width, int height, int to) {
    ImageOptions options;
    options.resize = true;
    return region_of(options, {width, height}, {to, to}, {})->divisor();
  };
  EXPECT_EQ(divisor(899, 1000, 225), 1);
  EXPECT_EQ(divisor(900, 1000, 225), 2);
  EXPECT_EQ(divisor(3999, 3000, 375), 4);
  EXPECT_EQ(divisor(4000, 100, 10), 4);

  // 44 x 30 to 7 x 5, from the half and from the whole.
  const std::string bytes = jpeg();
  std::vector<Picture> results;
  for (const int shrunk : {1, 2}) {
    Picture decoded, scaled;
    ResampleScratch scratch;
    ImageOptions options;
    options.resize = true;
    const auto size = decode_picture(std::as_bytes(std::span(bytes)), [&](PictureSize) { return shrunk; }, decoded);
    ASSERT_TRUE(size);
    ASSERT_EQ(decoded.width, 44 / shrunk);
    const auto region = region_of(options, *size, {7, 5}, {});
    EXPECT_EQ(region->divisor(), 2);
    resample(decoded, region->across(44, decoded.width), region->down(30, decoded.height), scratch, scaled);
    results.push_back(scaled);
  }
  for (size_t i = 0; i < results[0].pixels.size(); ++i) EXPECT_NEAR(results[0].pixels[i], results[1].pixels[i], 8);
}

TEST_F(Images, WhatIsDrawnDependsOnSeedEpochAndRowAlone) {
  for (const char* name : {"one/a.png", "one/b.png", "one/c.png"}) write(name, png());
  for (const char* options : {",random_resized_crop,flip", ",random_crop,flip", ",random_crop=4", ",resize,flip"}) {
    const auto source = open(options, 3, 12, 16);
    ASSERT_TRUE(source);
    const auto rows_in = [&](const std::vector<int64_t>& rows, int64_t epoch) {
      auto batch = *make_tensor(DType::uint8, (*source)->batch_shape(static_cast<int64_t>(rows.size())));
      EXPECT_TRUE((*source)->read(rows, epoch, {batch.bytes.data(), static_cast<int64_t>(rows.size()), 0}));
      return values_of<uint8_t>(batch);
    };
    const auto both = rows_in({0, 1}, 5);
    const size_t half = both.size() / 2;
    EXPECT_EQ(rows_in({1}, 5), std::vector<uint8_t>(both.begin() + static_cast<std::ptrdiff_t>(half), both.end())) << options;
    bool differs = false;
    for (int64_t epoch = 0; epoch < 8; ++epoch) differs |= rows_in({0}, epoch) != rows_in({0}, 5);
    EXPECT_TRUE(differs) << options;
  }
}

TEST_F(Images, RandomPartsAreWithinThePictureAndOfItsArea) {
  ImageOptions options;
  options.random_resized_crop = true;
  double area = 0;
  for (int64_t row = 0; row < 500; ++row) {
    const auto region = region_of(options, {50, 40}, {8, 8}, {1, 0, row});
    ASSERT_TRUE(region);
    ASSERT_TRUE(region->left >= 0 && region->top >= 0 && region->width > 0 && region->height > 0);
    ASSERT_TRUE(region->left + region->width <= 50 && region->top + region->height <= 40);
    area += region->width * region->height / 2000.0 / 500;
  }
  EXPECT_NEAR(area, 0.5, 0.05) << "8 to 100%, fewer of the largest, which don't fit";
  const auto flat = region_of(options, {1000, 1}, {8, 8}, {1, 0, 0});
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->height, 1);
}

TEST_F(Images, ClassesAreFoldersInTheOrderOfTheirNames) {
  for (const char* name : {"all/dog/1.PNG", "all/cat/2.png", "all/cat/1.png", "all/cat/more/0.png", "all/dog/.hidden.png"})
    write(name, png());
  write("all/dog/notes.txt", "");
  static std::string noted;
  SourceRequest request{"label", DType::int64, {-1}};
  request.note = [](const Diagnostic& note) { noted = note.message; };
  const auto classes = load_source("classes:" + path("all"), request);
  ASSERT_TRUE(classes) << to_string(classes.error());
  EXPECT_EQ(values_of<int64_t>(*classes), (std::vector<int64_t>{0, 0, 0, 1}));
  EXPECT_EQ((*open_source("images:" + path("all") + ",resize", {"x", DType::float32, {-1, 3, 4, 4}}))->rows(), 4);
  request.note = nullptr;
  std::filesystem::create_directories(path("all/empty"));
  const auto none = load_source("classes:" + path("all"), request);
  ASSERT_FALSE(none);
  EXPECT_THAT(to_string(none.error()), HasSubstr("all/empty: error: there are no pictures in this class's folder"));
}

TEST_F(Images, DamageIsAnErrorAtTheFile) {
  const std::string sound[] = {jpeg(), png()};
  for (const std::string& bytes : sound) {
    for (const size_t kept : {size_t{0}, size_t{2}, size_t{20}, bytes.size() / 2, bytes.size() - 3}) {
      write("one/a.jpg", bytes.substr(0, kept));
      EXPECT_THAT(error_of(",resize"), HasSubstr("one/a.jpg: error: ")) << kept;
    }
    // Whatever bit is flipped: an error, or some picture.
    for (size_t at = 0; at < bytes.size(); at += 3) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      write("one/a.jpg", damaged);
      (void)error_of(",resize");
    }
  }
}

TEST_F(Images, OptionsAndSizesThatDoNotFitAreRefused) {
  write("one/a.png", png());
  EXPECT_THAT(error_of(""), HasSubstr("it has 37 x 29 pixels, the model takes 16 x 12"));
  EXPECT_THAT(error_of(",crop", 30, 30), HasSubstr("too few to cut out the 30 x 30"));
  EXPECT_THAT(error_of(",resise=4"), HasSubstr("did you mean 'resize'?"));
  EXPECT_THAT(error_of(",resize,crop"), HasSubstr("shorter side's pixels"));
  EXPECT_THAT(error_of(",crop,random_crop"), HasSubstr("exclude one another"));
  EXPECT_THAT(error_of(",crop=3"), HasSubstr("has no value"));
  EXPECT_THAT(error_of(",resize=0"), HasSubstr("from 1 to 65535"));
  EXPECT_THAT(error_of(",resize,mean=1/2"), HasSubstr("one for each channel"));
  EXPECT_THAT(error_of(",resize,mean=0.5"), HasSubstr("no bytes"));
  EXPECT_THAT(to_string(open(",resize,std=0", 3, 2, 2, DType::float32).error()), HasSubstr("above 0"));
  EXPECT_THAT(to_string(open_source("images:" + path("one"), {"x", DType::int64, {-1}}).error()), HasSubstr("classes:"));
  EXPECT_THAT(to_string(open_source("classes:" + path("one"), {"x", DType::int64, {-1}}).error()), HasSubstr("no classes"));
  EXPECT_THAT(to_string(open_source("images:" + path("absent"), {"x", DType::uint8, {-1, 3, 2, 2}}).error()),
              HasSubstr("absent"));
}

}  // namespace
}  // namespace sheaf
