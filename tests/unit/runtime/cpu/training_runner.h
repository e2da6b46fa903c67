// Binds and runs the steps of a training pass, whose operands keep the formats in which they were made.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "tests/unit/runtime/cpu/guarded_buffer.h"
#include "tests/unit/runtime/cpu/step_runner.h"

namespace sheaf::test {

/// A value as a step made it, or as it was given.
struct Stored {
  TensorSpec spec;
  std::shared_ptr<Buffer> bytes;
};

/// `tensor` in plain layout; or in channel blocks of 16 ("16c") or channels last ("last"), if its rank has them.
Stored store(const Tensor& tensor, const std::string& layout = "plain");
/// Back in plain layout.
Tensor plain(const Stored& value);

struct TrainingStep {
  Op op;
  std::vector<std::pair<std::string, Stored>> operands;
  Json attributes = Json::object();
  std::vector<std::vector<int64_t>> outputs;
  int workspace = -1;  ///< which output is one
  int threads = 1;
  bool fast = false;
  bool in_place = false;  ///< let operands be where results go, if the operation allows it
  /// What prepares the operation: the library, unless a test wants one implementation of several.
  std::function<Result<Prepared>(const PrepareRequest&)> prepare;
};

/// The step `c`, whose operands are stored in the layouts that `layout` gives, in turn.
TrainingStep step_of(const StepCase& c, const std::function<std::string()>& layout = [] { return "plain"; });

struct TrainingRun {
  std::vector<Stored> outputs;
  std::string implementation;
  std::vector<TensorSpec> wanted;  ///< inputs as the operation asked for them
};

/// Two runs from fresh buffers at other addresses; fails if their bits differ.
Result<TrainingRun> run_training(const TrainingStep& step);

}  // namespace sheaf::test
