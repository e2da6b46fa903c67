#include "runtime/device/device.h"

#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

Error located(Error error, const Step& step) {
  Diagnostic& cause = error.diagnostics.front();
  const std::string layer = step.layer.empty() ? "" : "layer '" + step.layer + "': ";
  const std::string what = step.op == Op::kernel ? "kernel '" + step.kernel + "' " : "operation '" + op_name(step) + "': ";
  cause.message = layer + what + cause.message;
  cause.location = step.location;
  return error;
}

}  // namespace

Json log_entry(Device& device) {
  const DeviceInfo& info = device.info();
  Json entry = {{"kind", info.kind}, {"model", info.model}};
  if (!info.isa.empty()) entry["isa"] = info.isa;
  if (const std::string software = device.software(); !software.empty()) entry["software"] = software;
  return entry;
}

Result<Prepared> prepare_on(Device& device, const PrepareRequest& request) {
  const Step& step = request.step;
  const DType dtype = request.inputs.empty() ? DType::float32 : request.inputs.front().dtype;
  Result<void> supported = step.op == Op::kernel ? Result<void>() : device.supports(step.op, dtype);
  if (!supported) return located(std::move(supported.error()), step);
  Result<Prepared> prepared = device.prepare(request);
  if (!prepared) return located(std::move(prepared.error()), step);
  if (prepared->inputs.size() != request.inputs.size() || prepared->outputs.size() != request.outputs.size())
    return located(Error("was prepared for another number of operands"), step);
  return prepared;
}

}  // namespace sheaf
