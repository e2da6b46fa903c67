// Many operations over elements as one launch (Device::merge): an optimiser's updates of all parameters, gradients that become f32.
#pragma once

#include "runtime/cuda/backend_state.h"
#include "runtime/cuda/operation.h"

#include <memory>
#include <optional>
#include <span>

namespace sheaf::cuda {

/// What one launch of K_many(table, count, guard) does for an operation, by a row of the table.
struct ManyLaunch {
  Function entry = nullptr;
  std::shared_ptr<const void> keeps;  ///< without which the entry is gone
  size_t buffers = 0;                 ///< inputs, then outputs
  int64_t work = 0;
  int items = 1;  ///< of the work, that a block does at a time
  unsigned threads = 1;
};

/// An operation of which one launch may do several.
class Mergeable {
 public:
  virtual ~Mergeable() = default;
  /// Empty: this one stays by itself. Those of the same entry go together.
  virtual std::optional<ManyLaunch> many() const = 0;
};

/// One launch for all of `parts`, if they have the same entry; null if they haven't, or there is too little memory for the table of
/// their operands.
std::unique_ptr<Operation> merge_launches(const std::shared_ptr<BackendState>& state, int device,
                                          std::span<Executable* const> parts);

}  // namespace sheaf::cuda
