// dist function → Plan::Program: values, places, movements. A StepSource decides what a compute op becomes: one step per layer
// for the logical program, library calls and kernels for the executable one.
#pragma once

#include "codegen/plan/layouts.h"
#include "ir/Analysis/ParameterAnalysis.h"
#include "ir/Analysis/ShapeAnalysis.h"
#include "runtime/plan/plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace sheaf::codegen {

class ProgramBuilder;

/// Makes the steps of one compute op (an nn op inside an apply or parallel_apply).
class StepSource {
 public:
  virtual ~StepSource() = default;
  /// Adds the op's steps to `program` and binds its results (ProgramBuilder::bind or new_value).
  virtual Result<void> add_steps(ProgramBuilder& program, mlir::Operation& op, const Place& place) = 0;
};

class ProgramBuilder {
 public:
  ProgramBuilder(mlir::func::FuncOp function, StepSource& source) : function_(function), source_(source) {}

  Result<Program> build();

  // For step sources:

  const ir::ShapeAnalysis& shapes() const { return shapes_; }
  int id(mlir::Value value) const { return ids_.find(value)->second; }
  const Value& value(int id) const { return program_.values[static_cast<size_t>(id)]; }
  /// `value` is another name for the plan's value `id`.
  void bind(mlir::Value value, int id) { ids_[value] = id; }
  /// A value of the program for an SSA value, named after the layer that makes it.
  int new_value(mlir::Value value, const Place& place);
  /// A value without an SSA value.
  int new_value(std::string name, DType dtype, std::vector<Extent> shape, const Place& place);
  /// A step at `op`: layer, fused layers, reason and `once` are filled in.
  Step step_for(mlir::Operation& op, const Place& place);
  void add(Step step);
  /// The operands' type, if a library sums `value` up in float32: a gradient of a weight, or its sum over replicas. Empty if it
  /// is something else, or the operands are float32 too.
  std::optional<DType> summed_from(int value) const;
  /// A kernel of the program that does the same as `kernel`, in the same place and with the same operands; null if there is
  /// none.
  const Step* find_same(const Step& kernel) const;

 private:
  void add_arguments();
  Result<void> visit(mlir::Operation& op);
  Result<void> visit_apply(mlir::Operation& op, const Place& place);
  void add_movement(mlir::Operation& op);
  /// The symbols that kernels need besides those of shapes: the starts of replicas' chunks.
  void add_offsets();
  Place place_of(mlir::Attribute layout) const;
  std::string unique(const std::string& name);

  mlir::func::FuncOp function_;
  StepSource& source_;
  ir::ShapeAnalysis shapes_;
  std::optional<LayoutAnalysis> layouts_;
  ir::KnownValues parameters_alone_;
  llvm::DenseSet<mlir::Value> gradients_;
  std::set<std::string> accumulators_;  ///< states that micro-batches add up
  Program program_;
  std::unordered_map<int, size_t> makers_;  ///< by value: its step
  llvm::DenseMap<mlir::Value, int> ids_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> last_numbers_;  ///< by name: the last number added to tell values apart
};

/// The regions of a dist module, in order.
std::vector<Region> regions_of(mlir::ModuleOp module);

/// The dtype of a tensor's elements.
DType dtype_of(mlir::Type element);

}  // namespace sheaf::codegen
