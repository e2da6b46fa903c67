// Batch norm with its own batch's statistics, and its gradient; ReLU in the one primitive where the step has
// it.
//
// y = (x - mean) / sqrt(var + eps) · weight + bias, mean and var (biased) over all dimensions but the
// channels.
#include "runtime/cpu/ops/activation.h"
#include "runtime/cpu/ops/batch_norm_rows.h"
#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/pixel_layout.h"
#include "runtime/cpu/ops/workspace.h"
#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

using dnnl::batch_normalization_backward;
using dnnl::batch_normalization_forward;
using dnnl::normalization_flags;

normalization_flags flags_of(const BatchNorm& norm) {
  auto flags = normalization_flags::none;
  if (norm.affine) flags |= normalization_flags::use_scale | normalization_flags::use_shift;
  if (norm.relu) flags |= normalization_flags::fuse_norm_relu;
  return flags;
}

batch_normalization_forward::primitive_desc library_forward(const BatchNorm& norm, const DnnlDesc& x) {
  return {batch_normalization_forward::desc(dnnl::prop_kind::forward_training, x, norm.eps, flags_of(norm)), step_attributes(),
          dnnl_engine()};
}

void require_channels(const DnnlDims& dims, const DnnlDims& channels, const char* name) {
  require(dims == channels, std::string(name) + " should have shape " + to_string(channels));
}

BatchNorm batch_norm_of(const Operation& operation) {
  BatchNorm norm;
  norm.dims = operation.operand("x").dims;
  require(norm.dims.size() >= 2 && norm.dims.size() <= 5,
          "x has shape " + to_string(norm.dims) + ", expected [N, C, …] with up to 3 more dims");
  norm.channels = {norm.dims[1]};
  const int64_t values = norm.dims[0] * product(norm.dims, 2, norm.dims.size());
  require(values != 1, "expected more than 1 value per channel when training, got input size " + to_string(norm.dims));
  const auto& attributes = operation.request.step.attributes;
  const auto eps = attributes.find("eps");
  require(eps != attributes.end() && eps->is_number() && eps->get<double>() >= 0,
          "attribute 'eps' should be a number, at least 0");
  norm.eps = float(eps->get<double>());
  norm.affine = operation.has("weight");
  if (norm.affine) require_channels(operation.wide_operand("weight").dims, norm.channels, "weight");
  if (const auto activation = activation_of(operation)) {
    require(activation->algorithm == dnnl::algorithm::eltwise_relu && activation->alpha == 0, "only relu goes with batch norm");
    norm.relu = true;
  }
  // oneDNN has only reference loops for tensors of two and three dims.
  if (norm.dims.size() == 2) norm.dims.insert(norm.dims.end(), {1, 1});
  if (norm.dims.size() == 3) norm.dims.insert(norm.dims.begin() + 2, 1);
  return norm;
}

BatchNormLayout layout_of(const Operation& operation, const BatchNorm& norm, const DnnlDesc& desc) {
  const DnnlDims& dims = operation.operand("x").dims;
  if (dims.size() == 2) return {desc, plain_tensor(operation.dtype(), dims)};  // [N, C, 1, 1] as nhwc
  return {desc, dnnl_tensor(dims, desc, plain_desc(norm.dims, operation.data_type()), activation_letters(norm.dims.size()))};
}

/// As x is at hand, unless oneDNN has only scalar loops for that: then wide, if something is computed by vectors so. From a plain image, as
/// a concatenation makes it, a reorder to there and one back take a third of the time that those loops take.
BatchNormLayout layout_of_x(const Operation& operation, const BatchNorm& norm) {
  const auto type = operation.data_type();
  const TensorSpec& x = operation.operand("x");
  if (x.dims.size() == 2) return layout_of(operation, norm, DnnlDesc(norm.dims, type, dnnl::memory::format_tag::nhwc));
  const DnnlDesc plain = plain_desc(norm.dims, type), at_hand = desc_at_hand(x, plain), wide = wide_desc(norm.dims, type);
  const bool scalar = in_blocks_of_4(at_hand) || same_layout(at_hand, plain),
             vectors = wide.data.format_desc.blocking.inner_nblks > 0 || batch_norm_rows_fit(norm, wide);
  return layout_of(operation, norm, scalar && vectors ? wide : at_hand);
}

/// As oneDNN is shown x: an image that is stored pixel by pixel, with its dimensions renamed, has its channels last. Not with a ReLU, whose
/// workspace would remember these dims.
DnnlDesc library_desc(const Operation& operation, const BatchNorm& norm, const DnnlDesc& x) {
  const DnnlDims& dims = operation.operand("x").dims;
  if (dims.size() != 4 || norm.relu || !same_layout(x, pixels_desc(dims, operation.data_type()))) return x;
  return {{dims[2], dims[1], dims[3], dims[0]}, operation.data_type(), dnnl::memory::format_tag::nhwc};
}

}  // namespace

