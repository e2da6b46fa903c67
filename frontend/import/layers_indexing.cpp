// Builders of layers that take, turn or look up parts of a tensor.
#include "frontend/import/layer_context.h"
#include "ir/Nn/Lengths.h"

using namespace mlir;

namespace sheaf::import {
namespace {

Values build_slice(const Context& c) {
  const bool to_length = c.argument("end").is_string();
  Values sliced = c.one<nn::StridedSliceOp>(c.x(), c.integer("dim"), c.integer("start"),
                                            to_length ? IntegerAttr() : c.optional_integer("end"), c.integer("step"));
  if (to_length)
    sliced[0].getDefiningOp()->setAttr(nn::kLength, c.attributes().getStringAttr(c.argument("end").get<std::string>()));
  return sliced;
}

/// As many parts as the model names.
Values build_split(const Context& c) {
  return c.several<nn::SplitOp>(static_cast<unsigned>(c.layer.values), c.x(), c.integers("split_size_or_sections"),
                                c.integer("dim"));
}

Values build_pad(const Context& c) {
  return c.one<nn::BorderOp>(c.x(), c.integers("pad"), c.attributes().getStringAttr(c.argument("mode").get<std::string>()),
                             c.number("value"));
}

/// A padding module: nn.border along the last dimensions.
template <size_t mode>
Values build_sides(const Context& c) {
  static constexpr const char* modes[] = {"constant", "reflect", "replicate", "circular"};
  const double value = c.layer.arguments.contains("value") ? c.argument("value").get<double>() : 0;
  return c.one<nn::BorderOp>(c.x(), c.integers("padding"), c.attributes().getStringAttr(modes[mode]),
                             c.attributes().getF64FloatAttr(value));
}

Values build_squeeze(const Context& c) {
  return c.one<nn::SqueezeOp>(c.x(), c.argument("dim").is_null() ? c.attributes().getDenseI64ArrayAttr({}) : c.integers("dim"));
}

/// The model file lists the table first, the kernel the index.
template <typename Op>
Values build_lookup(const Context& c) {
  return c.one<Op>(c.inputs[1], c.inputs[0], c.integer("dim"));
}

template <bool add>
Values build_scatter(const Context& c) {
  return c.one<nn::ScatterElementsOp>(c.inputs[1], c.x(), c.inputs[2], c.integer("dim"),
                                      add ? c.attributes().getUnitAttr() : UnitAttr(), c.attributes().getF64FloatAttr(0));
}

}  // namespace

Builders indexing_builders() {
  Builders rows = {
      {"Slice", build_slice},
      {"Split", build_split},
      {"Roll", [](const Context& c) { return c.one<nn::RollOp>(c.x(), c.integers("shifts"), c.integers("dims")); }},
      {"Flip", [](const Context& c) { return c.one<nn::FlipOp>(c.x(), c.integers("dims")); }},
      {"Pad", build_pad},
      {"Unsqueeze", [](const Context& c) { return c.one<nn::UnsqueezeOp>(c.x(), c.integer("dim")); }},
      {"Squeeze", build_squeeze},
      {"IndexSelect", build_lookup<nn::IndexSelectOp>},
      {"Gather", build_lookup<nn::GatherElementsOp>},
      {"Scatter", build_scatter<false>},
      {"ScatterAdd", build_scatter<true>},
  };
  for (const char* rank : {"1d", "2d", "3d"}) {
    for (const char* kind : {"ZeroPad", "ConstantPad"}) rows.emplace(std::string(kind) + rank, build_sides<0>);
    rows.emplace(std::string("ReflectionPad") + rank, build_sides<1>);
    rows.emplace(std::string("ReplicationPad") + rank, build_sides<2>);
    rows.emplace(std::string("CircularPad") + rank, build_sides<3>);
  }
  return rows;
}

}  // namespace sheaf::import
