// Converts MLIR's diagnostics to sheaf's.
#pragma once

#include "frontend/model.h"

#include "mlir/IR/Diagnostics.h"

#include <string>
#include <vector>

namespace sheaf {

/// While it exists, collects MLIR's diagnostics: located in the model file, naming the layer.
class Collector {
 public:
  Collector(mlir::MLIRContext& context, const frontend::Model& model, std::vector<sheaf::Diagnostic>* warnings)
      : model_(model),
        warnings_(warnings),
        handler_(&context, [this](mlir::Diagnostic& diagnostic) { return take(diagnostic); }) {}

  void take_no_warnings() { warnings_ = nullptr; }

  Error error(std::string otherwise) {
    if (error_.diagnostics.empty()) error_.add(std::move(otherwise));
    return std::move(error_);
  }

 private:
  llvm::LogicalResult take(mlir::Diagnostic& diagnostic);
  std::string line(int number) const;

  const frontend::Model& model_;
  std::vector<sheaf::Diagnostic>* warnings_;
  Error error_;
  mlir::ScopedDiagnosticHandler handler_;
};

}  // namespace sheaf
