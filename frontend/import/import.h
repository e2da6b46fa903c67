// Model file → nn dialect.
#pragma once

#include "frontend/model.h"
#include "runtime/plan/plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sheaf {

/// What a model is imported for: its outputs, a step of its training, or its outputs with layers in their training form.
enum class Purpose { inference, training, training_outputs };

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp>
      module;                         ///< func @infer, @train or @forward: arguments are inputs, targets, then parameters
  std::vector<Parameter> parameters;  ///< every parameter and buffer, in the order of the layers
};

/// Builds a program of a checked model, one nn op per layer; for a step of training (of a model with such a section) also the
/// loss, which is then the only result. Result types are unranked: shape inference (passes/nn/InferShapes.cpp) sets them, and
/// reports the errors that come with it. An op's location is its layer's dotted name, then its place in the model file.
ImportedModel import_model(const frontend::Model& model, mlir::MLIRContext& context, Purpose purpose = Purpose::inference);

/// PyTorch's default initial distribution of a layer's parameter, as Parameter::init (runtime/plan/plan.h).
/// `own_name` is "weight", "bias_ih_l0", …
Json default_initialisation(const frontend::Layer& layer, const std::string& own_name, const std::vector<int64_t>& shape);

/// An `init` rule's distribution, made definite for a shape: xavier and kaiming become uniform or normal. Definitions:
/// torch.nn.init.
Json definite_distribution(const Json& distribution, const std::vector<int64_t>& shape);

}  // namespace sheaf
