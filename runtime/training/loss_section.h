// A plan's loss section, as far as the training loop needs it.
#pragma once

#include "runtime/plan/metric.h"
#include "runtime/plan/plan.h"
#include "runtime/training/element_loss.h"
#include "runtime/base/error.h"
#include "sheaf/metrics.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace sheaf {

struct LossSection {
  std::string type;               ///< "CrossEntropyLoss", …
  std::vector<LossInput> inputs;  ///< what it takes, in the order of torch's forward()
  bool sum = false;               ///< "reduction": "sum"
  bool by_batch = false;          ///< "batchmean": the mean is only over the first dimension
  int64_t ignore_index = -100;
  double label_smoothing = 0;
  std::vector<double> weight;      ///< by class; for binary cross entropy by entry of the last dimension, or one for all
  std::vector<double> pos_weight;  ///< likewise; empty if there is none
  /// Targets are class numbers: cross entropy or negative log likelihood with an integer target.
  bool classes = false;
  bool probabilities = false;           ///< or probabilities of the classes: cross entropy with a target of the output's shape
  int class_dim = 0;                    ///< the output's dimension of classes: 1, or 0 for a vector
  int64_t class_count = 0;              ///< if `classes` or `probabilities`, or the loss is of margins between classes
  bool sequences = false;               ///< CTCLoss: log probabilities, targets and the lengths of both
  std::array<int64_t, 2> longest = {};  ///< if `sequences`: the most steps and labels that a row has room for; 0 if unknown
  std::vector<Metric> metrics;          ///< what evaluation reports besides the loss, in the order of metric_rows()
  Json arguments;                       ///< PyTorch's, by name

  /// Its row if it is a loss of each element with its target; else null.
  const ElementLoss* element() const { return find_element_loss(type); }
  /// Targets are probabilities of yes: binary cross entropy, of either kind.
  bool binary() const { return element() && element()->targets == ElementLoss::yes_or_no; }
  bool asks_for(Metric metric) const { return std::ranges::find(metrics, metric) != metrics.end(); }
};

/// Reads the plan's training section. Its metrics are those that the model file selects; all_metrics() has the others. Errors,
/// located at the plan: it has none; a loss of something else than outputs of the model and data, or of none of its outputs.
Result<LossSection> loss_section(const Plan& plan);

/// All metrics that this loss allows.
std::vector<Metric> all_metrics(const LossSection& loss);

/// The member of a JSON object; null if it is missing, or this isn't an object.
const Json& member_of(const Json& object, const char* name);

/// The number in a member of a JSON object; `otherwise` if it is missing or no number.
double number_of(const Json& object, const char* name, double otherwise);

/// "SGD(lr=0.1, momentum=0.9)": an object of the training section with a "type" and arguments.
std::string call_text(const Json& object);

}  // namespace sheaf
