// The context in which builders of layers (layers.cpp, layers_*.cpp) work.
#pragma once

#include "frontend/import/importer.h"

#include <unordered_map>

namespace sheaf::import {

/// A builder's view of its layer.
struct Context {
  Importer& importer;
  const Layer& layer;
  mlir::Location loc;
  const std::vector<mlir::Value>& inputs;

  mlir::Value x() const { return inputs[0]; }
  mlir::Type element() const { return mlir::cast<mlir::TensorType>(x().getType()).getElementType(); }
  mlir::Value parameter(const std::string& name) const { return importer.parameter(layer, name); }
  mlir::Builder& attributes() const { return importer.builder(); }

  const Json& argument(const char* name) const { return layer.arguments[name]; }
  mlir::IntegerAttr integer(const char* name) const { return attributes().getI64IntegerAttr(argument(name).get<int64_t>()); }
  mlir::FloatAttr number(const char* name) const { return attributes().getF64FloatAttr(argument(name).get<double>()); }
  mlir::BoolAttr flag(const char* name) const { return attributes().getBoolAttr(argument(name).get<bool>()); }
  /// Sets the attribute if a flag is true.
  mlir::UnitAttr unit(const char* name) const {
    return argument(name).get<bool>() ? attributes().getUnitAttr() : mlir::UnitAttr();
  }
  /// Leaves out null entries.
  mlir::FloatAttr optional_number(const char* name) const {
    return argument(name).is_null() ? mlir::FloatAttr() : number(name);
  }
  mlir::IntegerAttr optional_integer(const char* name) const {
    return argument(name).is_null() ? mlir::IntegerAttr() : integer(name);
  }
  std::vector<int64_t> list(const char* name) const {
    const Json& value = argument(name);
    return value.is_array() ? value.get<std::vector<int64_t>>() : std::vector<int64_t>{value.get<int64_t>()};
  }
  mlir::DenseI64ArrayAttr integers(const char* name) const { return attributes().getDenseI64ArrayAttr(list(name)); }

  /// The single result of an op with x's element type.
  template <typename Op, typename... Args>
  std::vector<mlir::Value> one(Args&&... args) const {
    return {importer.make<Op>(loc, element(), 1u, std::forward<Args>(args)...)->getResult(0)};
  }
  template <typename Op, typename... Args>
  std::vector<mlir::Value> several(unsigned results, Args&&... args) const {
    auto op = importer.make<Op>(loc, element(), results, std::forward<Args>(args)...);
    return std::vector<mlir::Value>(op->result_begin(), op->result_end());
  }
};

using Values = std::vector<mlir::Value>;
using Build = Values (*)(const Context&);
using Builders = std::unordered_map<std::string, Build>;

/// A layer whose row names a function of ir/ElementFunctions.cpp: its numbers are the layer's arguments in their order; a null
/// argument is an input.
Values build_function(const Context& c);
bool is_function(const std::string& type);

// Builders by layer type, one family per file.
Builders elementwise_builders();
Builders indexing_builders();
Builders recurrent_builders();
Builders reduction_builders();
Builders spatial_builders();

}  // namespace sheaf::import
