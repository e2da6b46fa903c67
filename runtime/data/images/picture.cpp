#include "runtime/data/images/picture.h"

#include <string_view>

namespace sheaf {

Result<PictureSize> decode_picture(std::span<const std::byte> bytes, const ChooseDivisor& divisor, Picture& picture) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xff\xd8\xff")) return decode_jpeg(bytes, divisor, picture);
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(bytes, picture);
  return Error(text.empty() ? "the file is empty" : "neither a JPEG nor a PNG picture");
}

Result<void> check_size(PictureSize size) {
  const int64_t pixels = int64_t{size.width} * size.height;
  if (size.width > 0 && size.height > 0 && pixels <= kMostPixels) return {};
  return Error("a picture of " + std::to_string(size.width) + " x " + std::to_string(size.height) +
               " pixels; it may have up to " + std::to_string(kMostPixels));
}

}  // namespace sheaf
