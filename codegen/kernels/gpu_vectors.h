// Kernels over elements whose threads access memory by vectors of neighbouring elements.
#pragma once

#include "codegen/kernels/gpu_lanes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include <optional>

namespace sheaf::kernels {

/// The work of a kernel's loop over elements for `width` neighbouring ones, the first of which is at a multiple of `width`.
class Vectors {
 public:
  /// How the values of neighbouring iterations differ.
  enum class Place {
    same,  ///< not at all
    next,  ///< each is the one before plus 1, and the first a multiple of the width
    any,
  };

  /// The widest vectors for this loop, of which an access takes at most 16 bytes for the narrowest type; nothing if a store, or
  /// the loads that go along with it, aren't of neighbours.
  static std::optional<Vectors> widest(mlir::scf::ParallelOp loop);
  Vectors(mlir::scf::ParallelOp loop, int width);

  int width() const { return width_; }
  /// Whether the loop can be done by such vectors.
  bool possible() const { return possible_; }
  /// Bytes that one of them reads.
  int64_t bytes_read() const { return bytes_read_; }

  Place place(mlir::Value value) const;
  /// Whether it is a load or store of a whole vector.
  bool whole(mlir::Operation& op) const;
  /// A division of an index by what isn't larger than the range: in 32 bits where the range has no more.
  bool divides(mlir::Operation& op) const { return divisions_.contains(&op); }
  /// The divisors that only a run knows; nothing if nothing is divided.
  std::optional<llvm::SmallVector<mlir::Value>> divisors() const;

 private:
  /// Whether a value that is the same in all iterations is a multiple of the width.
  bool multiple(mlir::Value value) const;
  Place result_of(mlir::Operation& op) const;
  bool check();

  mlir::scf::ParallelOp loop_;
  int width_;
  bool possible_ = false;
  int64_t bytes_read_ = 0, narrowest_ = 0;
  llvm::DenseMap<mlir::Value, Place> places_;
  llvm::SmallPtrSet<mlir::Operation*, 8> divisions_;
};

/// Emits vectors of a loop side by side: all that they read, then what is computed, then what is written.
class VectorBody {
 public:
  /// `map`: what the values from outside of the loop are here.
  VectorBody(mlir::OpBuilder& builder, mlir::scf::ParallelOp loop, const Vectors& vectors, const mlir::IRMapping& map);

  /// The vector that begins at element `base`, a multiple of the width; what it computes is written only if `inside`, where given.
  void read(mlir::Value base, mlir::Value inside);
  void compute_and_write();

 private:
  using Words = llvm::SmallVector<mlir::Value>;  ///< 32 bits each (8 bytes each of 64-bit elements)
  struct Part {
    mlir::IRMapping map;
    mlir::Value inside;
    llvm::DenseMap<mlir::Operation*, Words> loaded;
    llvm::DenseMap<mlir::Operation*, llvm::SmallVector<mlir::Value>> stored;  ///< by element
  };

  void clone(mlir::Operation& op, mlir::IRMapping& map);
  void compute(Part& part, int element);
  mlir::Value index(int64_t value);
  mlir::Value word(int64_t value);
  mlir::Value address(mlir::Value memref, mlir::Value element, int64_t element_bytes, int64_t offset);
  Words load(mlir::Value memref, mlir::Value element, mlir::Type type);
  mlir::Value element_of(const Words& words, mlir::Type type, int element);
  void store(mlir::Value memref, mlir::Value element, mlir::Type type, llvm::ArrayRef<mlir::Value> values);

  mlir::OpBuilder& b_;
  mlir::Location loc_;
  mlir::scf::ParallelOp loop_;
  const Vectors& vectors_;
  const mlir::IRMapping& outside_;
  llvm::SmallVector<Part> parts_;
};

}  // namespace sheaf::kernels
