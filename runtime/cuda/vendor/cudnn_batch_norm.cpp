// Batch norm with its own batch's statistics and its gradient, ReLU with it: cuDNN's with channels last, where its vectors fit
// the channels; else the project's own kernels.
#include "runtime/cuda/channel_sums.h"
#include "runtime/cuda/format.h"
#include "runtime/cuda/vendor/cudnn_operation.h"

namespace sheaf::cuda {
namespace {

/// A workspace: where ReLU let through. It remembers who made it and how x lay.
class NormWorkspace final : public Format {
 public:
  NormWorkspace(bool library, bool channels_last, size_t bytes)
      : library_(library), channels_last_(channels_last), bytes_(bytes) {}
  bool equals(const Format& other) const override {
    const auto* that = dynamic_cast<const NormWorkspace*>(&other);
    return that && library_ == that->library_ && channels_last_ == that->channels_last_ && bytes_ == that->bytes_;
  }
  std::string name() const override { return "workspace"; }
  bool library() const { return library_; }
  bool channels_last() const { return channels_last_; }

 private:
  bool library_, channels_last_;
  size_t bytes_;
};

struct BatchNorm {
  const TensorSpec* x = nullptr;
  Dims dims, channels;  ///< x's, with at least two spatial dims; [1, C, 1, …]
  float eps = 0;
  bool affine = false, relu = false;
  bool channels_last = false;  ///< as x lies

  int64_t count() const { return dims[1]; }
  TensorSpec placed(DType dtype) const {
    TensorSpec plain = plain_tensor(dtype, x->dims);
    return channels_last ? cuda::channels_last(std::move(plain)) : plain;
  }
};

void require_channels(const Dims& dims, int64_t count, const char* name) {
  require(dims == Dims{count}, std::string(name) + " should have shape " + to_string(Dims{count}));
}

BatchNorm batch_norm_of(const StepOperands& operands) {
  BatchNorm norm;
  norm.x = &operands.operand("x");
  norm.dims = norm.x->dims;
  require(norm.dims.size() >= 2 && norm.dims.size() <= 5,
          "x has shape " + to_string(norm.dims) + ", expected [N, C, …] with up to 3 more dims");
  const int64_t positions = product(norm.dims, 2, norm.dims.size());
  require(norm.dims[0] * positions != 1,
          "expected more than 1 value per channel when training, got input size " + to_string(norm.dims));
  const auto& attributes = operands.request.step.attributes;
  const auto eps = attributes.find("eps");
  require(eps != attributes.end() && eps->is_number() && eps->get<double>() >= 0,
          "attribute 'eps' should be a number, at least 0");
  norm.eps = float(eps->get<double>());
  norm.affine = operands.has("weight");
  if (norm.affine) require_channels(operands.wide_operand("weight").dims, norm.count(), "weight");
  if (const auto activation = kernel_activation_of(operands.request.step)) {
    require(activation->kind == KernelActivation::relu && activation->alpha == 0, "only relu goes with batch norm");
    norm.relu = true;
  }
  norm.channels_last = is_channels_last(*norm.x) || positions == 1;
  while (norm.dims.size() < 4) norm.dims.push_back(1);
  norm.channels.assign(norm.dims.size(), 1);
  norm.channels[1] = norm.count();
  return norm;
}

/// A graph of cuDNN's and where its tensors lie.
struct Placed {
  CudnnGraph graph;
  std::vector<std::pair<CudnnGraph::Id, MemoryRef>> places;

