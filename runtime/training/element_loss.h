// Losses that are sums over elements or vectors, on the host.
#pragma once

#include "runtime/plan/plan.h"

#include <span>
#include <string>

namespace sheaf {

/// What an element's loss uses besides its inputs. Missing arguments have PyTorch's defaults.
struct ElementLossArguments {
  const Json& named;                        ///< the training section's
  double pos_weight = 1;                    ///< the element's
  std::span<const double> class_weights{};  ///< of a loss of classes, which applies them itself; empty if it has none
  double number(const char* name, double otherwise) const;
  bool flag(const char* name, bool otherwise) const;
};

/// torch.nn's loss of the same name with reduction='none', in double precision.
struct ElementLoss {
  /// The kind of its targets: any numbers, shares of a whole from 0 to 1, yes and no, the number of a class, or several of them
  /// up to the first negative one.
  enum Targets { numbers, shares, yes_or_no, class_number, class_numbers };

  /// What one number of the loss is of: of each input its element, or the vector along the last dimension.
  using Inputs = std::span<const std::span<const double>>;

  std::string type;
  double (*of)(Inputs inputs, const ElementLossArguments& arguments);
  size_t inputs = 2;  ///< as many as torch's forward() takes, in its order
  bool vectors = false;
  Targets targets = numbers;
  double yes_above = 0;  ///< of yes_or_no: an output above it means yes

  /// Targets are classes of the scores in the first input.
  bool of_classes() const { return targets == class_number || targets == class_numbers; }
};

/// The row of a loss; null of one of classes.
const ElementLoss* find_element_loss(const std::string& type);

}  // namespace sheaf
