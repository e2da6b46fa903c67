#include "runtime/cpu/ops/residual.h"

namespace sheaf {

ResidualCopy::ResidualCopy(const Operation& operation, const DnnlDesc& destination, Prepared& prepared) {
  if (!operation.has("residual")) return;
  const TensorSpec& residual = operation.operand("residual");
  require(residual.dims == operation.output().dims,
          "residual has shape " + to_string(residual.dims) + ", expected the output's " + to_string(operation.output().dims));
  residual_ = operation.find("residual");
  output_ = operation.output_buffer().buffer;
  prepared.inputs[residual_] = prepared.outputs[0];
  prepared.in_place.push_back({residual_, 0});
  dnnl::reorder::primitive_desc copy(dnnl_engine(), destination, dnnl_engine(), destination);
  copy_.emplace_back(dnnl::reorder(copy));
  copy_[0].argument(DNNL_ARG_FROM, destination, {residual_, 0}).argument(DNNL_ARG_TO, destination, {output_, 0});
}

void ResidualCopy::run(void* const* buffers, void* scratch) {
  if (!copy_.empty() && buffers[residual_] != buffers[output_]) copy_[0].run(buffers, scratch);
}

}  // namespace sheaf
