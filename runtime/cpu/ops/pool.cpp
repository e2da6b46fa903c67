// Maximum, average and adaptive average pooling over 1 to 3 dims, with PyTorch's rules for edges.
#include "runtime/cpu/ops/operation.h"
#include "runtime/cpu/ops/window_average.h"

#include <algorithm>

namespace sheaf {
namespace {

using dnnl::algorithm;

struct Pooling {
  DnnlDims x, y, kernel, stride, dilation, padding_begin, padding_end;
  size_t spatial() const { return kernel.size(); }
};

/// Output size of PyTorch's pooling_output_shape: in ceil mode the last window must start inside the input or
/// the padding before it.
int64_t pooled_size(int64_t size, int64_t reach, int64_t stride, int64_t padding, bool ceil_mode) {
  const int64_t room = size + 2 * padding - reach;
  if (room < 0 && !(ceil_mode && room + stride > 0)) return 0;
  int64_t out = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (out - 1) * stride >= size + padding) --out;
  return out;
}

void check_shapes(const TensorSpec& x, const TensorSpec& y) {
  require(x.dims.size() >= 3 && x.dims.size() <= 5,
          "x has shape " + to_string(x.dims) + ", expected [N, C, …] with 1 to 3 more dims");
  require(y.dims.size() == x.dims.size() && y.dims[0] == x.dims[0] && y.dims[1] == x.dims[1],
          "output " + to_string(y.dims) + " doesn't fit x " + to_string(x.dims));
}

Pooling pooling_of(const Operation& operation) {
  const TensorSpec &x = operation.operand("x"), &y = operation.output();
  check_shapes(x, y);
  const size_t spatial = x.dims.size() - 2;
  const bool ceil_mode = operation.flag("ceil_mode", false);
  Pooling p;
  p.x = x.dims;
  p.y = y.dims;
  p.kernel = operation.integers("kernel_size", spatial, 0, 1);
  p.stride = operation.integers("stride", spatial, 0, 1);
  p.padding_begin = operation.integers("padding", spatial, 0, 0);
  p.dilation = operation.integers("dilation", spatial, 1, 1);
  for (size_t i = 0; i < spatial; ++i) {
    require(p.kernel[i] > 0, "attribute 'kernel_size' is missing");
    if (p.stride[i] == 0) p.stride[i] = p.kernel[i];
    require(2 * p.padding_begin[i] <= p.kernel[i], "padding should be at most half of the kernel size");
    const int64_t reach = p.dilation[i] * (p.kernel[i] - 1) + 1, size = x.dims[i + 2], out = y.dims[i + 2];
    const int64_t expected = pooled_size(size, reach, p.stride[i], p.padding_begin[i], ceil_mode);
    require(out == expected && out > 0, "output " + to_string(y.dims) + " doesn't fit x " +
                                            to_string(x.dims) + ": dimension " + std::to_string(i + 2) +
                                            " should be " + std::to_string(expected));
    // What the last window needs; at least the padding asked for, which oneDNN checks against the output's
    // size.
    const int64_t needed = (out - 1) * p.stride[i] + reach - size - p.padding_begin[i];
    p.padding_end.push_back(std::max(needed, p.padding_begin[i]));
  }
  return p;
}

Prepared prepare(const Operation& operation, const Pooling& p, algorithm algorithm, float scale = 1) {
  const std::string letters = activation_letters(p.x.size());
  const DnnlDesc x = desc_at_hand(operation.operand("x"), plain_desc(p.x));
  dnnl::primitive_attr attributes = step_attributes();
  if (scale != 1) {
    dnnl::post_ops post_ops;
    post_ops.append_eltwise(1.f, algorithm::eltwise_linear, scale, 0.f);
    attributes.set_post_ops(post_ops);
  }
  DnnlDims dilation = p.dilation;
  for (int64_t& d : dilation) d -= 1;  // oneDNN counts the gaps
  const bool dilated = std::any_of(dilation.begin(), dilation.end(), [](int64_t d) { return d != 0; });

  Prepared prepared = operation.prepared();
  ScratchPlan scratch;
  std::vector<DnnlCall> calls;
  auto finish = [&](const auto& pd, dnnl::primitive primitive) {
    prepared.inputs[operation.find("x")] = dnnl_tensor(p.x, pd.src_desc(), plain_desc(p.x), letters);
    prepared.outputs[0] = dnnl_tensor(p.y, pd.dst_desc(), plain_desc(p.y), letters);
    prepared.implementation = pd.impl_info_str();
    calls.emplace_back(std::move(primitive));
    calls[0]
        .argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
        .argument(DNNL_ARG_DST, pd.dst_desc(), operation.output_buffer())
        .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  };
  const auto kind = dnnl::prop_kind::forward_inference;
  if (dilated) {
    const dnnl::pooling_v2_forward::primitive_desc pd(
        dnnl::pooling_v2_forward::desc(kind, algorithm, x, any_desc(p.y), p.stride, p.kernel, dilation,
                                       p.padding_begin, p.padding_end),
        attributes, dnnl_engine());
    finish(pd, dnnl::pooling_v2_forward(pd));
  } else {
    const dnnl::pooling_forward::primitive_desc pd(
        dnnl::pooling_forward::desc(kind, algorithm, x, any_desc(p.y), p.stride, p.kernel, p.padding_begin,
                                    p.padding_end),
        attributes, dnnl_engine());
    finish(pd, dnnl::pooling_forward(pd));
  }
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable = std::make_unique<DnnlExecutable>(std::move(calls), operation.request.threads);
  return prepared;
}

Prepared prepare_windows(const Operation& operation, const Pooling& p,
                         std::vector<std::vector<Window>> windows) {
  require(operation.request.inputs.size() == 1, "pooling takes one input");
  Prepared prepared = operation.prepared();
  prepared.executable =
      std::make_unique<WindowAverage>(p.x[0] * p.x[1], std::vector<int64_t>(p.x.begin() + 2, p.x.end()),
                                      std::move(windows), operation.request.threads);
  prepared.implementation = "loop";
  return prepared;
}

}  // namespace

