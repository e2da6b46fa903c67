#include "frontend/device.h"

#include "runtime/base/suggest.h"

namespace sheaf::frontend {

namespace {

/// "cuda0" is a near miss that a list of kinds doesn't explain.
std::string meant(const std::string& name) {
  auto near = nearest(name, {"cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda", "cpu"});
  return near ? "; did you mean '" + *near + "'?" : "";
}

}  // namespace

std::optional<DeviceRef> device_from_name(std::string_view name) {
  if (name == "cpu") return DeviceRef{true, 0, {}};
  if (name == "cuda") return DeviceRef{false, 0, {}};
  if (!name.starts_with("cuda:")) return std::nullopt;
  std::string_view digits = name.substr(5);
  // More than four digits is no device list that exists; a leading zero is another spelling of the same name.
  bool plain = !digits.empty() && digits.size() <= 4 && digits.find_first_not_of("0123456789") == digits.npos;
  if (!plain || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  return DeviceRef{false, std::stoi(std::string(digits)), {}};
}

std::string name_of(const DeviceRef& device) {
  return device.host ? "cpu" : "cuda:" + std::to_string(device.index);
}

std::optional<DeviceRef> read_device(const JsonValue& value, Problems& problems) {
  if (!value.known()) return std::nullopt;
  if (!value.is(LocatedNode::Kind::string)) {
    refuse(value, "'device'", "'cpu' or 'cuda:k'", problems);
    return std::nullopt;
  }
  auto device = device_from_name(value.node->string);
  if (!device) {
    problems.add(value.place(),
                 "unknown device '" + value.node->string +
                     "'; expected 'cpu' (the host) or 'cuda:k' (the k-th device of the run)" + meant(value.node->string),
                 value.notes(problems));
    return std::nullopt;
  }
  device->location = problems.locate(value.place());
  return device;
}

}  // namespace sheaf::frontend
