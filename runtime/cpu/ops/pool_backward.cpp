// Max pooling with its workspace, and the gradients of max, average and adaptive average pooling.
#include <algorithm>

#include "runtime/machine/isa.h"
#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/pixel_layout.h"
#include "runtime/cpu/ops/window_average.h"
#include "runtime/cpu/ops/workspace.h"
#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

using dnnl::algorithm;

/// oneDNN's two poolings: the second knows dilation, the first is the faster.
struct Undilated {
  using forward = dnnl::pooling_forward;
  using backward = dnnl::pooling_backward;
  static forward::primitive_desc describe(const Pooling& p, algorithm algorithm, const DnnlDesc& x, const DnnlDesc& y) {
    return {
        forward::desc(dnnl::prop_kind::forward_training, algorithm, x, y, p.stride, p.kernel, p.padding_begin, p.padding_end),
        step_attributes(), dnnl_engine()};
  }
  static backward::desc gradient(const Pooling& p, algorithm algorithm, const DnnlDesc& x, const DnnlDesc& y) {
    return backward::desc(algorithm, x, y, p.stride, p.kernel, p.padding_begin, p.padding_end);
  }
};

struct Dilated {
  using forward = dnnl::pooling_v2_forward;
  using backward = dnnl::pooling_v2_backward;
  static forward::primitive_desc describe(const Pooling& p, algorithm algorithm, const DnnlDesc& x, const DnnlDesc& y) {
    return {forward::desc(dnnl::prop_kind::forward_training, algorithm, x, y, p.stride, p.kernel, gaps_of(p.dilation),
                          p.padding_begin, p.padding_end),
            step_attributes(), dnnl_engine()};
  }
  static backward::desc gradient(const Pooling& p, algorithm algorithm, const DnnlDesc& x, const DnnlDesc& y) {
    return backward::desc(algorithm, x, y, p.stride, p.kernel, gaps_of(p.dilation), p.padding_begin, p.padding_end);
  }
};

template <typename Kind>
Prepared max_pool_train(const Operation& operation, const Pooling& p) {
  const DnnlDesc x = library_desc_at_hand(operation.operand("x"), plain_desc(p.x, operation.data_type()));
  const auto pd = Kind::describe(p, algorithm::pooling_max, x, any_desc(p.y, operation.data_type()));
  Prepared prepared = operation.prepared();
  prepared.inputs[operation.find("x")] = activation_tensor(p.x, x);
  prepared.outputs[0] = activation_tensor(p.y, pd.dst_desc());
  give_workspace(operation, 1, x, pd.workspace_desc().get_size(), prepared);
  take_library(operation, pd, prepared, "in x's layout, with a workspace that says where each maximum was");
  ScratchPlan scratch;
  DnnlCall call{typename Kind::forward(pd)};
  call.argument(DNNL_ARG_SRC, x, operation.input_buffer("x"))
      .argument(DNNL_ARG_DST, pd.dst_desc(), operation.output_buffer())
      .argument(DNNL_ARG_WORKSPACE, pd.workspace_desc(), operation.output_buffer(1))
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable = std::make_unique<DnnlExecutable>(one_call(std::move(call)), operation.request.threads);
  return prepared;
}

/// `x`: the layout that dx gets. With `workspace` where the forward step had one.
template <typename Kind>
Prepared backward(const Operation& operation, const Pooling& p, algorithm algorithm, const DnnlDesc& x, const DnnlDesc& y,
                  Prepared prepared) {
  const auto forward = Kind::describe(p, algorithm, x, y);
  const typename Kind::backward::primitive_desc pd(Kind::gradient(p, algorithm, x, forward.dst_desc()), step_attributes(),
                                                   dnnl_engine(), forward);
  prepared.inputs[operation.find("dy")] = activation_tensor(p.y, pd.diff_dst_desc());
  prepared.outputs[0] = activation_tensor(p.x, pd.diff_src_desc());
  take_library(operation, pd, prepared, "in the layout of the forward pass");
  ScratchPlan scratch;
  DnnlCall call{typename Kind::backward(pd)};
  call.argument(DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), operation.input_buffer("dy"))
      .argument(DNNL_ARG_DIFF_SRC, pd.diff_src_desc(), operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  if (operation.has("workspace"))
    call.argument(DNNL_ARG_WORKSPACE, forward.workspace_desc(), operation.input_buffer("workspace"));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable = std::make_unique<DnnlExecutable>(one_call(std::move(call)), operation.request.threads);
  return prepared;
}