  CudnnGraph::Id tensor(const BatchNorm& norm, DType dtype, MemoryRef where) {
    places.emplace_back(graph.tensor(dtype, norm.dims, channels_last_strides(norm.dims)), where);
    return places.back().first;
  }
  CudnnGraph::Id statistic(const BatchNorm& norm, MemoryRef where) {
    places.emplace_back(graph.tensor(DType::float32, norm.channels, channels_last_strides(norm.channels)), where);
    return places.back().first;
  }
};

/// Why cuDNN's batch norm isn't asked, or null.
const char* unfit(const BatchNorm& norm, DType dtype) {
  if (!norm.channels_last) return "x is plain, which cuDNN's batch norm would reorder";
  const int64_t vector = 16 / int64_t(size_of(dtype));
  if (norm.count() % vector != 0)
    return dtype == DType::float32 ? "cuDNN's batch norm wants a multiple of 4 channels in f32"
                                   : "cuDNN's batch norm wants a multiple of 8 channels in bf16 and f16";
  if (product(norm.dims, 0, norm.dims.size()) == 0) return "there are no rows";
  return nullptr;
}

size_t channel_bytes(const BatchNorm& norm) { return size_t(norm.count()) * sizeof(float); }

/// weight, or ones; bias, or zeros.
MemoryRef affine(CudnnBuilder& builder, const BatchNorm& norm, const char* role, float otherwise) {
  if (norm.affine) return builder.input(role);
  const MemoryRef made = builder.scratch(channel_bytes(norm));
  OwnKernels* kernels = builder.kernels();
  if (kernels) builder.add(set_channels_call(*kernels, made, norm.count(), otherwise));
  return made;
}

bool train_by_library(CudnnBuilder& builder, const BatchNorm& norm) {
  const DType dtype = builder.operands.dtype();
  Placed placed;
  const auto x = placed.tensor(norm, dtype, builder.input("x"));
  const auto scale = placed.statistic(norm, {}), shift = placed.statistic(norm, {});
  const auto results = placed.graph.batch_norm_train(x, scale, shift, norm.eps);
  auto y = results.y;
  if (norm.relu) {
    y = placed.graph.pointwise(Pointwise::relu, y);
    const auto passes = placed.graph.pointwise(Pointwise::greater, y, placed.graph.constant(0));
    placed.graph.output_bits(passes, channels_last_strides(norm.dims));
    placed.places.emplace_back(passes, builder.output(3));
  }
  placed.graph.output(y, dtype, channels_last_strides(norm.dims));
  const auto plan = builder.plan(placed.graph, builder.choice());
  if (!plan) {
    builder.because("cuDNN has no engine (" + gist_of(plan.error()) + ")");
    return false;
  }
  const MemoryRef inverse = builder.scratch(channel_bytes(norm));
  placed.places[1].second = affine(builder, norm, "weight", 1);
  placed.places[2].second = affine(builder, norm, "bias", 0);
  placed.places.insert(placed.places.end(),
                       {{y, builder.output()}, {results.mean, builder.output(1)}, {results.inverse, inverse}});
  builder.add(*plan, placed.graph, placed.places);
  if (OwnKernels* kernels = builder.kernels())
    builder.add(variance_of_inverse_call(*kernels, builder.output(2), inverse, norm.count(), norm.eps));
  return true;
}

bool backward_by_library(CudnnBuilder& builder, const BatchNorm& norm, bool required) {
  const DType dtype = builder.operands.dtype();
  Placed placed;
  const auto dy = placed.tensor(norm, dtype, builder.input("dy")), x = placed.tensor(norm, dtype, builder.input("x"));
  const auto scale = placed.statistic(norm, {}), mean = placed.statistic(norm, builder.input("mean")),
             inverse = placed.statistic(norm, {});
  auto gradient = dy;
  if (norm.relu) {
    const auto passes = placed.tensor(norm, DType::uint8, builder.input("workspace"));
    placed.graph.output_bits(passes, channels_last_strides(norm.dims));
    gradient = placed.graph.pointwise(Pointwise::multiply, dy, passes);
    // The engine wants it in a buffer, as if another branch needed it.
    placed.graph.output(gradient, dtype, channels_last_strides(norm.dims));
  }
  const auto results = placed.graph.batch_norm_backward(gradient, x, scale, mean, inverse);
  placed.graph.output(results.dx, dtype, channels_last_strides(norm.dims));
  const auto plan = builder.plan(placed.graph, builder.choice());
  if (!plan) {
    require(!required, "cuDNN has no engine for the gradient of its own batch norm: " + gist_of(plan.error()));
    builder.because("cuDNN has no engine (" + gist_of(plan.error()) + ")");
    return false;
  }
  placed.places[2].second = affine(builder, norm, "weight", 1);
  placed.places[4].second = builder.scratch(channel_bytes(norm));
  if (OwnKernels* kernels = builder.kernels())
    builder.add(inverse_of_variance_call(*kernels, placed.places[4].second, builder.input("var"), norm.count(), norm.eps));
  if (norm.relu) placed.places.emplace_back(gradient, builder.scratch(norm.placed(dtype).bytes));
  const auto sums = [&](size_t index) { return norm.affine ? builder.output(index) : builder.scratch(channel_bytes(norm)); };
  placed.places.insert(placed.places.end(),
                       {{results.dx, builder.output()}, {results.dscale, sums(1)}, {results.dshift, sums(2)}});
  builder.add(*plan, placed.graph, placed.places);
  return true;
}

BatchNormCall own_call(const CudnnBuilder& builder, const BatchNorm& norm) {
  BatchNormCall call;
  call.dtype = builder.operands.dtype();
  call.dims = norm.x->dims;
  call.channels_last = norm.channels_last;
  call.eps = norm.eps;
  call.x = builder.input("x");
  call.weight = builder.input("weight");
  return call;
}

void add_all(CudnnBuilder& builder, std::vector<KernelCall> calls) {
  for (KernelCall& call : calls) builder.add(std::move(call));
}

}  // namespace

Result<Prepared> prepare_batch_norm_train(const PrepareRequest& request, LibraryContext& context) {
  const StepOperands operands(request);
  const BatchNorm norm = batch_norm_of(operands);
  require(operands.has("bias") == norm.affine, "weight and bias should be given together");
  if (norm.affine) require_channels(operands.wide_operand("bias").dims, norm.count(), "bias");
  const size_t outputs = norm.relu ? 4 : 3;
  require(request.outputs.size() == outputs, "expected " + std::to_string(outputs) + " outputs");
  require(operands.output().dims == norm.x->dims, "output 0 should have x's shape");
  require_channels(operands.wide_output(1).dims, norm.count(), "output 1, the mean,");
  require_channels(operands.wide_output(2).dims, norm.count(), "output 2, the variance,");

  CudnnBuilder builder(operands, context);
  builder.prepared.inputs[size_t(operands.find("x"))] = builder.prepared.outputs[0] = norm.placed(operands.dtype());
  const char* why = unfit(norm, operands.dtype());
  if (why) builder.because(why);
  const bool library = !why && train_by_library(builder, norm);
  if (library) {
    builder.because(norm.relu ? "normalisation, ReLU (which keeps NaN) and its mask in one graph, channels last"
                              : "channels last, as x is");
  } else {
    builder.because("the project's own kernels, in x's format");
    BatchNormCall call = own_call(builder, norm);
    call.bias = builder.input("bias");
    call.y = builder.output();
    call.mean = builder.output(1);
    call.var = builder.output(2);
    if (norm.relu) call.mask = builder.output(3);
    std::vector<KernelCall> calls;
    add_batch_norm_train(calls, builder.kernels(), call, builder.prepared.scratch_bytes);
    add_all(builder, std::move(calls));
  }
  if (norm.relu) {
    const TensorSpec& wanted = request.outputs[3];
    require(wanted.dtype == DType::uint8 && wanted.dims == Dims{1}, "output 3, the workspace, should be uint8 of shape [1]");
    // cuDNN's samples give a mask one bit an element, its own sizes of reordered masks one byte: room for either.
    const size_t bytes = library ? size_t(product(norm.dims, 0, norm.dims.size())) : mask_bytes(norm.dims);
    builder.prepared.outputs[3].bytes = bytes;
    builder.prepared.outputs[3].format = std::make_shared<NormWorkspace>(library, norm.channels_last, bytes);
  }
  return builder.take();
}

Result<Prepared> prepare_batch_norm_backward(const PrepareRequest& request, LibraryContext& context) {
  const StepOperands operands(request);
  BatchNorm norm = batch_norm_of(operands);
  require(operands.has("workspace") == norm.relu, "a workspace goes with relu");
  require_channels(operands.wide_operand("mean").dims, norm.count(), "mean");
  require_channels(operands.wide_operand("var").dims, norm.count(), "var");
  const size_t outputs = norm.affine ? 3 : 1;
  require(request.outputs.size() == outputs, "expected " + std::to_string(outputs) + " outputs");
  require(operands.operand("dy").dims == norm.x->dims && operands.output().dims == norm.x->dims,
          "dy and output 0 should have x's shape " + to_string(norm.x->dims));
  for (size_t i = 1; i < outputs; ++i)
    require_channels(operands.wide_output(i).dims, norm.count(), i == 1 ? "dweight" : "dbias");

  CudnnBuilder builder(operands, context);
  const char* why = unfit(norm, operands.dtype());
  bool library = !why, required = false;
  if (norm.relu) {
    const size_t index = size_t(operands.find("workspace"));
    const auto* made = dynamic_cast<const NormWorkspace*>(request.inputs[index].format.get());
    require(made, "operand 'workspace' is not one that batch_norm_train made");
    builder.prepared.inputs[index] = request.inputs[index];
    norm.channels_last = made->channels_last();
    library = required = made->library();
    if (!library) why = "as the forward pass";
  }
  for (const char* role : {"x", "dy"}) builder.prepared.inputs[size_t(operands.find(role))] = norm.placed(operands.dtype());
  builder.prepared.outputs[0] = norm.placed(operands.dtype());
  if (!library) builder.because(why);
  if (library && backward_by_library(builder, norm, required)) {
    builder.because(norm.relu ? "ReLU's gradient in the same graph, in the forward pass's format" : "channels last, as x is");
    return builder.take();
  }
  builder.because("the project's own kernels");
  builder.prepared.in_place.push_back({operands.find("dy"), 0});
  BatchNormCall call = own_call(builder, norm);
  call.dy = builder.input("dy");
  call.dx = builder.output();
  call.mean = builder.input("mean");
  call.var = builder.input("var");
  if (norm.relu) call.mask = builder.input("workspace");
  call.dweight = norm.affine ? builder.output(1) : builder.scratch(channel_bytes(norm));
  call.dbias = norm.affine ? builder.output(2) : builder.scratch(channel_bytes(norm));
  std::vector<KernelCall> calls;
  add_batch_norm_backward(calls, builder.kernels(), call, builder.prepared.scratch_bytes);
  add_all(builder, std::move(calls));
  return builder.take();
}

}  // namespace sheaf::cuda
