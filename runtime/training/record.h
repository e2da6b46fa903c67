// The reports of a training run: each step, each epoch, and a curve of all losses that stays small.
#pragma once

#include "runtime/plan/metric.h"
#include "sheaf/trainer.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sheaf {

struct StepRecord {
  int64_t step = 0;   ///< from 1, over all epochs
  int64_t epoch = 0;  ///< from 1
  int64_t rows = 0;
  double loss = 0;
  double lr = 0;
  double seconds = 0;                     ///< the step and its wait for data,
  double data_wait_seconds = 0;           ///< which is included
  std::optional<LossScale> loss_scale{};  ///< after the step, if the loss has one; of some steps only
};

/// The results of an evaluation: the selected metrics, and a loss if it has a mean.
struct Evaluation {
  std::optional<double> loss;
  std::vector<std::pair<Metric, double>> metrics;
  int64_t rows = 0;
  double seconds = 0;
};

struct EpochRecord {
  int64_t epoch = 0;             ///< from 1
  int64_t steps = 0;             ///< of this epoch
  bool complete = true;          ///< false: --steps ended the run within it
  double seconds = 0;            ///< of training, without evaluation
  double data_wait_seconds = 0;  ///< part of them: the wait for batches
  double train_loss = 0;         ///< mean over its rows, each measured in its step
  double lr = 0;                 ///< of its last step
  int64_t rows = 0;
  std::optional<Evaluation> evaluation;
  std::optional<LossScale> loss_scale;  ///< at its end, if the loss has one
};

/// The losses of all steps as at most 512 means over equally many steps each, whatever their number.
class LossCurve {
 public:
  static constexpr size_t kMostPoints = 512;

  void add(double loss) {
    sum_ += loss;
    if (++count_ < stride_) return;
    points_.push_back(sum_ / static_cast<double>(stride_));
    sum_ = 0;
    count_ = 0;
    if (points_.size() < kMostPoints) return;
    for (size_t i = 0; i < kMostPoints / 2; ++i) points_[i] = (points_[2 * i] + points_[2 * i + 1]) / 2;
    points_.resize(kMostPoints / 2);
    stride_ *= 2;
  }

  /// Point i is the mean of steps i * stride() + 1 … (i + 1) * stride().
  const std::vector<double>& points() const { return points_; }
  int64_t stride() const { return stride_; }

  // For checkpoints.
  double open_sum() const { return sum_; }
  int64_t open_count() const { return count_; }
  static LossCurve restored(std::vector<double> points, int64_t stride, double sum, int64_t count) {
    LossCurve curve;
    curve.points_ = std::move(points);
    curve.stride_ = stride;
    curve.sum_ = sum;
    curve.count_ = count;
    return curve;
  }

 private:
  std::vector<double> points_;
  int64_t stride_ = 1;
  double sum_ = 0;
  int64_t count_ = 0;
};

}  // namespace sheaf
