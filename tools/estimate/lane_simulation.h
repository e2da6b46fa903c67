// A device of a cluster over time: what it computes, in order, and what it sends meanwhile, in an order of its own.
#pragma once

#include "tools/estimate/collectives.h"

#include <vector>

namespace sheaf {

/// A transfer, which all devices do together, after all transfers before it.
struct Transfer {
  CollectiveCost cost;
  int after = -1;  ///< it begins once this operation is done; -1: at once
  int before = 0;  ///< this operation waits for it; if it is the number of operations, only the end of the step does
};

struct Simulated {
  double seconds = 0;          ///< until everything is done
  std::vector<int> begun;      ///< by transfer: the operation during which it began
  std::vector<int> completed;  ///< and during which it ended
};

/// `operations`: their seconds, with nothing else going on. While a transfer that occupies a share of the device is under way,
/// operations get the rest. `transfers` come in a feasible order: ascending by `after`.
Simulated simulate(const std::vector<double>& operations, const std::vector<Transfer>& transfers);

}  // namespace sheaf
