#include "frontend/names.h"

#include "runtime/base/suggest.h"

#include <algorithm>

namespace sheaf::frontend {

const char* const name_pattern = "^[^.:$\\u0000-\\u001f][^.:\\u0000-\\u001f]*$";

std::optional<std::string> fault_of_name(const std::string& name) {
  if (name.empty()) return "is empty";
  if (name.find('.') != std::string::npos) return "contains '.', which joins names to paths";
  if (name.find(':') != std::string::npos) return "contains ':', which numbers a layer's outputs";
  if (name.front() == '$') return "begins with '$', which marks a module's parameter";
  if (std::ranges::any_of(name, [](unsigned char c) { return c < 0x20; }))
    return "contains a control character";
  return std::nullopt;
}

bool check_name(const std::string& name, const std::string& what, TextPlace place, Problems& problems) {
  auto fault = fault_of_name(name);
  if (fault) problems.add(place, "the " + what + " name '" + name + "' " + *fault);
  return !fault;
}

void check_fields(const LocatedNode& object, const std::vector<std::string>& allowed,
                  const std::string& owner, Problems& problems) {
  for (const LocatedMember& member : object.members) {
    if (std::ranges::find(allowed, member.key) != allowed.end()) continue;
    problems.add(member.place, owner + " has no field '" + member.key + "'" +
                                   (problems.full() ? "" : suggestion(member.key, allowed)));
  }
}

}  // namespace sheaf::frontend
