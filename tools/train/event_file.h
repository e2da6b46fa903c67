// `--tensorboard DIR`: an event file that TensorBoard shows while training goes on.
#pragma once

#include "runtime/base/descriptor.h"
#include "runtime/base/error.h"
#include "runtime/training/record.h"

#include <chrono>
#include <string>
#include <string_view>

namespace sheaf {

/// CRC-32C (Castagnoli) of `bytes`, as in TFRecord files.
uint32_t crc32c(std::string_view bytes);

/// Scalars by step in the form of TensorFlow's event files: TFRecords of `Event` messages (tensorflow/core/util/event.proto).
class EventFile {
 public:
  /// Makes DIR, if it doesn't exist, and a new file in it. A run that resumes after `step` steps records this, and TensorBoard
  /// drops later steps in earlier files of DIR. Error, located at the file: it can't be written.
  static Result<EventFile> open(const std::string& folder, int64_t step);
  EventFile(EventFile&&) = default;
  EventFile& operator=(EventFile&&) = delete;
  /// Writes the rest. To see errors, call flush() before.
  ~EventFile();

  /// "train/loss", "train/lr" and "train/samples_per_s" at the record's step.
  Result<void> add(const StepRecord& record);
  /// "epoch/train_loss", "epoch/data_wait_share", and evaluation's "eval/loss", "eval/accuracy", …, at step `step`.
  Result<void> add(const EpochRecord& record, int64_t step);
  Result<void> flush();

  const std::string& name() const { return file_; }

 private:
  EventFile(std::string file, Descriptor descriptor) : file_(std::move(file)), descriptor_(std::move(descriptor)) {}
  void add_event(int64_t step, std::string_view content);
  void add_scalar(int64_t step, std::string_view tag, double value);
  Result<void> flush_now_and_then();
  std::string file_, waiting_;
  Descriptor descriptor_;
  std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
};

}  // namespace sheaf
