// Kernels whose threads access memory by vectors of neighbouring elements.
#pragma once

#include "codegen/kernels/gpu_schedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace sheaf::kernels {

/// The work of a kernel's loop for `width` neighbouring items, or of the loops within an item for `width` neighbouring
/// iterations; the first is at a multiple of `width`.
class Vectors {
 public:
  enum class Along {
    items,       ///< elements, or with columns: sums of neighbours
    iterations,  ///< of each loop that an item's lanes share
  };
  /// How the values of neighbours differ.
  enum class Place {
    same,  ///< not at all
    next,  ///< each is the one before plus 1, and the first a multiple of the width
    any,
  };

  /// The widest vectors for this kernel's loop with accesses of at most 16 bytes for the narrowest type; nothing if a store, or
  /// the loads that go along with it, don't access neighbours.
  static std::optional<Vectors> widest(mlir::scf::ParallelOp loop, const GpuSchedule& schedule);

  int width() const { return width_; }
  Along along() const { return along_; }
  /// Bytes that one vector reads in a loop's body.
  int64_t bytes_read(mlir::Block& body) const { return bytes_read_.lookup(&body); }

  Place place(mlir::Value value) const;
  /// Whether it is a load or store of a whole vector.
  bool whole(mlir::Operation& op) const;
  /// Whether it divides an index by a number that isn't larger than the range: in 32 bits if the range fits into them.
  bool divides(mlir::Operation& op) const { return divisions_.contains(&op); }
  /// The divisors known only at run time; nothing if nothing is divided.
  std::optional<llvm::SmallVector<mlir::Value>> divisors() const;

 private:
  Vectors(mlir::scf::ParallelOp loop, const GpuSchedule& schedule, int width);
  /// Whether a value that is the same for all neighbours is a multiple of the width.
  bool multiple(mlir::Value value) const;
  Place result_of(mlir::Operation& op) const;
  bool divides_index(mlir::Operation& op) const;
  /// Whether the body of a loop can be done by vectors.
  bool body(mlir::Block& block);
  bool nested(mlir::scf::ParallelOp loop);
  bool around(mlir::Block& block);
  bool access(mlir::Operation& op, mlir::Block& block, bool& scattered);

  Along along_;
  bool columns_;
  int width_;
  bool possible_ = false, stores_ = false;
  int64_t narrowest_ = 0;
  llvm::DenseMap<mlir::Block*, int64_t> bytes_read_;
  llvm::DenseMap<mlir::Value, Place> places_;
  llvm::SmallPtrSet<mlir::Value, 8> indices_;  ///< no larger than the range
  llvm::SmallPtrSet<mlir::Operation*, 8> divisions_;
};

}  // namespace sheaf::kernels
