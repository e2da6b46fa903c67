// What evaluation reports about a model besides its loss: "metrics" of a model file's training section.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace sheaf {

enum class Metric { accuracy, top5_accuracy, f1, perplexity, mean_absolute_error };

struct MetricRow {
  Metric metric;
  std::string name;                 ///< in model files, reports and metrics files ("eval_" before it)
  std::vector<std::string> losses;  ///< the losses whose targets it can be computed from
  bool share;                       ///< a number from 0 to 1; more is better
  std::string meaning;              ///< one line for people
};

/// In the order in which they are shown.
std::span<const MetricRow> metric_rows();
const MetricRow& row_of(Metric metric);

}  // namespace sheaf
