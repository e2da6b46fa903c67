#include "runtime/base/parameter_names.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

constexpr size_t kAmbiguous = static_cast<size_t>(-1);

std::vector<std::string> all_without_module(std::span<const std::string> names) {
  std::vector<std::string> result;
  for (const std::string& name : names) result.push_back(without_module(name));
  return result;
}

/// The lengths of the front parts that all names have in common, dots included, shortest first: of "net.a.weight" and
/// "net.a.bias", 4 and 6. The last part of a name is never in front.
std::vector<size_t> common_fronts(std::span<const std::string> names) {
  std::vector<size_t> lengths;
  if (names.empty()) return lengths;
  size_t common = names[0].size();
  for (const std::string& name : names) {
    const auto [at, ignored] = std::mismatch(
        name.begin(), name.begin() + static_cast<std::ptrdiff_t>(std::min(common, name.size())), names[0].begin());
    common = static_cast<size_t>(at - name.begin());
  }
  for (size_t i = 0; i < common; ++i) {
    if (names[0][i] == '.') lengths.push_back(i + 1);
  }
  return lengths;
}

/// Known names by their text from character `front` on.
std::map<std::string_view, size_t> index_from(std::span<const std::string> names, size_t front) {
  std::map<std::string_view, size_t> index;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto [at, fresh] = index.emplace(std::string_view(names[i]).substr(front), i);
    if (!fresh) at->second = kAmbiguous;
  }
  return index;
}

struct Reading {
  std::vector<std::optional<size_t>> found;
  size_t count = 0;
};

Reading read_names(const std::map<std::string_view, size_t>& known, std::span<const std::string> given, size_t front) {
  Reading reading;
  for (const std::string& name : given) {
    const auto at = known.find(std::string_view(name).substr(std::min(front, name.size())));
    const bool one = at != known.end() && at->second != kAmbiguous;
    reading.found.push_back(one ? std::optional(at->second) : std::nullopt);
    reading.count += one;
  }
  return reading;
}

}  // namespace

std::string without_module(std::string_view name) {
  std::string result;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t dot = std::min(name.find('.', begin), name.size());
    const std::string_view part = name.substr(begin, dot - begin);
    if (part != "module") {
      if (!result.empty()) result += '.';
      result += part;
    }
    begin = dot + 1;
  }
  return result;
}

std::vector<std::optional<size_t>> match_names(std::span<const std::string> known, std::span<const std::string> given) {
  const std::vector<std::string> bare_known = all_without_module(known), bare_given = all_without_module(given);
  const Reading exact = read_names(index_from(known, 0), given, 0);
  Reading best = read_names(index_from(bare_known, 0), bare_given, 0);
  for (size_t i = 0; i < given.size(); ++i) {
    if (!exact.found[i]) continue;
    best.count += !best.found[i];
    best.found[i] = exact.found[i];
  }
  const auto consider = [&](Reading reading) {
    if (reading.count > best.count) best = std::move(reading);
  };
  if (best.count < given.size()) {
    for (const size_t front : common_fronts(bare_known)) consider(read_names(index_from(bare_known, front), bare_given, 0));
    const auto whole = index_from(bare_known, 0);
    for (const size_t front : common_fronts(bare_given)) consider(read_names(whole, bare_given, front));
  }
  return best.found;
}

}  // namespace sheaf
