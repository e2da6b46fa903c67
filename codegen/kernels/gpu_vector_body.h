// What a thread does with vectors of neighbouring elements.
#pragma once

#include "codegen/kernels/gpu_vectors.h"
#include "codegen/kernels/gpu_words.h"

#include "mlir/IR/IRMapping.h"

namespace sheaf::kernels {

/// Mappings of values, one for each element of a vector.
using Each = llvm::SmallVector<mlir::IRMapping>;

/// Emits operations for several vectors side by side: all that they read, then what is computed, then what is written.
class VectorBody {
 public:
  VectorBody(mlir::OpBuilder& builder, mlir::Location loc, const Vectors& vectors)
      : b_(builder), loc_(loc), access_(builder, loc), vectors_(vectors) {}

  /// Adds a vector: `each` maps the values from before `ops`, and gets those of `ops`. Its results are written only if `inside`
  /// holds, where given.
  void read(llvm::ArrayRef<mlir::Operation*> ops, Each& each, mlir::Value inside = {});
  /// Calls `done` as soon as a vector's element is computed.
  void compute(llvm::function_ref<void(size_t vector, size_t element)> done = {});
  void write();

 private:
  struct Part {
    Part(llvm::ArrayRef<mlir::Operation*> ops, Each& each, mlir::Value inside) : ops(ops), each(each), inside(inside) {}

    llvm::ArrayRef<mlir::Operation*> ops;
    Each& each;
    mlir::Value inside;
    llvm::DenseMap<mlir::Operation*, Words> loaded;
    llvm::DenseMap<mlir::Operation*, llvm::SmallVector<mlir::Value>> stored;  ///< by element
  };

  void clone(mlir::Operation& op, mlir::IRMapping& map);
  void compute_element(Part& part, size_t element);
  mlir::Value index(int64_t value);

  mlir::OpBuilder& b_;
  mlir::Location loc_;
  VectorAccess access_;
  const Vectors& vectors_;
  llvm::SmallVector<Part> parts_;
};

}  // namespace sheaf::kernels
