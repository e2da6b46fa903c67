#include "tools/estimate/reuse.h"

#include <algorithm>
#include <limits>

namespace sheaf {

double Reuse::age(TensorId root, LaneId lane) const {
  const auto last = last_.find(root);
  if (last == last_.end()) return step_bytes_[lane];
  return last->second.lane == lane ? touched_[lane] - last->second.at : std::numeric_limits<double>::infinity();
}

double Reuse::cached_bytes(const Instance& instance, const Cost& cost, double cache) {
  const LaneId lane = instance.lane;
  double read = 0, cached = 0;
  for (TensorId input : instance.inputs) {
    const auto bytes = double(program_.tensors[input].spec.bytes);
    read += bytes;
    if (age(program_.root(input).tensor, lane) <= cache) cached += bytes;
  }
  touched_[lane] += cost.bytes();
  for (const auto* operands : {&instance.inputs, &instance.outputs})
    for (TensorId operand : *operands) last_.insert_or_assign(program_.root(operand).tensor, Touch{lane, touched_[lane]});
  // Results lie where other values were until they died, so their place is in the cache if the whole operation is.
  const double share = read > 0 ? cached / read : 0;
  return share * cost.read_bytes + (cost.bytes() <= cache ? cost.written_bytes : 0);
}

}  // namespace sheaf
