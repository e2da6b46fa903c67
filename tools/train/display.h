// A training run's progress on stderr: a bar on a terminal, and one line for each epoch.
#pragma once

#include "runtime/training/record.h"

#include <chrono>
#include <cstdio>
#include <string>

namespace sheaf {

/// The length of a run.
struct RunLength {
  int64_t epochs = 0;  ///< including the current one
  int64_t steps = 0;
  int64_t steps_per_epoch = 1;
};

/// "12,345"
std::string with_thousands(int64_t number);
/// "0:07", "12:34", "1:02:03"
std::string clock_text(double seconds);

/// "top5 accuracy 0.9124"
std::string metric_text(Metric metric, double value);
/// "eval accuracy 0.9176, eval loss 0.2513"; with an empty `prefix` without "eval ".
std::string evaluation_text(const Evaluation& found, const std::string& prefix = "eval ");

/// "1.2% waiting for data": the share of the steps' time that they waited.
std::string wait_text(double waited, double seconds);

/// "epoch 3/10  train loss 0.4312  eval loss 0.2513  eval accuracy 0.9124  5,432 samples/s  11 s, 0.0% waiting for data"
std::string epoch_line(const EpochRecord& record, int64_t epochs);

/// `waiting`: the share of the time that steps waited for data.
/// "epoch 3/10 [=====>    ] 120/235  loss 0.4312  5,432 samples/s  0% wait  0:12 left", at most `width` columns.
std::string bar_line(const RunLength& length, const StepRecord& record, double samples_per_second, double waiting,
                     double seconds_left, int width);

class Display {
 public:
  /// `to` is stderr or a test's file; a bar is drawn if it is a terminal.
  Display(std::FILE* to, const RunLength& length);
  void step(const StepRecord& record);
  void epoch(const EpochRecord& record);
  /// Prints a separate line above the bar.
  void say(const std::string& line);
  /// Removes the bar.
  void clear();

 private:
  std::FILE* to_;
  bool terminal_;
  RunLength length_;
  bool bar_shown_ = false;
  int64_t steps_ = 0;       ///< that this process has done
  double seconds_ = 0;      ///< of these steps
  double waited_ = 0;       ///< the part of it spent waiting for data
  double recent_rate_ = 0;  ///< samples a second, smoothed
  std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace sheaf