Prepared prepare_max_pool(const Operation& operation) {
  return prepare(operation, pooling_of(operation), algorithm::pooling_max);
}

Prepared prepare_avg_pool(const Operation& operation) {
  const Pooling p = pooling_of(operation);
  require(std::all_of(p.dilation.begin(), p.dilation.end(), [](int64_t d) { return d == 1; }),
          "avg_pool has no dilation");
  const int64_t divisor = operation.integers("divisor_override", 1, 0, 0).front();
  // Including the padding, oneDNN always divides by the kernel's size: also right for any other fixed
  // divisor.
  if (divisor > 0) {
    const double scale = double(product(p.kernel, 0, p.spatial())) / double(divisor);
    return prepare(operation, p, algorithm::pooling_avg_include_padding, float(scale));
  }
  if (!operation.flag("count_include_pad", true))
    return prepare(operation, p, algorithm::pooling_avg_exclude_padding);
  if (p.padding_end == p.padding_begin) return prepare(operation, p, algorithm::pooling_avg_include_padding);
  // In ceil mode the last windows may reach beyond the padding; PyTorch divides by what lies within it.
  std::vector<std::vector<Window>> windows(p.spatial());
  for (size_t i = 0; i < p.spatial(); ++i) {
    for (int64_t o = 0; o < p.y[i + 2]; ++o) {
      const int64_t begin = o * p.stride[i] - p.padding_begin[i], size = p.x[i + 2];
      const int64_t end = std::min(begin + p.kernel[i], size + p.padding_begin[i]);
      windows[i].push_back({std::max<int64_t>(begin, 0), std::min(end, size), end - begin});
    }
  }
  return prepare_windows(operation, p, std::move(windows));
}

/// Window of output o: [floor(o·in/out), ceil((o+1)·in/out)), as in PyTorch's start_index and end_index.
Prepared prepare_adaptive_avg_pool(const Operation& operation) {
  const TensorSpec &x = operation.operand("x"), &y = operation.output();
  check_shapes(x, y);
  Pooling p;
  p.x = x.dims;
  p.y = y.dims;
  bool uniform = true;
  std::vector<std::vector<Window>> windows;
  for (size_t i = 2; i < x.dims.size(); ++i) {
    const int64_t in = x.dims[i], out = y.dims[i];
    require(in > 0, "adaptive_avg_pool can't pool x " + to_string(x.dims));
    uniform = uniform && in % out == 0;
    p.kernel.push_back(in / out);
    windows.emplace_back();
    for (int64_t o = 0; o < out; ++o) {
      const int64_t begin = o * in / out, end = ((o + 1) * in + out - 1) / out;
      windows.back().push_back({begin, end, end - begin});
    }
  }
  if (!uniform) return prepare_windows(operation, p, std::move(windows));
  p.stride = p.kernel;
  p.dilation.assign(p.kernel.size(), 1);
  p.padding_begin.assign(p.kernel.size(), 0);
  p.padding_end = p.padding_begin;
  return prepare(operation, p, algorithm::pooling_avg_exclude_padding);
}

}  // namespace sheaf
