#include "frontend/device.h"

#include "runtime/base/device_name.h"
#include "runtime/base/suggest.h"

namespace sheaf::frontend {

namespace {

/// "cuda0" is a near miss, which a list of kinds wouldn't explain.
std::string meant(const std::string& name) {
  auto near = nearest(name, {"cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda", "cpu"});
  return near ? "; did you mean '" + *near + "'?" : "";
}

}  // namespace

std::optional<DeviceRef> device_from_name(std::string_view text) {
  const auto name = parse_device_name(text);
  if (!name) return std::nullopt;
  if (name->kind == "cpu" && !name->index) return DeviceRef{true, 0, {}};
  if (name->kind == "cuda") return DeviceRef{false, name->index.value_or(0), {}};
  return std::nullopt;
}

std::string name_of(const DeviceRef& device) { return device.host ? "cpu" : "cuda:" + std::to_string(device.index); }

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
