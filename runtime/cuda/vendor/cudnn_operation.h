// Steps that are one or more of cuDNN's plans, with the project's own kernels before and after them if cuDNN lacks something.
#pragma once

#include "runtime/cuda/vendor/cudnn.h"
#include "runtime/cuda/vendor/library.h"

#include <map>
#include <variant>

namespace sheaf::cuda {

struct StatisticsCall;  // runtime/cuda/vector_norm.h

/// Parts that are enqueued one after another.
class CudnnOperation final : public Operation, public CountsLaunches {
 public:
  struct Zeros {
    MemoryRef where;
    size_t bytes;
  };
  using Part = std::variant<CudnnCall, KernelCall, Zeros>;

  CudnnOperation(Driver& driver, int device, std::shared_ptr<OwnKernels> kernels, std::vector<Part> parts)
      : driver_(driver), device_(device), kernels_(std::move(kernels)), parts_(std::move(parts)) {
    operand_alignment = kOperandAlignment;
  }
  Result<void> enqueue(const Enqueue& at) override;
  int launches() const override { return static_cast<int>(parts_.size()); }

 private:
  Driver& driver_;
  int device_;
  std::shared_ptr<OwnKernels> kernels_;
  std::vector<Part> parts_;
};

/// Collects the parts of a step's operation, their scratch memory and their text for explain. While planning it only counts
/// them.
class CudnnBuilder {
 public:
  /// Throws OperationError if cuDNN is missing.
  CudnnBuilder(const StepOperands& operands, LibraryContext& context);

  const StepOperands& operands;
  Prepared prepared;  ///< all plain at first

  bool planning() const { return context_.planning(); }
  /// The project's own kernels. If this build has none: null while planning; else throws OperationError.
  OwnKernels* kernels();
  EngineChoice choice() const;

  MemoryRef input(std::string_view role) const;  ///< none if the step has no such operand
  MemoryRef output(size_t index = 0) const { return {int(operands.request.inputs.size() + index), 0}; }
  MemoryRef scratch(size_t bytes) { return take_scratch(prepared.scratch_bytes, bytes); }

  /// With the request's Choices the plan of the engine that they name for the graph, if it can be made; else of the heuristics' first.
  Result<std::shared_ptr<CudnnPlan>> plan(const CudnnGraph& graph, EngineChoice choice);
  /// `places`: by tensor of the graph that the plan was made from. Takes the plan's workspace from scratch.
  void add(const std::shared_ptr<CudnnPlan>& plan, const CudnnGraph& graph,
           const std::vector<std::pair<CudnnGraph::Id, MemoryRef>>& places);
  /// plan() and add(); throws OperationError if no engine takes the graph.
  void add(const CudnnGraph& graph, const std::vector<std::pair<CudnnGraph::Id, MemoryRef>>& places);
  void add(KernelCall call);
  void add_statistics(const StatisticsCall& call);
  void add_zeros(MemoryRef where, size_t bytes);
  /// A sentence for explain.
  void because(const std::string& reason);

  /// `prepared` with its executable.
  Prepared take();

 private:
  /// The candidates that the plan was chosen from, if there are several.
  void offer(const CudnnPlan& plan, const CudnnGraph& graph);

  LibraryContext& context_;
  std::map<const CudnnPlan*, std::string> keys_;  ///< of plans chosen by Choices
  std::vector<CudnnOperation::Part> parts_;
  int launches_ = 0;  ///< the number of parts, while planning too
  std::string engines_;
};

/// The gist of cuDNN's message, which names every engine it tried.
std::string gist_of(const Error& refusal);

}  // namespace sheaf::cuda