/// dy's layout as one that x can have too. A dy of 1x1 pixels is the same in many layouts: then channel blocks, which the
/// convolutions before prefer.
std::pair<DnnlDesc, DnnlDesc> layout_of_dy(const TensorSpec& dy, const Pooling& p) {
  using tag = dnnl::memory::format_tag;
  const auto type = dnnl_type(dy.dtype);
  constexpr tag by_16[] = {tag::nCw16c, tag::nChw16c, tag::nCdhw16c}, by_8[] = {tag::nCw8c, tag::nChw8c, tag::nCdhw8c},
                last[] = {tag::nwc, tag::nhwc, tag::ndhwc};
  const size_t rank = p.spatial() - 1;
  const bool wide = has_avx512();
  const std::vector<tag> candidates =
      dy.plain() ? std::vector<tag>{wide ? by_16[rank] : by_8[rank]} : std::vector<tag>{by_16[rank], by_8[rank], last[rank]};
  const DnnlDesc at_hand = library_desc_at_hand(dy, plain_desc(p.y, type));
  for (const tag tag : candidates)
    if (same_layout(at_hand, DnnlDesc(p.y, type, tag))) return {DnnlDesc(p.x, type, tag), DnnlDesc(p.y, type, tag)};
  return {plain_desc(p.x, type), plain_desc(p.y, type)};
}

Prepared average_backward(const Operation& operation, const Pooling& p, Averaging average) {
  require(operation.request.inputs.size() == 1, "expected one input");
  if (average.windows.empty() && average.scale == 1) {
    const auto [x, y] = layout_of_dy(operation.operand("dy"), p);
    return backward<Undilated>(operation, p, algorithm_of(average), x, y, operation.prepared());
  }
  if (average.windows.empty()) {  // one divisor for all windows: it is stored with those of the first dimension
    const int64_t divisor = operation.integer("divisor_override", 0);
    average.windows.resize(p.spatial());
    for (size_t i = 0; i < p.spatial(); ++i) {
      for (int64_t o = 0; o < p.y[i + 2]; ++o) {
        const int64_t begin = o * p.stride[i] - p.padding_begin[i];
        average.windows[i].push_back(
            {std::max<int64_t>(begin, 0), std::min(begin + p.kernel[i], p.x[i + 2]), i == 0 ? divisor : 1});
      }
    }
  }
  Prepared prepared = operation.prepared();
  const std::vector<int64_t> sizes(p.x.begin() + 2, p.x.end());
  const int64_t planes = p.x[0] * p.x[1];
  const int threads = operation.request.threads;
  if (operation.dtype() == DType::bfloat16)
    prepared.executable = std::make_unique<WindowSpread<BFloat16>>(planes, sizes, std::move(average.windows), threads);
  else prepared.executable = std::make_unique<WindowSpread<float>>(planes, sizes, std::move(average.windows), threads);
  take_loop(prepared, "its windows differ in size or divisor; oneDNN's are all alike");
  return prepared;
}

}  // namespace

Prepared prepare_max_pool_train(const Operation& operation) {
  operation.nan_cut = NanCut::maximum;
  require(operation.request.outputs.size() == 2, "expected y and a workspace as outputs");
  const Pooling p = pooling_of(operation, operation.operand("x").dims, operation.output().dims);
  return p.dilated() ? max_pool_train<Dilated>(operation, p) : max_pool_train<Undilated>(operation, p);
}

Prepared prepare_max_pool_backward(const Operation& operation) {
  const Pooling p = pooling_of(operation, pooled_from(operation), operation.operand("dy").dims);
  Prepared prepared = operation.prepared();
  const DnnlDesc x = take_workspace(operation, Op::max_pool_train, prepared).x(), any = any_desc(p.y, operation.data_type());
  if (p.dilated()) return backward<Dilated>(operation, p, algorithm::pooling_max, x, any, std::move(prepared));
  return backward<Undilated>(operation, p, algorithm::pooling_max, x, any, std::move(prepared));
}

Prepared prepare_avg_pool_backward(const Operation& operation) {
  const Pooling p = pooling_of(operation, pooled_from(operation), operation.operand("dy").dims);
  return average_backward(operation, p, averaging_of(operation, p));
}

Prepared prepare_adaptive_avg_pool_backward(const Operation& operation) {
  Pooling p;
  Averaging average = adaptive_pooling_of(pooled_from(operation), operation.operand("dy").dims, p);
  return average_backward(operation, p, std::move(average));
}

}  // namespace sheaf
