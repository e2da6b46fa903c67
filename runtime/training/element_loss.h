// Losses of a single element and its target, on the host.
#pragma once

#include "runtime/plan/plan.h"

#include <span>
#include <string>

namespace sheaf {

/// The inputs of an element's loss besides x and its target. Missing arguments have PyTorch's defaults.
struct ElementLossArguments {
  const Json& named;      ///< the training section's
  double pos_weight = 1;  ///< the element's
  double number(const char* name, double otherwise) const;
  bool flag(const char* name, bool otherwise) const;
};

/// torch.nn's loss of the same name with reduction='none', in double precision.
struct ElementLoss {
  /// The kind of its targets: any numbers, shares of a whole from 0 to 1, or yes and no.
  enum Targets { numbers, shares, yes_or_no };

  std::string type;
  double (*of)(double x, double target, const ElementLossArguments& arguments);
  Targets targets = numbers;
  double yes_above = 0;  ///< of yes_or_no: an output above it means yes
};

/// The row of a loss; null if it doesn't compare each element with its own target.
const ElementLoss* find_element_loss(const std::string& type);

}  // namespace sheaf
