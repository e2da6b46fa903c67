// Builders of reductions over dimensions.
#include "frontend/import/layer_context.h"

#include <limits>

using namespace mlir;

namespace sheaf::import {
namespace {

/// What is reduced, and along which dimensions: without `dim`, all elements as one dimension.
struct Reduced {
  mlir::Value x;
  std::vector<int64_t> dims;

  explicit Reduced(const Context& c) : x(c.x()), dims({0}) {
    if (!c.argument("dim").is_null()) dims = c.list("dim");
    else x = c.one<nn::FlattenOp>(x, c.attributes().getI64IntegerAttr(0), c.attributes().getI64IntegerAttr(-1))[0];
  }
  DenseI64ArrayAttr all(const Context& c) const { return c.attributes().getDenseI64ArrayAttr(dims); }
};

Values build_sum(const Context& c) {
  const Reduced reduced(c);
  return c.one<nn::SumOp>(reduced.x, reduced.all(c), c.flag("keepdim"));
}

template <bool minimum>
Values build_extremum(const Context& c) {
  const Reduced reduced(c);
  return c.one<nn::ExtremumOp>(reduced.x, reduced.all(c), c.flag("keepdim"), c.attributes().getBoolAttr(minimum));
}

template <bool minimum>
Values build_arg_extremum(const Context& c) {
  const Reduced reduced(c);
  mlir::Type positions = c.attributes().getI64Type();
  return {c.importer
              .make<nn::ArgExtremumOp>(c.loc, positions, 1u, reduced.x, c.attributes().getI64IntegerAttr(reduced.dims[0]),
                                       c.flag("keepdim"), c.attributes().getBoolAttr(minimum))
              ->getResult(0)};
}

Values build_var(const Context& c) {
  const Reduced reduced(c);
  return c.one<nn::VarOp>(reduced.x, reduced.all(c), c.flag("keepdim"), c.number("correction"));
}

/// An embedding, and the reduction of each row's results. The permutation, which changes nothing, requires the input to be
/// two-dimensional.
Values build_embedding_bag(const Context& c) {
  mlir::Value weight = c.parameter("weight");
  mlir::Type element = cast<mlir::TensorType>(weight.getType()).getElementType();
  auto made = [&]<typename Op>(auto... operands) { return c.importer.make<Op>(c.loc, element, 1u, operands...)->getResult(0); };
  mlir::Value found = made.operator()<nn::EmbeddingOp>(c.x(), weight, IntegerAttr());
  found = made.operator()<nn::PermuteOp>(found, c.attributes().getDenseI64ArrayAttr({0, 1, 2}));
  const std::string mode = c.argument("mode").get<std::string>();
  DenseI64ArrayAttr dims = c.attributes().getDenseI64ArrayAttr({1});
  BoolAttr no = c.attributes().getBoolAttr(false);
  if (mode == "max") return {made.operator()<nn::ExtremumOp>(found, dims, no, no)};
  if (mode == "sum") return {made.operator()<nn::SumOp>(found, dims, no)};
  return {made.operator()<nn::MeanOp>(found, dims, no)};
}

mlir::Value mapped(const Context& c, llvm::ArrayRef<mlir::Value> operands, const char* function,
                   llvm::ArrayRef<double> numbers = {}) {
  return c.one<nn::MapOp>(ValueRange(operands), c.attributes().getStringAttr(function),
                          c.attributes().getDenseF64ArrayAttr(numbers))[0];
}
mlir::Value summed(const Context& c, mlir::Value x, int64_t dim, bool keepdim) {
  return c.one<nn::SumOp>(x, c.attributes().getDenseI64ArrayAttr({dim}), c.attributes().getBoolAttr(keepdim))[0];
}

/// torch.nn.functional.pairwise_distance.
Values build_pairwise_distance(const Context& c) {
  const double p = c.argument("p").get<double>();
  mlir::Value difference = mapped(c, {mapped(c, {c.inputs[0], c.inputs[1]}, "sub")}, "add", {c.argument("eps").get<double>()});
  mlir::Value powers = mapped(c, {difference}, "power_of_size", {p});
  return {mapped(c, {summed(c, powers, -1, c.argument("keepdim").get<bool>())}, "norm_root", {p})};
}

/// torch.nn.functional.cosine_similarity: broadcasts both, then divides each vector by its length, which is at least eps.
Values build_cosine_similarity(const Context& c) {
  const int64_t dim = c.argument("dim").get<int64_t>();
  /// x itself, in the shape common to both.
  auto broadcast = [&](mlir::Value x, mlir::Value other) {
    return mapped(c, {mapped(c, {other, other}, "eq"), x, x}, "where");
  };
  auto direction = [&](mlir::Value x) {
    mlir::Value length = mapped(c, {summed(c, mapped(c, {x}, "power_of_size", {2}), dim, true)}, "norm_root", {2});
    length = mapped(c, {length}, "clamp", {c.argument("eps").get<double>(), std::numeric_limits<double>::infinity()});
    return c.one<nn::DivOp>(x, length)[0];
  };
  mlir::Value x = direction(broadcast(c.inputs[0], c.inputs[1])), y = direction(broadcast(c.inputs[1], c.inputs[0]));
  return {summed(c, c.one<nn::MulOp>(x, y)[0], dim, false)};
}

template <typename Op, typename... Args>
mlir::Value positions(const Context& c, Args... args) {
  return c.importer.make<Op>(c.loc, c.attributes().getI64Type(), 1u, c.x(), args...)->getResult(0);
}

/// The elements at `found`, with the gradient that goes with them, and `found`.
Values taken(const Context& c, mlir::Value found) {
  return {c.one<nn::GatherElementsOp>(found, c.x(), c.integer("dim"))[0], found};
}

template <bool minimum>
Values build_running_extremum(const Context& c) {
  return taken(c, positions<nn::ArgScanOp>(c, c.integer("dim"), c.attributes().getBoolAttr(minimum)));
}

Values build_arg_sort(const Context& c) { return {positions<nn::ArgSortOp>(c, c.integer("dim"), c.flag("descending"))}; }

Values build_top(const Context& c) {
  mlir::Value order = positions<nn::ArgSortOp>(c, c.integer("dim"), c.flag("largest"));
  mlir::Value first = c.importer
                          .make<nn::SliceOp>(c.loc, c.attributes().getI64Type(), 1u, order, c.integer("dim"),
                                             c.attributes().getI64IntegerAttr(0), c.integer("k"), IntegerAttr())
                          ->getResult(0);
  return taken(c, first);
}

template <char kind>
Values build_scan(const Context& c) {
  return c.one<nn::ScanOp>(c.x(), c.integer("dim"), c.attributes().getStringAttr(kind == 'p' ? "product" : "log_sum_exp"));
}

}  // namespace

Builders reduction_builders() {
  return {
      {"EmbeddingBag", build_embedding_bag},
      {"Sum", build_sum},
      {"PairwiseDistance", build_pairwise_distance},
      {"CosineSimilarity", build_cosine_similarity},
      {"AMax", build_extremum<false>},
      {"AMin", build_extremum<true>},
      {"Var", build_var},
      {"ArgMax", build_arg_extremum<false>},
      {"ArgMin", build_arg_extremum<true>},
      {"CumProd", build_scan<'p'>},
      {"LogCumSumExp", build_scan<'l'>},
      {"CumMax", build_running_extremum<false>},
      {"CumMin", build_running_extremum<true>},
      {"ArgSort", build_arg_sort},
      {"Sort", [](const Context& c) { return taken(c, build_arg_sort(c)[0]); }},
      {"TopK", build_top},
      {"CumSum", [](const Context& c) { return c.one<nn::CumSumOp>(c.x(), c.integer("dim"), UnitAttr()); }},
  };
}

}  // namespace sheaf::import
