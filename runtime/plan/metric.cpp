#include "runtime/plan/metric.h"

#include <algorithm>

namespace sheaf {

std::span<const MetricRow> metric_rows() {
  static const std::vector<std::string> classes = {"CrossEntropyLoss", "NLLLoss"},
                                        yes_or_no = {"CrossEntropyLoss", "NLLLoss", "BCELoss", "BCEWithLogitsLoss"},
                                        numbers = {"MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"};
  static const std::vector<MetricRow> rows = {
      {Metric::accuracy, "accuracy", yes_or_no, true,
       "share of the targets that are the class of the largest output, or on its side of the threshold"},
      {Metric::top5_accuracy, "top5_accuracy", classes, true, "share of the targets that are among the five largest outputs"},
      {Metric::f1, "f1", yes_or_no, true,
       "F1 score: the mean over the classes that occur, as scikit-learn's \"macro\"; of yes or no that of yes"},
      {Metric::perplexity, "perplexity", classes, false, "e to the power of the mean loss"},
      {Metric::mean_absolute_error, "mean_absolute_error", numbers, false, "mean of |output - target|"},
  };
  return rows;
}

const MetricRow& row_of(Metric metric) { return *std::ranges::find(metric_rows(), metric, &MetricRow::metric); }

}  // namespace sheaf
