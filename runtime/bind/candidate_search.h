// The search among candidates: measures them, and finds the choice with which the program takes the least time.
#pragma once

#include "runtime/bind/choice_cache.h"
#include "runtime/bind/planned_binding.h"
#include "sheaf/tune.h"

namespace sheaf {

/// The candidates for an instance; null: there are none.
inline const Selection* selection_of(const Instance& instance) {
  const Selection* selection = instance.call() ? instance.call()->selection.get() : nullptr;
  return selection && selection->candidates.size() > 1 ? selection : nullptr;
}

/// Puts a choice into `cache` for each operation of `first` that it doesn't know (with Tune::full: for each), where `first` is
/// the program planned with the cache's choices and the cost model's. Errors: as plan_tuned().
Result<void> choose_candidates(const BindContext& context, Tune tune, const BoundProgram& first, ChoiceCache& cache);

}  // namespace sheaf
