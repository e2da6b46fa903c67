// The epoch whose evaluation was the best so far: what a run keeps, and when it ends early.
#pragma once

#include "runtime/training/record.h"

#include <optional>
#include <string>

namespace sheaf {

struct BestEpoch {
  std::string by = "loss";  ///< the criterion: a metric's name, or the loss
  int64_t epoch = 0;        ///< from 1; 0: none has been evaluated
  double value = 0;         ///< of that epoch

  /// The value of `by`, which is "loss" or a metric's name, in `found`; none: it has none.
  static std::optional<double> value_of(const Evaluation& found, const std::string& by) {
    if (by == "loss") return found.loss;
    for (const auto& [metric, value] : found.metrics)
      if (row_of(metric).name == by) return value;
    return std::nullopt;
  }

  /// Takes the evaluation of an epoch; true if it is better than all before. Shares are better when larger, everything else
  /// when smaller; NaN is never better.
  bool take(int64_t of_epoch, const Evaluation& found) {
    const auto now = value_of(found, by);
    if (!now || *now != *now) return false;
    bool larger = false;
    for (const MetricRow& row : metric_rows()) larger |= row.name == by && row.share;
    if (epoch > 0 && (larger ? *now <= value : *now >= value)) return false;
    epoch = of_epoch;
    value = *now;
    return true;
  }
};

}  // namespace sheaf
