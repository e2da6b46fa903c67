// The state of an import: values by name, parameters as function arguments.
#pragma once

#include "frontend/import/import.h"
#include "ir/Nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sheaf::import {

using frontend::Graph;
using frontend::Layer;

class Importer {
 public:
  Importer(const frontend::Model& model, mlir::MLIRContext& context, Purpose purpose)
      : model_(model), builder_(&context), purpose_(purpose) {}
  ImportedModel run();

  // For the layers' builders (layers.cpp):

  mlir::OpBuilder& builder() { return builder_; }
  /// Layers are in their training form.
  bool training() const { return purpose_ != Purpose::inference; }

  /// The function argument that holds a layer's parameter `own_name`; null if the layer has no such parameter.
  mlir::Value parameter(const Layer& layer, const std::string& own_name);

  /// The layer's place in the file, inside the checkpoints around it; ops created there are named `path`.
  mlir::Location location(const Layer& layer, llvm::StringRef path);

  /// Adds an op of one layer with unranked results of `element` type.
  template <typename Op, typename... Args>
  Op make(mlir::Location loc, mlir::Type element, unsigned results, Args&&... args) {
    llvm::SmallVector<mlir::Type> types(results, mlir::UnrankedTensorType::get(element));
    return builder_.create<Op>(loc, mlir::TypeRange(types), std::forward<Args>(args)...);
  }

 private:
  std::vector<mlir::Value> import_graph(const Graph& graph, std::vector<mlir::Value> inputs);
  std::vector<mlir::Value> import_layer(const Layer& layer, const std::vector<mlir::Value>& inputs);
  /// Imports a layer by its type, whether it is a checkpoint or not.
  std::vector<mlir::Value> import_type(const Layer& layer, const std::vector<mlir::Value>& inputs);
  std::vector<mlir::Value> import_data_parallel(const Layer& layer, const std::vector<mlir::Value>& inputs);
  std::vector<mlir::Value> declare_inputs(const std::vector<frontend::InputDecl>& inputs, llvm::StringRef role);
  /// States what each size of an input is, and makes its lengths the program's.
  void state_sizes(const frontend::InputDecl& input);
  /// The loss on the model's values and the targets.
  mlir::Value import_loss(const std::vector<mlir::Value>& inputs, const std::vector<mlir::Value>& outputs,
                          const std::vector<mlir::Value>& targets);
  void describe(llvm::StringRef role, llvm::StringRef name, bool constant = false);
  void declare_parameters(const Graph& graph);
  void declare_layer_parameters(const Layer& layer);
  void declare(Parameter parameter);
  Json initialisation(const Layer& layer, const std::string& own_name, const std::vector<int64_t>& shape) const;
  mlir::Type element_type(DType dtype);

  const frontend::Model& model_;
  mlir::OpBuilder builder_;
  Purpose purpose_;
  mlir::func::FuncOp function_;
  llvm::SmallVector<mlir::DictionaryAttr> argument_attributes_;
  std::vector<Parameter> parameters_;
  std::vector<Parameter> constants_;              ///< not yet declared
  std::map<std::string, mlir::Value> arguments_;  ///< by full parameter name, tied ones included
  int parallel_depth_ = 0;
  llvm::SmallVector<mlir::Attribute> checkpoints_;  ///< around the layer being imported, outermost first
};

/// Builds the op (or ops) of a layer that is not a container. Its results are the layer's values.
std::vector<mlir::Value> build_layer(Importer& importer, const Layer& layer, mlir::Location loc,
                                     const std::vector<mlir::Value>& inputs);

/// Whether build_layer knows a layer type.
bool has_builder(const std::string& type);

}  // namespace sheaf::import
