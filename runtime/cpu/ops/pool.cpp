// Maximum, average and adaptive average pooling over 1 to 3 dims, with PyTorch's rules for edges.
#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/pixel_layout.h"
#include "runtime/cpu/ops/window_average.h"

namespace sheaf {
namespace {

using dnnl::algorithm;

Prepared prepare(const Operation& operation, const Pooling& p, algorithm algorithm, float scale = 1) {
  const DnnlDesc x = library_desc_at_hand(operation.operand("x"), plain_desc(p.x, operation.data_type()));
  dnnl::primitive_attr attributes = step_attributes();
  if (scale != 1) {
    dnnl::post_ops post_ops;
    post_ops.append_eltwise(1.f, algorithm::eltwise_linear, scale, 0.f);
    attributes.set_post_ops(post_ops);
  }

  Prepared prepared = operation.prepared();
  ScratchPlan scratch;
  std::vector<DnnlCall> calls;
  auto finish = [&](const auto& pd, dnnl::primitive primitive) {
    prepared.inputs[operation.find("x")] = activation_tensor(p.x, pd.src_desc());
    prepared.outputs[0] = activation_tensor(p.y, pd.dst_desc());
    take_library(operation, pd, prepared,
                 p.dilated() ? "in x's layout, by the pooling that knows dilation"
                             : "in x's layout; without dilation the faster of two");
    calls.emplace_back(std::move(primitive));
    calls[0]
        .argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
        .argument(DNNL_ARG_DST, pd.dst_desc(), operation.output_buffer())
        .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  };
  const auto kind = dnnl::prop_kind::forward_inference;
  if (p.dilated()) {
    const dnnl::pooling_v2_forward::primitive_desc pd(
        dnnl::pooling_v2_forward::desc(kind, algorithm, x, any_desc(p.y, operation.data_type()), p.stride, p.kernel,
                                       gaps_of(p.dilation), p.padding_begin, p.padding_end),
        attributes, dnnl_engine());
    finish(pd, dnnl::pooling_v2_forward(pd));
  } else {
    const dnnl::pooling_forward::primitive_desc pd(
        dnnl::pooling_forward::desc(kind, algorithm, x, any_desc(p.y, operation.data_type()), p.stride, p.kernel,
                                    p.padding_begin, p.padding_end),
        attributes, dnnl_engine());
    finish(pd, dnnl::pooling_forward(pd));
  }
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable = std::make_unique<DnnlExecutable>(std::move(calls), operation.request.threads);
  return prepared;
}

Prepared prepare_windows(const Operation& operation, const Pooling& p, std::vector<std::vector<Window>> windows) {
  require(operation.request.inputs.size() == 1, "pooling takes one input");
  Prepared prepared = operation.prepared();
  const std::vector<int64_t> sizes(p.x.begin() + 2, p.x.end());
  const int64_t planes = p.x[0] * p.x[1];
  const int threads = operation.request.threads;
  if (operation.dtype() == DType::bfloat16)
    prepared.executable = std::make_unique<WindowAverage<BFloat16>>(planes, sizes, std::move(windows), threads);
  else prepared.executable = std::make_unique<WindowAverage<float>>(planes, sizes, std::move(windows), threads);
  take_loop(prepared, "its windows differ in size or divisor; oneDNN's are all alike");
  return prepared;
}

Prepared prepare(const Operation& operation, const Pooling& p, const Averaging& average) {
  if (!average.windows.empty()) return prepare_windows(operation, p, average.windows);
  return prepare(operation, p, algorithm_of(average), average.scale);
}

}  // namespace

Prepared prepare_max_pool(const Operation& operation) {
  operation.nan_cut = NanCut::maximum;
  return prepare(operation, pooling_of(operation, operation.operand("x").dims, operation.output().dims),
                 algorithm::pooling_max);
}

Prepared prepare_avg_pool(const Operation& operation) {
  const Pooling p = pooling_of(operation, operation.operand("x").dims, operation.output().dims);
  return prepare(operation, p, averaging_of(operation, p));
}

Prepared prepare_adaptive_avg_pool(const Operation& operation) {
  Pooling p;
  const Averaging average = adaptive_pooling_of(operation.operand("x").dims, operation.output().dims, p);
  return prepare(operation, p, average);
}

}  // namespace sheaf
