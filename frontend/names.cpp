#include "frontend/names.h"

#include "runtime/base/suggest.h"

#include <algorithm>

namespace sheaf::frontend {

const char* const name_pattern = "^(?!__metadata__$)[^.:$\\u0000-\\u001f\\u007f-\\u009f][^.:\\u0000-\\u001f\\u007f-\\u009f]*$";
const char* const layer_name_pattern =
    "^(?!__metadata__$)(?!.*\\.\\.)(?!.*\\.$)[^.:$\\u0000-\\u001f\\u007f-\\u009f][^:\\u0000-\\u001f\\u007f-\\u009f]*$";

bool has_control_character(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are C2 80 to C2 9F in UTF-8; terminals take U+009B as they take ESC [.
    if (byte < 0x20 || byte == 0x7F || (byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0))
      return true;
  }
  return false;
}

namespace {

// The characters that no name, and no part of a dotted name, may contain.
std::optional<std::string> fault_of_part(const std::string& name) {
  if (name.find(':') != std::string::npos) return "contains ':', which numbers a layer's outputs";
  if (name == "__metadata__") return "is what safetensors files keep for themselves";
  if (name.front() == '$') return "begins with '$', which marks a module's parameter";
  if (has_control_character(name)) return "contains a control character";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fault_of_name(const std::string& name) {
  if (name.empty()) return "is empty";
  if (name.find('.') != std::string::npos) return "contains '.', which joins names to paths";
  return fault_of_part(name);
}

std::optional<std::string> fault_of_layer_name(const std::string& name) {
  if (name.empty()) return "is empty";
  if (name.front() == '.' || name.back() == '.' || name.find("..") != std::string::npos)
    return "has nothing on one side of a '.', which joins names to paths";
  return fault_of_part(name);
}

bool check_name(const std::string& name, const std::string& what, TextPlace place, Problems& problems) {
  auto fault = fault_of_name(name);
  if (fault) problems.add(place, "the " + what + " name '" + name + "' " + *fault);
  return !fault;
}

bool check_layer_name(const std::string& name, TextPlace place, Problems& problems) {
  auto fault = fault_of_layer_name(name);
  if (fault) problems.add(place, "the layer name '" + name + "' " + *fault);
  return !fault;
}

void check_fields(const LocatedNode& object, const std::vector<std::string>& allowed, const std::string& owner,
                  Problems& problems) {
  for (const LocatedMember& member : object.members) {
    if (std::ranges::find(allowed, member.key) != allowed.end()) continue;
    problems.add(member.place,
                 owner + " has no field '" + member.key + "'" + (problems.full() ? "" : suggestion(member.key, allowed)));
  }
}

}  // namespace sheaf::frontend
