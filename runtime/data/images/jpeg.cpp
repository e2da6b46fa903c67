// JPEG by libjpeg-turbo, with its defaults (the accurate DCT, smooth upsampling), as Pillow decodes.
#include "runtime/data/images/picture.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <memory>

#include <jpeglib.h>
// After jpeglib.h, which declares what it needs.
#include <jerror.h>

namespace sheaf {
namespace {

/// One picture being decoded. libjpeg leaves its functions by longjmp on an error, so objects with a destructor are here.
class JpegDecoder {
 public:
  JpegDecoder(std::span<const std::byte> bytes, const ChooseDivisor& divisor, Picture& picture)
      : bytes_(bytes), divisor_(divisor), picture_(picture) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = [](j_common_ptr info) {
      auto* self = static_cast<JpegDecoder*>(info->client_data);
      info->err->format_message(info, self->message_.data());
      std::longjmp(self->failed_, 1);
    };
    // A decoder paints on over missing or unreadable data, with a warning: such a picture is damaged.
    errors_.emit_message = [](j_common_ptr info, int level) {
      const int code = info->err->msg_code;
      if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE))
        info->err->error_exit(info);
    };
  }
  ~JpegDecoder() {
    if (created_) jpeg_destroy_decompress(&info_);
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  Result<PictureSize> decode() {
    if (!read_header()) return failure();
    const PictureSize size{static_cast<int>(info_.image_width), static_cast<int>(info_.image_height)};
    SHEAF_TRY(check_size(size));
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(divisor_(size));
    cmyk_ = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = cmyk_ ? JCS_CMYK : JCS_EXT_RGBX;
    if (!start()) return failure();
    picture_.width = static_cast<int>(info_.output_width);
    picture_.height = static_cast<int>(info_.output_height);
    picture_.pixels.resize(picture_.row_bytes() * static_cast<size_t>(picture_.height));
    if (!read_rows()) return failure();
    if (cmyk_) convert_cmyk();
    return size;
  }

 private:
  Error failure() const { return Error(std::string("damaged: ") + message_.data()); }

  // These return false where libjpeg jumped; nothing in them has a destructor.
  bool read_header() {
    if (setjmp(failed_)) return false;
    jpeg_create_decompress(&info_);
    created_ = true;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  bool start() {
    if (setjmp(failed_)) return false;
    jpeg_start_decompress(&info_);
    return true;
  }
  bool read_rows() {
    if (setjmp(failed_)) return false;
    while (info_.output_scanline < info_.output_height) {
      std::array<JSAMPROW, 8> rows;
      const int first = static_cast<int>(info_.output_scanline);
      const int count = std::min(static_cast<int>(rows.size()), picture_.height - first);
      for (int i = 0; i < count; ++i) rows[static_cast<size_t>(i)] = picture_.row(first + i);
      jpeg_read_scanlines(&info_, rows.data(), static_cast<JDIMENSION>(count));
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  /// Adobe writes what is left of the light, not what the ink takes of it.
  void convert_cmyk() {
    const bool inverted = info_.saw_Adobe_marker;
    for (size_t i = 0; i < picture_.pixels.size(); i += Picture::kBytes) {
      uint8_t* pixel = picture_.pixels.data() + i;
      const int black = inverted ? pixel[3] : 255 - pixel[3];
      for (int c = 0; c < 3; ++c) {
        const int light = inverted ? pixel[c] : 255 - pixel[c];
        pixel[c] = static_cast<uint8_t>((light * black + 127) / 255);
      }
    }
  }

  std::span<const std::byte> bytes_;
  const ChooseDivisor& divisor_;
  Picture& picture_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  std::jmp_buf failed_{};
  std::array<char, JMSG_LENGTH_MAX> message_{};
  bool created_ = false, cmyk_ = false;
};

}  // namespace

Result<PictureSize> decode_jpeg(std::span<const std::byte> bytes, const ChooseDivisor& divisor, Picture& picture) {
  return JpegDecoder(bytes, divisor, picture).decode();
}

}  // namespace sheaf
