// One builder per layer type: it turns arguments into an op's attributes and parameters into operands.
#include "frontend/import/layer_context.h"
#include "ir/Nn/Lengths.h"

using namespace mlir;

namespace sheaf::import {
namespace {

/// A size that is a length becomes -1, with its name beside it.
Values build_reshape(const Context& c) {
  SmallVector<int64_t> sizes;
  SmallVector<StringRef> named;
  bool any = false;
  for (const Json& size : c.argument("shape")) {
    any |= size.is_string();
    sizes.push_back(size.is_string() ? -1 : size.get<int64_t>());
    named.push_back(size.is_string() ? StringRef(size.get_ref<const std::string&>()) : StringRef());
  }
  Values y = c.one<nn::ReshapeOp>(c.x(), c.attributes().getDenseI64ArrayAttr(sizes));
  if (any) y[0].getDefiningOp()->setAttr(nn::kNamedSizes, c.attributes().getStrArrayAttr(named));
  return y;
}

Values build_linear(const Context& c) {
  return c.one<nn::LinearOp>(c.x(), c.parameter("weight"), c.parameter("bias"), mlir::Value(), DictionaryAttr());
}

/// "same" pads so that the size stays; an odd element goes to the end, as in PyTorch.
Values build_conv(const Context& c) {
  std::vector<int64_t> kernel = c.list("kernel_size"), dilation = c.list("dilation"), begin(kernel.size(), 0), end = begin;
  const Json& padding = c.argument("padding");
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t total = dilation[i] * (kernel[i] - 1);
    if (padding == "same") begin[i] = total / 2, end[i] = total - total / 2;
    else if (!padding.is_string()) begin[i] = end[i] = padding[i].get<int64_t>();
  }
  Values results = c.one<nn::ConvOp>(c.x(), c.parameter("weight"), c.parameter("bias"), mlir::Value(), c.integers("stride"),
                                     c.attributes().getDenseI64ArrayAttr(begin), c.attributes().getDenseI64ArrayAttr(end),
                                     c.integers("dilation"), c.integer("groups"), DictionaryAttr());
  if (c.argument("padding_mode") != "zeros")
    results[0].getDefiningOp()->setAttr(nn::kPaddingMode,
                                        c.attributes().getStringAttr(c.argument("padding_mode").get<std::string>()));
  return results;
}
Values build_conv_transpose(const Context& c) {
  return c.one<nn::ConvTransposeOp>(c.x(), c.parameter("weight"), c.parameter("bias"), c.integers("stride"),
                                    c.integers("padding"), c.integers("output_padding"), c.integers("dilation"),
                                    c.integer("groups"), DictionaryAttr());
}

template <bool synchronized>
Values build_batch_norm(const Context& c) {
  const auto mark = [&](mlir::Value y) {
    if (synchronized) y.getDefiningOp()->setAttr(nn::kSynchronized, c.attributes().getUnitAttr());
  };
  // Without running statistics the layer uses the batch's own, in inference too.
  if (!c.argument("track_running_stats").get<bool>()) {
    mlir::Value y = c.several<nn::BatchNormTrainOp>(3, c.x(), c.parameter("weight"), c.parameter("bias"), c.number("eps"),
                                                    DictionaryAttr())[0];
    mark(y);
    return {y};
  }
  Values results = c.one<nn::BatchNormOp>(c.x(), c.parameter("running_mean"), c.parameter("running_var"), c.parameter("weight"),
                                          c.parameter("bias"), c.number("eps"));
  // Without a momentum (PyTorch's None) the running statistics are plain averages.
  if (c.importer.training() && !c.argument("momentum").is_null())
    results[0].getDefiningOp()->setAttr(nn::kMomentum, c.number("momentum"));
  if (c.importer.training()) mark(results[0]);
  return results;
}
Values build_layer_norm(const Context& c) {
  return c.one<nn::LayerNormOp>(c.x(), c.parameter("weight"), c.parameter("bias"), c.integers("normalized_shape"),
                                c.number("eps"));
}
Values build_group_norm(const Context& c) {
  return c.one<nn::GroupNormOp>(c.x(), c.parameter("weight"), c.parameter("bias"), c.integer("num_groups"), c.number("eps"));
}

/// Σ over j of (Σ over i of weight[o, i, j] · x1[i]) · x2[j]: the first sum is a linear layer's.
Values build_bilinear(const Context& c) {
  const int64_t out = c.argument("out_features").get<int64_t>(), second = c.argument("in2_features").get<int64_t>();
  auto integers = [&](std::vector<int64_t> list) { return c.attributes().getDenseI64ArrayAttr(list); };
  auto last = c.attributes().getI64IntegerAttr(-1);
  mlir::Value weight = c.one<nn::PermuteOp>(c.parameter("weight"), integers({0, 2, 1}))[0];
  weight = c.one<nn::ReshapeOp>(weight, integers({out * second, -1}))[0];
  mlir::Value sums = c.one<nn::LinearOp>(c.inputs[0], weight, mlir::Value(), mlir::Value(), DictionaryAttr())[0];
  sums = c.one<nn::UnflattenOp>(sums, last, integers({out, second}))[0];
  mlir::Value x2 = c.one<nn::UnsqueezeOp>(c.inputs[1], c.attributes().getI64IntegerAttr(-2))[0];
  Values y = c.one<nn::SumOp>(c.one<nn::MulOp>(sums, x2)[0], integers({-1}), c.attributes().getBoolAttr(false));
  return c.parameter("bias") ? c.one<nn::AddOp>(y[0], c.parameter("bias")) : y;
}

template <typename Op>
Values build_unary(const Context& c) {
  return c.one<Op>(c.x());
}
template <typename Op>
Values build_binary(const Context& c) {
  return c.one<Op>(c.inputs[0], c.inputs[1]);
}

template <bool log>
Values build_softmax(const Context& c) {
  return c.one<nn::SoftmaxOp>(c.x(), c.integer("dim"), c.attributes().getBoolAttr(log));
}

Values build_softmin(const Context& c) {
  mlir::Value minus =
      c.one<nn::MapOp>(ValueRange(c.inputs), c.attributes().getStringAttr("neg"), c.attributes().getDenseF64ArrayAttr({}))[0];
  return c.one<nn::SoftmaxOp>(minus, c.integer("dim"), c.attributes().getBoolAttr(false));
}
Values build_softmax_2d(const Context& c) {
  return c.one<nn::SoftmaxOp>(c.x(), c.attributes().getI64IntegerAttr(-3), c.attributes().getBoolAttr(false));
}

/// A max pool's maxima and, with return_indices, where they are.
template <typename Op, typename PositionsOp, typename... Attributes>
Values with_positions(const Context& c, Attributes... attributes) {
  Values y = c.one<Op>(c.x(), attributes...);
  if (c.argument("return_indices").get<bool>())
    y.push_back(c.importer.make<PositionsOp>(c.loc, c.attributes().getI64Type(), 1u, c.x(), attributes...)->getResult(0));
  return y;
}

Values build_max_pool(const Context& c) {
  return with_positions<nn::MaxPoolOp, nn::MaxPoolPositionsOp>(
      c, c.integers("kernel_size"), c.integers("stride"), c.integers("padding"), c.integers("dilation"), c.flag("ceil_mode"));
}
Values build_max_unpool(const Context& c) {
  return c.one<nn::MaxUnpoolOp>(
      c.x(), c.inputs[1], c.integers("kernel_size"), c.integers("stride"), c.integers("padding"),
      c.argument("output_size").is_null() ? c.attributes().getDenseI64ArrayAttr({}) : c.integers("output_size"));
}
Values build_avg_pool(const Context& c) {
  int64_t divisor = c.argument("divisor_override").is_null() ? 0 : c.argument("divisor_override").get<int64_t>();
  return c.one<nn::AvgPoolOp>(c.x(), c.integers("kernel_size"), c.integers("stride"), c.integers("padding"),
                              c.flag("ceil_mode"), c.flag("count_include_pad"), c.attributes().getI64IntegerAttr(divisor));
}
DenseI64ArrayAttr adaptive_sizes(const Context& c) {
  std::vector<int64_t> sizes;
  for (const Json& size : c.argument("output_size")) sizes.push_back(size.is_null() ? -1 : size.get<int64_t>());
  return c.attributes().getDenseI64ArrayAttr(sizes);
}
Values build_adaptive_avg_pool(const Context& c) { return c.one<nn::AdaptiveAvgPoolOp>(c.x(), adaptive_sizes(c)); }
Values build_adaptive_max_pool(const Context& c) {
  return with_positions<nn::AdaptiveMaxPoolOp, nn::AdaptiveMaxPoolPositionsOp>(c, adaptive_sizes(c));
}

Values build_embedding(const Context& c) {
  mlir::Value weight = c.parameter("weight");
  mlir::Type element = cast<mlir::TensorType>(weight.getType()).getElementType();
  IntegerAttr padding = c.argument("padding_idx").is_null() ? IntegerAttr() : c.integer("padding_idx");
  return {c.importer.make<nn::EmbeddingOp>(c.loc, element, 1u, c.x(), weight, padding)->getResult(0)};
}

/// torch.nn.LPPool2d: the p-th root of the windows' sums of x^p.
Values build_lp_pool(const Context& c) {
  const double p = c.argument("norm_type").get<double>();
  auto map = [&](mlir::Value x, const char* function, double number) {
    return c.one<nn::MapOp>(ValueRange(x), c.attributes().getStringAttr(function),
                            c.attributes().getDenseF64ArrayAttr({number}))[0];
  };
  int64_t window = 1;
  for (int64_t size : c.list("kernel_size")) window *= size;
  const std::vector<int64_t> none(c.list("kernel_size").size(), 0);
  mlir::Value mean = c.one<nn::AvgPoolOp>(map(c.x(), "power", p), c.integers("kernel_size"), c.integers("stride"),
                                          c.attributes().getDenseI64ArrayAttr(none), c.flag("ceil_mode"),
                                          c.attributes().getBoolAttr(true), c.attributes().getI64IntegerAttr(0))[0];
  return {map(map(mean, "mul", static_cast<double>(window)), "norm_root", p)};
}

const Builders& builders_here() {
  static const Builders table = {
      {"Linear", build_linear},
      {"Bilinear", build_bilinear},
      {"Conv1d", build_conv},
      {"Conv2d", build_conv},
      {"Conv3d", build_conv},
      {"ConvTranspose1d", build_conv_transpose},
      {"ConvTranspose2d", build_conv_transpose},
      {"ConvTranspose3d", build_conv_transpose},
      {"BatchNorm1d", build_batch_norm<false>},
      {"BatchNorm2d", build_batch_norm<false>},
      {"BatchNorm3d", build_batch_norm<false>},
      {"SyncBatchNorm", build_batch_norm<true>},
      {"LayerNorm", build_layer_norm},
      {"GroupNorm", build_group_norm},
      {"ReLU", build_unary<nn::ReluOp>},
      {"SiLU", build_unary<nn::SiluOp>},
      {"Tanh", build_unary<nn::TanhOp>},
      {"Sigmoid", build_unary<nn::SigmoidOp>},
      {"Identity", build_unary<nn::IdentityOp>},
      {"LeakyReLU", [](const Context& c) { return c.one<nn::LeakyReluOp>(c.x(), c.number("negative_slope")); }},
      {"ELU", [](const Context& c) { return c.one<nn::EluOp>(c.x(), c.number("alpha")); }},
      {"GELU",
       [](const Context& c) {
         return c.one<nn::GeluOp>(c.x(), c.attributes().getBoolAttr(c.argument("approximate") == "tanh"));
       }},
      {"Hardtanh", [](const Context& c) { return c.one<nn::HardtanhOp>(c.x(), c.number("min_val"), c.number("max_val")); }},
      {"ReLU6",
       [](const Context& c) {
         return c.one<nn::HardtanhOp>(c.x(), c.attributes().getF64FloatAttr(0), c.attributes().getF64FloatAttr(6));
       }},
      {"Softmin", build_softmin},
      {"Softmax2d", build_softmax_2d},
      {"LPPool2d", build_lp_pool},
      {"Softmax", build_softmax<false>},
      {"LogSoftmax", build_softmax<true>},
      {"MaxPool2d", build_max_pool},
      {"AvgPool2d", build_avg_pool},
      {"AdaptiveAvgPool2d", build_adaptive_avg_pool},
      {"AdaptiveMaxPool2d", build_adaptive_max_pool},
      {"MaxUnpool2d", build_max_unpool},
      {"Flatten", [](const Context& c) { return c.one<nn::FlattenOp>(c.x(), c.integer("start_dim"), c.integer("end_dim")); }},
      {"Unflatten",
       [](const Context& c) { return c.one<nn::UnflattenOp>(c.x(), c.integer("dim"), c.integers("unflattened_size")); }},
      {"Embedding", build_embedding},
      {"MatMul", build_binary<nn::MatMulOp>},
      {"Concat", [](const Context& c) { return c.one<nn::ConcatOp>(ValueRange(c.inputs), c.integer("dim")); }},
      {"Permute", [](const Context& c) { return c.one<nn::PermuteOp>(c.x(), c.integers("dims")); }},
      {"Reshape", build_reshape},
      {"Mean", [](const Context& c) { return c.one<nn::MeanOp>(c.x(), c.integers("dim"), c.flag("keepdim")); }},
      {"Select", [](const Context& c) { return c.one<nn::SelectOp>(c.x(), c.integer("dim"), c.integer("index")); }},
      {"Scale", [](const Context& c) { return c.one<nn::ScaleOp>(c.x(), c.number("value")); }},
      {"Print",
       [](const Context& c) {
         return c.one<nn::PrintOp>(ValueRange(c.inputs), c.attributes().getStringAttr(c.argument("text").get<std::string>()));
       }},
  };
  return table;
}

const Builders& builders() {
  static const Builders all = [] {
    Builders made = builders_here();
    for (auto family : {elementwise_builders, indexing_builders, recurrent_builders, reduction_builders, spatial_builders})
      made.merge(family());
    // Pools over one, two and three dimensions are built alike.
    for (const std::string pool : {"MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "MaxUnpool", "LPPool"})
      for (const char* dims : {"1d", "3d"}) made.emplace(pool + dims, made.at(pool + "2d"));
    return made;
  }();
  return all;
}

}  // namespace

std::vector<mlir::Value> build_layer(Importer& importer, const Layer& layer, mlir::Location loc,
                                     const std::vector<mlir::Value>& inputs) {
  // The frontend accepts only types in its table; a unit test asserts that each of them has a builder here.
  const Context context{importer, layer, loc, inputs};
  auto found = builders().find(layer.type);
  return found != builders().end() ? found->second(context) : build_function(context);
}

bool has_builder(const std::string& type) { return builders().count(type) > 0 || is_function(type); }

}  // namespace sheaf::import
