// Batches ahead of the step that needs them: a thread gathers the rows of the next ones while a step runs.
#pragma once

#include "runtime/training/dataset.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace sheaf {

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = true;
  uint64_t seed = 0;
  int64_t epoch = 0;     ///< the first batch: its epoch, from 0,
  int64_t position = 0;  ///< and how many batches of that epoch come before it
  int64_t batches = 0;   ///< how many in all, over as many epochs as it takes
  int buffers = 3;       ///< batches held at a time: one in use, the others ready or being filled. At least 2
};

/// One batch; its buffers belong to the loader and hold until the next call of next().
struct Batch {
  int64_t epoch = 0;
  int64_t position = 0;  ///< in its epoch, from 0
  int64_t rows = 0;
  std::span<const void* const> buffers;  ///< one for each of the dataset's values
};

/// The batches of one epoch after another, the last of an epoch with the rows left over. The constructor allocates all memory.
class BatchLoader {
 public:
  /// `data` must outlive it. Error: not enough memory.
  static Result<std::unique_ptr<BatchLoader>> start(const Dataset& data, const LoaderOptions& options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  /// The next batch, after a wait if it isn't ready yet; none after `batches`.
  std::optional<Batch> next();
  /// Seconds that next() has waited in all.
  double waited_seconds() const { return waited_seconds_; }

  /// ceil(rows / batch size).
  static int64_t batches_per_epoch(int64_t rows, int64_t batch_size) { return (rows + batch_size - 1) / batch_size; }

 private:
  struct Slot {
    std::vector<HostTensor> tensors;
    std::vector<const void*> pointers;
    int64_t epoch = 0, position = 0, rows = 0;
  };
  BatchLoader(const Dataset& data, const LoaderOptions& options);
  void fill_all();
  void fill(Slot& slot, int64_t epoch, int64_t position);

  const Dataset& data_;
  LoaderOptions options_;
  std::vector<Slot> slots_;
  std::vector<int64_t> order_;  ///< of the epoch being filled
  double waited_seconds_ = 0;

  std::mutex mutex_;
  std::condition_variable filled_changed_, free_changed_;
  int64_t filled_ = 0;  ///< batches made so far; batch n lies in slot n modulo the number of slots
  int64_t taken_ = 0;   ///< batches given out; the last of them is still in use
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sheaf
