// Vectors of neighbouring elements in a GPU's memory, as the words that a thread has of them.
#pragma once

#include "mlir/IR/Builders.h"

namespace sheaf::kernels {

/// 32 bits each (8 bytes each of 64-bit elements).
using Words = llvm::SmallVector<mlir::Value>;

class VectorAccess {
 public:
  VectorAccess(mlir::OpBuilder& builder, mlir::Location loc) : b_(builder), loc_(loc) {}

  /// `width` elements of `type` from number `element` of a kernel's buffer on, where a vector begins: by 16 bytes at a time, or all at once if they are
  /// fewer.
  Words load(mlir::Value memref, mlir::Value element, mlir::Type type, int64_t width);
  static constexpr int64_t bytes = 16;  ///< of an access, at most
  mlir::Value element_of(const Words& words, mlir::Type type, size_t element);
  /// `width` elements of these bits.
  Words words_of(const llvm::APInt& bits, int64_t width);
  /// Stores what `load()` gives, likewise.
  void store(mlir::Value memref, mlir::Value element, mlir::Type type, const Words& words);
  /// The same of the elements' values.
  void store_elements(mlir::Value memref, mlir::Value element, mlir::Type type, llvm::ArrayRef<mlir::Value> values);

 private:
  mlir::Value index(int64_t value);
  mlir::Value word(int64_t value);
  mlir::Value address(mlir::Value memref, mlir::Value element, int64_t element_bytes, int64_t offset);

  mlir::OpBuilder& b_;
  mlir::Location loc_;
};

}  // namespace sheaf::kernels
