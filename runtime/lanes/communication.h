// Data that crosses between lanes in a run.
#pragma once

#include "runtime/plan/op.h"

#include <cstddef>
#include <string>

namespace sheaf {

/// Data that one operation makes and another lane uses, or that comes from the caller or goes to it. Data in shared
/// memory that no operation makes, such as parameters, doesn't count.
struct Communication {
  /// The step's; share if no step of the plan moves it; broadcast, gather, sum of a bucket, among devices.
  Op op{};
  std::string layer;  ///< of the step; empty: of a bucket
  int producer = -1;  ///< in BindingInfo::operations; -1: the caller's input
  int consumer = -1;  ///< likewise; -1: the caller's output
  size_t bytes = 0;   ///< as the consumer's lane uses them
};

}  // namespace sheaf
