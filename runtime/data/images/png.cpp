// PNG by libpng, without any correction of colours, as Pillow reads it.
#include "runtime/data/images/picture.h"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <png.h>

namespace sheaf {
namespace {

/// One picture being decoded. libpng leaves its functions by longjmp on an error, so objects with a destructor are here.
class PngDecoder {
 public:
  PngDecoder(std::span<const std::byte> bytes, Picture& picture) : rest_(bytes), picture_(picture) {}
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  Result<PictureSize> decode() {
    png_ = png_create_read_struct(
        PNG_LIBPNG_VER_STRING, this,
        [](png_structp png, png_const_charp message) {
          auto* self = static_cast<PngDecoder*>(png_get_error_ptr(png));
          std::snprintf(self->message_.data(), self->message_.size(), "%s", message);
          std::longjmp(self->failed_, 1);
        },
        [](png_structp, png_const_charp) {});
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) return Error("not enough memory for libpng");
    if (!read_header()) return failure();
    const PictureSize size{static_cast<int>(png_get_image_width(png_, info_)),
                           static_cast<int>(png_get_image_height(png_, info_))};
    SHEAF_TRY(check_size(size));
    picture_.width = size.width;
    picture_.height = size.height;
    picture_.pixels.resize(picture_.row_bytes() * static_cast<size_t>(size.height));
    for (int y = 0; y < size.height; ++y) rows_.push_back(picture_.row(y));
    if (!read_rows()) return failure();
    return size;
  }

 private:
  Error failure() const { return Error(std::string("damaged: ") + message_.data()); }

  // These return false where libpng jumped; nothing in them has a destructor.
  bool read_header() {
    if (setjmp(failed_)) return false;
    png_set_read_fn(png_, this, [](png_structp png, png_bytep to, size_t count) {
      auto* self = static_cast<PngDecoder*>(png_get_io_ptr(png));
      if (count > self->rest_.size()) png_error(png, "the file ends too early");
      std::memcpy(to, self->rest_.data(), count);
      self->rest_ = self->rest_.subspan(count);
    });
    png_set_user_limits(png_, 1'000'000, 1'000'000);
    png_read_info(png_, info_);
    png_set_expand(png_);  // palettes, and 1, 2 and 4 bits of grey
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    png_set_filler(png_, 0xff, PNG_FILLER_AFTER);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool read_rows() {
    if (setjmp(failed_)) return false;
    if (png_get_rowbytes(png_, info_) != picture_.row_bytes()) png_error(png_, "a kind of pixels that is not known");
    png_read_image(png_, rows_.data());
    png_read_end(png_, nullptr);
    return true;
  }

  std::span<const std::byte> rest_;
  Picture& picture_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::vector<png_bytep> rows_;
  std::jmp_buf failed_{};
  std::array<char, 200> message_{};
};

}  // namespace

Result<PictureSize> decode_png(std::span<const std::byte> bytes, Picture& picture) {
  return PngDecoder(bytes, picture).decode();
}

}  // namespace sheaf
