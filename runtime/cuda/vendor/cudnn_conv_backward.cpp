// Gradients of a convolution with respect to its input, its weight and its bias.
#include "runtime/cuda/vendor/cudnn_conv.h"

#include "runtime/cuda/channel_sums.h"

namespace sheaf::cuda {

Result<Prepared> prepare_conv_backward_data(const PrepareRequest& request, LibraryContext& context) {
  const StepOperands operands(request);
  const Dims &dy_dims = operands.operand("dy").dims, &weight_dims = operands.operand("weight").dims;
  require(weight_dims.size() >= 2 && !dy_dims.empty(),
          "dy " + to_string(dy_dims) + " and weight " + to_string(weight_dims) + " don't fit");
  Dims x = {dy_dims[0], weight_dims[1] * operands.integer("groups", 1)};
  for (const int64_t size : spatial_sizes(operands, "size", dy_dims.size())) x.push_back(size);
  require(operands.output().dims == x, "output has shape " + to_string(operands.output().dims) + ", expected " + to_string(x));
  const CudnnConv conv = cudnn_conv_of(operands, conv_shape(operands, x, weight_dims, dy_dims, "dy"), weight_dims);
  if (is_joined(operands)) return prepare_joined_backward_data(operands, conv, context);

  CudnnBuilder builder(operands, context);
  builder.because(format_reason(conv));
  for (const char* role : {"dy", "weight"})
    builder.prepared.inputs[size_t(operands.find(role))] = conv.placed(operands.operand(role));
  builder.prepared.outputs[0] = conv.placed(operands.output());
  CudnnGraph graph;
  const auto dy = graph.tensor(operands.dtype(), conv.y, conv.strides(conv.y)),
             weight = graph.tensor(operands.dtype(), conv.weight, conv.strides(conv.weight));
  const auto dx = graph.conv_backward_data(dy, weight, conv.window, conv.x);
  graph.output(dx, operands.dtype(), conv.strides(conv.x));
  builder.add(graph, {{dy, builder.input("dy")}, {weight, builder.input("weight")}, {dx, builder.output()}});
  return builder.take();
}

Result<Prepared> prepare_conv_backward_weight(const PrepareRequest& request, LibraryContext& context) {
  const StepOperands operands(request);
  const Dims &x_dims = operands.operand("x").dims, &dy_dims = operands.operand("dy").dims;
  const bool bias = operands.flag("bias", false);
  const int64_t groups = operands.integer("groups", 1);
  require(request.outputs.size() == (bias ? 2 : 1),
          bias ? "expected dweight and dbias as outputs" : "expected dweight as output");
  require(groups >= 1 && x_dims.size() >= 2 && dy_dims.size() == x_dims.size(),
          "x " + to_string(x_dims) + " and dy " + to_string(dy_dims) + " don't fit");
  Dims weight = {dy_dims[1], x_dims[1] / groups};
  for (const int64_t size : spatial_sizes(operands, "kernel_size", x_dims.size())) weight.push_back(size);
  const TensorSpec& result = operands.wide_output();
  require(result.dims == weight, "output has shape " + to_string(result.dims) + ", expected " + to_string(weight));
  if (bias) require(operands.wide_output(1).dims == Dims{weight[0]}, "dbias should have shape " + to_string(Dims{weight[0]}));
  const CudnnConv conv = cudnn_conv_of(operands, conv_shape(operands, x_dims, weight, dy_dims, "dy"), weight);
  if (is_joined(operands)) return prepare_joined_backward_weight(operands, conv, context);

  CudnnBuilder builder(operands, context);
  builder.because(format_reason(conv));
  for (const char* role : {"x", "dy"})
    builder.prepared.inputs[size_t(operands.find(role))] = conv.placed(operands.operand(role));
  const DType dtype = operands.dtype();
  // From narrow operands cuDNN's fast engines write no f32: binding widens the result, for all gradients at once if it can.
  builder.prepared.outputs[0] = conv.placed(plain_tensor(dtype, result.dims));
  if (product(x_dims, 0, x_dims.size()) == 0) {  // a replica's share of a small batch may be empty
    builder.add_zeros(builder.output(), builder.prepared.outputs[0].bytes);
    if (bias) builder.add_zeros(builder.output(1), builder.prepared.outputs[1].bytes);
    builder.because("no rows: the sums over them are 0");
    return builder.take();
  }
  CudnnGraph graph;
  const auto x = graph.tensor(dtype, conv.x, conv.strides(conv.x)), dy = graph.tensor(dtype, conv.y, conv.strides(conv.y));
  const auto dweight = graph.conv_backward_weight(x, dy, conv.window, conv.weight);
  graph.output(dweight, dtype, conv.strides(conv.weight));
  builder.add(graph, {{x, builder.input("x")}, {dy, builder.input("dy")}, {dweight, builder.output()}});
  if (dtype != DType::float32)
    builder.because("summed in f32, written as " + std::string(name_of(dtype)) +
                    ": cuDNN's fast engines write no f32 from narrow operands");
  if (bias) {
    builder.because("dbias by the project's own kernel, in a fixed order");
    std::vector<KernelCall> calls;
    add_channel_sums(calls, builder.kernels(), builder.output(1), builder.input("dy"), dtype, dy_dims, conv.channels_last,
                     builder.prepared.scratch_bytes);
    for (KernelCall& call : calls) builder.add(std::move(call));
  }
  return builder.take();
}

}  // namespace sheaf::cuda
