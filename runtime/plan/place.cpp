#include "runtime/plan/plan.h"

#include "runtime/base/printable.h"

#include <charconv>
#include <string_view>

namespace sheaf {

std::string to_string(const Place& place) {
  switch (place.kind) {
    case Place::host: return "host";
    case Place::device: return "device:" + std::to_string(place.index);
    case Place::region: return "region:" + std::to_string(place.index);
  }
  return "host";
}

Result<Place> parse_place(const std::string& text) {
  if (text == "host") return Place{};
  std::string_view rest = text;
  Place place;
  if (rest.starts_with("device:")) {
    place.kind = Place::device;
  } else if (rest.starts_with("region:")) {
    place.kind = Place::region;
  }
  if (place.kind != Place::host) {
    rest.remove_prefix(7);
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), place.index);
    if (status == std::errc() && end == rest.data() + rest.size() && to_string(place) == text && place.index >= 0) return place;
  }
  return Error(in_quotes(text) + " is not a place; expected 'host', 'device:K' or 'region:R'");
}

}  // namespace sheaf