Prepared prepare_batch_norm_train(const Operation& operation) {
  const BatchNorm norm = batch_norm_of(operation);
  require(operation.has("bias") == norm.affine, "weight and bias should be given together");
  if (norm.affine) require_channels(operation.wide_operand("bias").dims, norm.channels, "bias");
  const size_t outputs = norm.relu ? 4 : 3;
  require(operation.request.outputs.size() == outputs, "expected " + std::to_string(outputs) + " outputs");
  require(operation.output().dims == operation.operand("x").dims, "output 0 should have x's shape");
  require_channels(operation.wide_output(1).dims, norm.channels, "output 1, the mean,");
  require_channels(operation.wide_output(2).dims, norm.channels, "output 2, the variance,");

  const BatchNormLayout layout = layout_of_x(operation, norm);
  if (batch_norm_rows_fit(norm, layout.desc)) return prepare_batch_norm_rows(operation, norm, layout);
  const auto pd = library_forward(norm, library_desc(operation, norm, layout.desc));
  Prepared prepared = operation.prepared();
  prepared.inputs[operation.find("x")] = prepared.outputs[0] = layout.tensor;
  if (norm.relu) operation.nan_cut = NanCut::norm;
  if (norm.relu) give_workspace(operation, 3, pd.src_desc(), pd.workspace_desc().get_size(), prepared);
  take_library(operation, pd, prepared,
               norm.relu ? "normalisation and ReLU are one primitive, in the layout that x is in" : "it keeps x's layout");
  ScratchPlan scratch;
  DnnlCall call{batch_normalization_forward(pd)};
  const DnnlDesc channels = plain_desc(norm.channels);
  call.argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
      .argument(DNNL_ARG_DST, pd.dst_desc(), operation.output_buffer())
      .argument(DNNL_ARG_MEAN, channels, operation.output_buffer(1))
      .argument(DNNL_ARG_VARIANCE, channels, operation.output_buffer(2))
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  if (norm.affine)
    call.argument(DNNL_ARG_SCALE, channels, operation.input_buffer("weight"))
        .argument(DNNL_ARG_SHIFT, channels, operation.input_buffer("bias"));
  if (norm.relu) call.argument(DNNL_ARG_WORKSPACE, pd.workspace_desc(), operation.output_buffer(3));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable = std::make_unique<DnnlExecutable>(one_call(std::move(call)), operation.request.threads);
  return prepared;
}

Prepared prepare_batch_norm_backward(const Operation& operation) {
  const BatchNorm norm = batch_norm_of(operation);
  require(operation.has("workspace") == norm.relu, "a workspace goes with relu");
  require_channels(operation.wide_operand("mean").dims, norm.channels, "mean");
  require_channels(operation.wide_operand("var").dims, norm.channels, "var");
  const size_t outputs = norm.affine ? 3 : 1;
  require(operation.request.outputs.size() == outputs, "expected " + std::to_string(outputs) + " outputs");
  const DnnlDims& dims = operation.operand("x").dims;
  require(operation.operand("dy").dims == dims && operation.output().dims == dims,
          "dy and output 0 should have x's shape " + to_string(dims));
  for (size_t i = 1; i < outputs; ++i)
    require_channels(operation.wide_output(i).dims, norm.channels, i == 1 ? "dweight" : "dbias");

  Prepared prepared = operation.prepared();
  const BatchNormLayout layout = norm.relu
                                     ? layout_of(operation, norm, take_workspace(operation, Op::batch_norm_train, prepared).x())
                                     : layout_of_x(operation, norm);
  if (batch_norm_rows_fit(norm, layout.desc)) return prepare_batch_norm_rows_backward(operation, norm, layout);
  const DnnlDesc x = library_desc(operation, norm, layout.desc);
  const auto kind = norm.affine ? dnnl::prop_kind::backward : dnnl::prop_kind::backward_data;
  const batch_normalization_backward::primitive_desc pd(
      batch_normalization_backward::desc(kind, x, x, norm.eps, flags_of(norm)), step_attributes(), dnnl_engine(),
      library_forward(norm, x));
  prepared.inputs[operation.find("x")] = prepared.inputs[operation.find("dy")] = prepared.outputs[0] = layout.tensor;
  prepared.in_place.push_back({operation.find("dy"), 0});
  take_library(
      operation, pd, prepared,
      norm.relu ? "ReLU's gradient is in the same primitive, in the layout of the forward pass" : "it keeps x's layout");
  ScratchPlan scratch;
  DnnlCall call{batch_normalization_backward(pd)};
  const DnnlDesc channels = plain_desc(norm.channels);
  call.argument(DNNL_ARG_SRC, x, operation.input_buffer("x"))
      .argument(DNNL_ARG_DIFF_DST, x, operation.input_buffer("dy"))
      .argument(DNNL_ARG_DIFF_SRC, x, operation.output_buffer())
      .argument(DNNL_ARG_MEAN, channels, operation.input_buffer("mean"))
      .argument(DNNL_ARG_VARIANCE, channels, operation.input_buffer("var"))
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  // oneDNN 2.6 asks for the shift without reading it; a vector of its size stands in for it.
  if (norm.affine)
    call.argument(DNNL_ARG_SCALE, channels, operation.input_buffer("weight"))
        .argument(DNNL_ARG_SHIFT, channels, operation.input_buffer("weight"))
        .argument(DNNL_ARG_DIFF_SCALE, channels, operation.output_buffer(1))
        .argument(DNNL_ARG_DIFF_SHIFT, channels, operation.output_buffer(2));
  if (norm.relu) call.argument(DNNL_ARG_WORKSPACE, pd.workspace_desc(), operation.input_buffer("workspace"));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable = std::make_unique<DnnlExecutable>(one_call(std::move(call)), operation.request.threads);
  return prepared;
}

}  // namespace sheaf
