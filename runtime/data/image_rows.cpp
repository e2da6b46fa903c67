#include "runtime/data/image_rows.h"

#include "runtime/base/file.h"
#include "runtime/data/array_rows.h"
#include "runtime/data/convert.h"
#include "runtime/data/images/augmentation.h"
#include "runtime/data/images/image_folder.h"

#include <algorithm>
#include <cstring>

namespace sheaf {
namespace {

constexpr uint64_t kLargestPictureFile = uint64_t{1} << 30;
constexpr int64_t kPicturesForAThread = 4;

/// The three channels become what Pillow's mode L is, in the first one.
void make_grey(Picture& picture) {
  for (size_t i = 0; i < picture.pixels.size(); i += Picture::kBytes) {
    uint8_t* p = picture.pixels.data() + i;
    p[0] = static_cast<uint8_t>((p[0] * 19595 + p[1] * 38470 + p[2] * 7471 + 0x8000) >> 16);
  }
}

class ImageRows : public RowSource {
 public:
  ImageRows(ImageFolder folder, const ImageOptions& options, uint64_t seed, DType dtype, std::vector<int64_t> shape)
      : RowSource(dtype, shape, 0),
        folder_(std::move(folder)),
        options_(options),
        seed_(seed),
        channels_(static_cast<int>(shape[1])),
        target_{static_cast<int>(shape[3]), static_cast<int>(shape[2])} {
    for (size_t c = 0; c < 3; ++c) {
      const float mean = options.mean ? (*options.mean)[c] : 0, deviation = options.deviation ? (*options.deviation)[c] : 1;
      for (size_t i = 0; i < 256; ++i) values_[c][i] = (static_cast<float>(i) / 255.0F - mean) / deviation;
    }
  }

  Result<void> read(std::span<const int64_t> rows, int64_t epoch, const RowTarget& target) const override {
    Memory memory;
    const size_t row_bytes = layout().row_elements * size_of(dtype());
    std::byte* to = target.batch + static_cast<size_t>(target.first) * row_bytes;
    for (const int64_t row : rows) {
      const std::string path = folder_.path(row);
      SHEAF_ASSIGN(const auto bytes, read_file(path, kLargestPictureFile));
      auto done = read_picture(std::as_bytes(std::span(bytes)), {seed_, epoch, row}, memory, to);
      if (!done) {
        done.error().diagnostics[0].location.file = path;
        return done;
      }
      to += row_bytes;
    }
    return {};
  }

  Result<uint32_t> fingerprint() const override { return folder_.fingerprint(); }
  ByteNumbers numbers() const override {
    ByteNumbers all;
    for (int c = 0; dtype() == DType::float32 && c < channels_; ++c)
      all.insert(all.end(), values_[static_cast<size_t>(c)].begin(), values_[static_cast<size_t>(c)].end());
    return all;
  }
  int64_t rows_for_a_thread() const override { return kPicturesForAThread; }

 private:
  struct Memory {
    Picture decoded, scaled;
    ResampleScratch scratch;
    HostTensor numbers;
  };

  Result<void> read_picture(std::span<const std::byte> bytes, const RowDraws& draws, Memory& memory, std::byte* to) const {
    // The size is known before a JPEG is decoded, and with it the region.
    Result<PictureRegion> region = Error("internal error: no region");
    const auto divisor = [&](PictureSize size) {
      region = region_of(options_, size, target_, draws);
      return region ? region->divisor() : 1;
    };
    SHEAF_ASSIGN(const auto size, decode_picture(bytes, divisor, memory.decoded));
    region = region_of(options_, size, target_, draws);
    if (!region) return region.error();
    if (channels_ == 1) make_grey(memory.decoded);
    resample(memory.decoded, region->across(size.width, memory.decoded.width), region->down(size.height, memory.decoded.height),
             memory.scratch, memory.scaled);
    if (dtype() == DType::uint8) {
      place<uint8_t>(memory.scaled, *region, reinterpret_cast<uint8_t*>(to), [](int, uint8_t byte) { return byte; });
      return {};
    }
    const auto number = [&](int c, uint8_t byte) { return values_[static_cast<size_t>(c)][byte]; };
    if (dtype() == DType::float32) {
      place<float>(memory.scaled, *region, reinterpret_cast<float*>(to), number);
      return {};
    }
    SHEAF_ASSIGN(auto numbers, make_tensor(DType::float32, batch_shape(1)));
    place<float>(memory.scaled, *region, numbers.as<float>().data(), number);
    SHEAF_ASSIGN(const auto narrow, convert(std::move(numbers), dtype()));
    std::memcpy(to, narrow.bytes.data(), narrow.bytes.size());
    return {};
  }

