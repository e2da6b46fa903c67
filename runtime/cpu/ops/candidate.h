// The ways in which an operation can be computed on CPUs: one list per operation, with one choice (docs/cpu-choices.md).
#pragma once

#include "runtime/cpu/ops/operation.h"

#include <span>

namespace sheaf {

/// One way to compute an operation of shape `Shape`.
template <typename Shape>
struct Candidate {
  const char* name;  ///< in caches of measurements, so it must never change
  /// Whether it can compute the operation with this CPU's instructions and the allowed numerics.
  bool (*fits)(const Operation& operation, const Shape& shape);
  /// How long it takes, roughly, with the operands in its preferred layouts: only ratios matter. Adds the time of reorders
  /// if the present layout decides.
  double (*seconds)(const Operation& operation, const Shape& shape);
  Prepared (*prepare)(const Operation& operation, const Shape& shape);
};

/// Takes the one that the request's Choices name, if it is among `selection`'s candidates; else the one that takes the least
/// time by the cost model, the first of equals.
void take_candidate(const Operation& operation, Selection& selection);

/// For explain: the others' costs as multiples of the taken one's, or that none fits; "" unless the request asks for it and the model chose.
std::string alternatives(const Operation& operation, const Selection& selection);

/// The operation by one of `candidates`, at least one of which fits. Depends only on the request and the CPU's instructions.
template <typename Shape>
Prepared prepare_one_of(std::span<const Candidate<Shape>> candidates, const Operation& operation, const Shape& shape) {
  Selection selection;
  std::vector<const Candidate<Shape>*> fitting;
  for (const Candidate<Shape>& candidate : candidates) {
    if (!candidate.fits(operation, shape)) continue;
    fitting.push_back(&candidate);
    selection.candidates.push_back({candidate.name, candidate.seconds(operation, shape)});
  }
  require(!fitting.empty(), "no implementation takes these sizes");
  take_candidate(operation, selection);
  Prepared prepared = fitting[selection.taken]->prepare(operation, shape);
  prepared.reason += alternatives(operation, selection);
  prepared.selection = std::make_shared<const Selection>(std::move(selection));
  return prepared;
}

}  // namespace sheaf
