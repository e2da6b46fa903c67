// Sums from which an evaluation's metrics are computed.
#pragma once

#include "runtime/data/convert.h"
#include "runtime/training/loss_section.h"
#include "sheaf/tensor.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace sheaf {

/// The classes' scores at one position, `stride` elements apart.
struct Scores {
  const HostTensor& tensor;
  size_t first, stride, classes;
  double at(size_t c) const { return number_at(tensor, first + c * stride); }

  /// As torch.argmax: the first of equal ones; a NaN counts as the largest.
  size_t largest() const {
    size_t best = 0;
    for (size_t c = 1; c < classes && !std::isnan(at(best)); ++c) {
      if (at(c) > at(best) || std::isnan(at(c))) best = c;
    }
    return best;
  }
};

class MetricSums {
 public:
  /// Adds a target of class `wanted` and the scores for it.
  void add_class(const LossSection& loss, const Scores& scores, size_t wanted);
  void add_yes_or_no(const LossSection& loss, bool told, bool wanted);
  void add_number(double output, double target);

  /// The metrics in `loss.metrics`, as far as anything was added; `mean_loss` is over the same targets.
  std::vector<std::pair<Metric, double>> results(const LossSection& loss, double mean_loss) const;

 private:
  /// For one class: how often it was rightly predicted, how often it was predicted, and how often it was the target.
  struct Counts {
    int64_t right = 0, told = 0, wanted = 0;
    double f1() const { return 2 * static_cast<double>(right) / static_cast<double>(told + wanted); }
  };
  void count(size_t told, size_t wanted);
  double f1(const LossSection& loss) const;

  std::vector<Counts> classes_;
  int64_t correct_ = 0, in_top5_ = 0, counted_ = 0;
  double absolute_error_ = 0;
};

}  // namespace sheaf
