// What the caches of a lane's cores still hold of an operation's operands.
#pragma once

#include "runtime/bind/bound_program.h"
#include "runtime/cost/cost.h"

#include <map>

namespace sheaf {

/// Follows a step's operations in their order. Data that a lane read or wrote counts as cached until the lane has touched as
/// many other bytes as its cache holds.
class Reuse {
 public:
  /// `step_bytes`: by lane, all bytes that the operations of a step touch. Steps follow one another, so data that the first
  /// operations read was last touched in the step before.
  Reuse(const BoundProgram& program, IdVector<LaneId, double> step_bytes)
      : program_(program), touched_(step_bytes), step_bytes_(std::move(step_bytes)) {}

  /// How many of the bytes in `cost` an instance moves from and to a cache of `cache` bytes. Afterwards its operands are the
  /// last that its lane touched.
  double cached_bytes(const Instance& instance, const Cost& cost, double cache);

 private:
  double age(TensorId root, LaneId lane) const;

  struct Touch {
    LaneId lane;
    double at = 0;  ///< of touched_
  };
  const BoundProgram& program_;
  IdVector<LaneId, double> touched_;  ///< so far, the step before included
  const IdVector<LaneId, double> step_bytes_;
  std::map<TensorId, Touch> last_;
};

}  // namespace sheaf
