// The options behind `images:DIR`, as text.
#include "runtime/base/suggest.h"
#include "runtime/data/images/augmentation.h"

#include <charconv>
#include <cmath>

namespace sheaf {
namespace {

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

Result<int> pixels_of(const std::string& option, const std::string& value, int least) {
  const auto pixels = number_of<int>(value);
  if (pixels && *pixels >= least && *pixels <= 65535) return *pixels;
  return Error("'" + option + "': expected a number of pixels from " + std::to_string(least) + " to 65535");
}

/// "0.485/0.456/0.406", or one number for all channels.
Result<std::array<float, 3>> channels_of(const std::string& option, const std::string& value, bool above_zero) {
  std::array<float, 3> numbers{};
  size_t count = 0;
  for (size_t begin = 0; begin <= value.size(); ++count) {
    const size_t end = std::min(value.find('/', begin), value.size());
    const auto number = number_of<float>(std::string_view(value).substr(begin, end - begin));
    if (!number || !std::isfinite(*number) || (above_zero && *number <= 0) || count == 3) {
      count = 0;
      break;
    }
    numbers[count] = *number;
    begin = end + 1;
  }
  if (count == 1) numbers = {numbers[0], numbers[0], numbers[0]};
  if (count == 1 || count == 3) return numbers;
  return Error("'" + option + "': expected a number" + (above_zero ? " above 0" : "") + ", or one for each channel: R/G/B");
}

}  // namespace

Result<ImageOptions> parse_image_options(const std::vector<std::string>& options) {
  ImageOptions parsed;
  for (const std::string& option : options) {
    const size_t equals = std::min(option.find('='), option.size());
    const std::string name = option.substr(0, equals), value = option.substr(std::min(equals + 1, option.size()));
    const bool given = equals < option.size();
    if (name == "resize") {
      parsed.resize = true;
      if (given) {
        SHEAF_ASSIGN(parsed.shorter, pixels_of(option, value, 1));
      }
    } else if (name == "random_crop") {
      parsed.random_crop = 0;
      if (given) {
        SHEAF_ASSIGN(parsed.random_crop, pixels_of(option, value, 0));
      }
    } else if (name == "mean") {
      SHEAF_ASSIGN(parsed.mean, channels_of(option, value, false));
    } else if (name == "std") {
      SHEAF_ASSIGN(parsed.deviation, channels_of(option, value, true));
    } else if (name == "crop" || name == "random_resized_crop" || name == "flip") {
      if (given) return Error("'" + option + "': " + name + " has no value; the size is the model's");
      (name == "crop" ? parsed.crop : name == "flip" ? parsed.flip : parsed.random_resized_crop) = true;
    } else {
      const std::vector<std::string> known = {"resize", "crop", "random_crop", "random_resized_crop", "flip", "mean", "std"};
      const auto near = nearest(name, known);
      return Error("'" + option + "' is no option of images:DIR" +
                   (near ? "; did you mean '" + *near + "'?" : ": " + quoted_list(known)));
    }
  }
  const int crops = parsed.crop + parsed.random_crop.has_value() + parsed.random_resized_crop;
  if (crops > 1) return Error("crop, random_crop and random_resized_crop exclude one another");
  if (parsed.resize && parsed.random_resized_crop)
    return Error("random_resized_crop brings pictures to the model's size: resize is left over");
  if (parsed.resize && !parsed.shorter && crops > 0)
    return Error("resize before a crop needs the shorter side's pixels: resize=256");
  return parsed;
}

}  // namespace sheaf