  /// Channels one after another; what the picture doesn't cover is black.
  template <typename Element, typename Value>
  void place(const Picture& picture, const PictureRegion& region, Element* to, const Value& value) const {
    const int left = region.padded_left(), top = region.padded_top();
    const bool covered = picture.width == target_.width && picture.height == target_.height;
    for (int c = 0; c < channels_; ++c) {
      if (!covered) std::fill_n(to, static_cast<size_t>(target_.width) * static_cast<size_t>(target_.height), value(c, 0));
      for (int y = 0; y < picture.height; ++y) {
        const uint8_t* from = picture.row(y) + c;
        Element* row = to + static_cast<size_t>(top + y) * static_cast<size_t>(target_.width);
        if (region.flipped) {
          Element* last = row + target_.width - 1 - left;
          for (int x = 0; x < picture.width; ++x) last[-x] = value(c, from[static_cast<size_t>(x) * Picture::kBytes]);
        } else {
          for (int x = 0; x < picture.width; ++x) row[left + x] = value(c, from[static_cast<size_t>(x) * Picture::kBytes]);
        }
      }
      to += static_cast<size_t>(target_.width) * static_cast<size_t>(target_.height);
    }
  }

  ImageFolder folder_;
  ImageOptions options_;
  uint64_t seed_;
  int channels_;
  PictureSize target_;
  std::array<std::array<float, 256>, 3> values_;  ///< of each byte in each channel
};

std::string declared_text(const SourceRequest& request) {
  return "'" + request.name + "' is declared as " + std::string(name_of(request.dtype)) + " " + shape_text(request.shape);
}

Result<ImageFolder> open_folder(const DataSource& source, const SourceRequest& request) {
  SHEAF_ASSIGN(auto folder, ImageFolder::open(source.file));
  if (folder.others() > 0 && request.note) {
    request.note({Severity::note,
                  {source.file, 0, 0},
                  std::to_string(folder.others()) + (folder.others() == 1 ? " file is" : " files are") +
                      " no .jpg, .jpeg or .png and left out",
                  {},
                  {}});
  }
  return folder;
}

}  // namespace

Result<std::unique_ptr<RowSource>> open_images(const DataSource& source, const std::string& text,
                                               const SourceRequest& request) {
  auto options = parse_image_options(source.options);
  if (!options) return Error(text + ": " + options.error().message());
  const std::vector<int64_t>& wanted = request.shape;
  const bool right = wanted.size() == 4 && wanted[0] == -1 && (wanted[1] == 1 || wanted[1] == 3) && wanted[2] > 0 &&
                     wanted[2] <= 65535 && wanted[3] > 0 && wanted[3] <= 65535;
  if (!right || (request.dtype != DType::uint8 && !is_floating(request.dtype))) {
    Error error(text + ": " + declared_text(request) +
                "; pictures are [batch, 3, height, width], or with 1 in grey, of a floating-point type or uint8");
    if (wanted == std::vector<int64_t>{-1}) error.note("the numbers of their classes are classes:" + source.file);
    return error;
  }
  if (request.dtype == DType::uint8 && (options->mean || options->deviation))
    return Error(text + ": " + declared_text(request) + "; mean and std give numbers that are no bytes");
  SHEAF_ASSIGN(auto folder, open_folder(source, request));
  std::vector<int64_t> shape = wanted;
  shape[0] = folder.rows();
  return std::unique_ptr<RowSource>(
      std::make_unique<ImageRows>(std::move(folder), *options, request.seed, request.dtype, std::move(shape)));
}

Result<std::unique_ptr<RowSource>> open_classes(const DataSource& source, const std::string& text,
                                                const SourceRequest& request) {
  if (request.shape != std::vector<int64_t>{-1} || is_floating(request.dtype))
    return Error(text + ": " + declared_text(request) + "; classes are [batch], of an integer type");
  SHEAF_ASSIGN(const auto folder, open_folder(source, {.name = request.name, .shape = {}}));
  if (folder.classes().empty())
    return Error({source.file, 0, 0}, "the pictures in this folder have no classes")
        .note("put them into a folder for each class");
  SHEAF_ASSIGN(auto numbers, make_tensor(DType::int64, {folder.rows()}));
  for (int64_t row = 0; row < folder.rows(); ++row) numbers.as<int64_t>()[static_cast<size_t>(row)] = folder.class_of(row);
  auto converted = convert(std::move(numbers), request.dtype);
  if (!converted) return Error(text + ": " + converted.error().message());
  return rows_of_tensor(*std::move(converted), 0);
}

}  // namespace sheaf
