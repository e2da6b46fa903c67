// A plan: what the compiler makes of a model file. One plan serves every device list and batch size.
#pragma once

#include "runtime/base/error.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

struct Plan;

/// An immutable plan in memory. Copies are the same plan, and any threads may use them.
class SharedPlan {
 public:
  /// Reads and checks a file that `sheaf compile`, or write(), wrote. Errors, located in the file: it can't be read, isn't a
  /// plan, is damaged, or was written by a newer version.
  static Result<SharedPlan> load(const std::string& file);
  /// The same for a file's content; `name` replaces the file in messages.
  static Result<SharedPlan> parse(std::string_view text, const std::string& name = "plan");

  /// The model's name.
  const std::string& name() const;
  /// Its arithmetic: "f32", "bf16" or "f16".
  const std::string& precision() const;
  /// "data_parallel", "replicated", "sharded" or "fully_sharded": what each replica keeps in its training step.
  std::string strategy() const;
  /// "infer"; with a `training` section also "train", and "accumulate" and "update", a training step in micro-batches; with
  /// CompilerOptions::gradients also "forward" and "backward".
  std::vector<std::string> programs() const;
  /// The model's `training` section as JSON, with PyTorch's defaults filled in; empty if it has none.
  std::string training() const;

  /// The plan file's content. Equal plans give equal bytes.
  std::string text() const;
  /// Writes it, completely or not at all. Errors, located at the file: it can't be written.
  Result<void> write(const std::string& file) const;

  // sheaf's own: the plan as data.
  SharedPlan(Plan plan);
  operator const Plan&() const { return *plan_; }
  const Plan* operator->() const { return plan_.get(); }
  const Plan& operator*() const { return *plan_; }

 private:
  std::shared_ptr<const Plan> plan_;
};

}  // namespace sheaf
