// The records kept of all epochs, in memory and in checkpoints: a bounded number, however long the run.
#pragma once

#include "runtime/training/record.h"

#include <utility>
#include <vector>

namespace sheaf {

/// The records of epochs 1, 1 + stride(), 1 + 2 * stride(), … and of the last one; stride() doubles whenever there would be
/// more than kMostRecords.
class EpochHistory {
 public:
  static constexpr size_t kMostRecords = 512;

  void add(EpochRecord record) {
    seconds_ += record.seconds;
    data_wait_seconds_ += record.data_wait_seconds;
    if (count_ > 0 && !regular(count_ - 1)) records_.pop_back();  // it was kept only as the last one
    records_.push_back(std::move(record));
    ++count_;
    if (records_.size() <= kMostRecords) return;
    stride_ *= 2;
    const EpochRecord last = records_.back();
    size_t kept = 0;
    for (size_t i = 0; i < records_.size(); i += 2) records_[kept++] = std::move(records_[i]);
    records_.resize(kept);
    if (records_.back().epoch != last.epoch) records_.push_back(last);
  }

  const std::vector<EpochRecord>& records() const { return records_; }
  /// Seconds of training, over all epochs.
  double seconds() const { return seconds_; }
  /// Part of them, during which steps waited for their batch.
  double data_wait_seconds() const { return data_wait_seconds_; }
  int64_t stride() const { return stride_; }

  /// Restores the records that a checkpoint saved after `count` epochs, and numbers them. False: that many can't
  /// exist.
  static bool restore(EpochHistory& history, std::vector<EpochRecord> records, int64_t count, int64_t stride, double seconds,
                      double data_wait_seconds) {
    const int64_t regular = (count + stride - 1) / stride;
    const bool last_apart = count > 0 && (count - 1) % stride != 0;
    if (std::cmp_not_equal(records.size(), regular + last_apart) || records.size() > kMostRecords) return false;
    for (size_t i = 0; i < records.size(); ++i) records[i].epoch = 1 + static_cast<int64_t>(i) * stride;
    if (last_apart) records.back().epoch = count;
    history.records_ = std::move(records);
    history.count_ = count;
    history.stride_ = stride;
    history.seconds_ = seconds;
    history.data_wait_seconds_ = data_wait_seconds;
    return true;
  }

 private:
  bool regular(int64_t index) const { return index % stride_ == 0; }

  std::vector<EpochRecord> records_;
  int64_t count_ = 0, stride_ = 1;
  double seconds_ = 0, data_wait_seconds_ = 0;
};

}  // namespace sheaf
