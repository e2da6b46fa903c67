// `--metrics FILE.jsonl`: one JSON object per line for each step and each epoch, written while training goes on.
#pragma once

#include "runtime/base/descriptor.h"
#include "runtime/base/error.h"
#include "runtime/training/record.h"

#include <chrono>
#include <string>

namespace sheaf {

/// {"step": 1, "epoch": 1, "loss": 2.3, "lr": 0.1, "samples_per_s": 5000.0}, without the newline. A loss that isn't
/// finite is null.
std::string metrics_line(const StepRecord& record);
/// {"epoch": 1, "seconds": 12.5, "train_loss": 0.7, "eval_accuracy": 0.81, …}.
std::string metrics_line(const EpochRecord& record);

class MetricsFile {
 public:
  /// Starts FILE anew or, for a run that resumes after `step` steps and `epochs` whole epochs, keeps its lines up to there.
  /// Error, located at the file: it can't be written.
  static Result<MetricsFile> open(const std::string& file, int64_t step, int64_t epochs);
  MetricsFile(MetricsFile&& other) = default;
  MetricsFile& operator=(MetricsFile&&) = delete;
  /// Writes the rest. To see errors, call flush() before.
  ~MetricsFile();

  /// Adds a line. Whole lines reach the file at least twice a second.
  Result<void> add(const std::string& line);
  Result<void> flush();
  /// Also puts them on the disk: a checkpoint saved afterwards relies on them.
  Result<void> sync();

 private:
  MetricsFile(std::string file, Descriptor descriptor) : file_(std::move(file)), descriptor_(std::move(descriptor)) {}
  void remove_part(size_t written);
  std::string file_, waiting_;
  Descriptor descriptor_;
  std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
};

}  // namespace sheaf
