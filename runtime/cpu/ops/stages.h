// Operations that are several pieces of work, one after another.
#pragma once

#include "runtime/device/operation.h"
#include "runtime/machine/thread_pool.h"

#include <utility>
#include <variant>
#include <vector>

namespace sheaf {

/// Runs its stages in order on a team of `threads`; `Stage` is a variant of types with run(buffers, scratch).
template <typename Stage>
class StagedExecutable final : public Executable {
 public:
  StagedExecutable(std::vector<Stage> stages, int threads) : stages_(std::move(stages)), threads_(threads) {}
  void run(void* const* buffers, void* scratch) override {
    set_team_size(threads_);
    for (Stage& stage : stages_) std::visit([&](auto& work) { work.run(buffers, scratch); }, stage);
  }

 private:
  std::vector<Stage> stages_;
  int threads_;
};

}  // namespace sheaf
