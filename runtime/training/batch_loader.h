// Loads batches ahead of the steps that need them: threads read the rows of the next ones while a step runs.
#pragma once

#include "runtime/bind/chunk.h"
#include "runtime/training/dataset.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace sheaf {

/// By value of a dataset: rows of a batch, in runs that don't overlap. A value without rows has one run, or none.
using RowsRead = std::vector<std::vector<Run>>;

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = true;
  bool drop_last = false;  ///< rows left over at an epoch's end are dropped
  uint64_t seed = 0;
  int64_t epoch = 0;                   ///< the first batch: its epoch, from 0,
  int64_t position = 0;                ///< and how many batches of that epoch come before it
  int64_t batches = 0;                 ///< how many in all, over as many epochs as it takes
  std::map<int64_t, RowsRead> needed;  ///< by a batch's number of rows: the rows to read; others hold anything. None: all
  int in_use = 1;                      ///< how many of the batches taken last stay as they are
  int ahead = 2;                       ///< batches besides them that are ready or being filled. At least 1
  int threads = 0;                     ///< reading threads; 0: as many as the process has CPUs if reading is expensive, else 1
};

/// One batch; the loader owns its buffers, which are valid until next() has been called LoaderOptions::in_use more times.
struct Batch {
  int64_t epoch = 0;
  int64_t position = 0;  ///< in its epoch, from 0
  int64_t rows = 0;
  std::span<const void* const> buffers;  ///< one for each of the dataset's values
};

/// The number of batches in an epoch: all rows in batches of `batch_size`; the last has the leftover rows, unless dropped.
int64_t batches_per_epoch(int64_t rows, int64_t batch_size, bool drop_last);

/// The batches of one epoch after another. The constructor allocates the memory of all batches that are ever held. Data without
/// rows has one batch an epoch, without rows.
class BatchLoader {
 public:
  /// `data` must outlive it. Error: not enough memory.
  static Result<std::unique_ptr<BatchLoader>> start(const Dataset& data, const LoaderOptions& options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  /// The next batch, after a wait if it isn't ready yet; none after `batches`. Errors: those of reading its rows.
  Result<std::optional<Batch>> next();
  /// The buffers of the batch that next() will return, if they are filled already and have `rows` rows; else none. They stay as
  /// they are until the batch after it is asked for.
  std::span<const void* const> next_if_ready(int64_t rows);
  /// Total seconds that next() has waited.
  double waited_seconds() const { return waited_seconds_; }

 private:
  /// Rows of one value of a batch: a thread's unit of reading.
  struct Piece {
    size_t value = 0;
    int64_t first = 0, rows = 0;
  };
  struct Slot {
    std::vector<HostTensor> tensors;
    std::vector<const void*> pointers;
    int64_t epoch = 0, position = 0, rows = 0;
    std::vector<int64_t> numbers;  ///< of the rows
    std::vector<Piece> pieces;
    size_t unread = 0;  ///< pieces not yet read
    std::optional<Error> error;
    size_t error_piece = 0;
  };
  BatchLoader(const Dataset& data, const LoaderOptions& options);
  int thread_count() const;
  void read_all();
  bool free_slot() const;
  void begin_batch();
  void read(Slot& slot, size_t piece, std::unique_lock<std::mutex>& lock);
  Slot& slot_of(int64_t batch) { return slots_[static_cast<size_t>(batch) % slots_.size()]; }

  const Dataset& data_;
  LoaderOptions options_;
  std::vector<Slot> slots_;
  std::vector<int64_t> order_;  ///< of the current epoch
  double waited_seconds_ = 0;

  std::mutex mutex_;
  std::condition_variable filled_changed_, work_changed_;
  int64_t begun_ = 0;         ///< batches whose pieces are given to threads; batch n is in slot n modulo the number of slots
  size_t given_ = 0;          ///< pieces of the last of them that have been given
  int64_t epoch_, position_;  ///< of the next batch to begin
  int64_t taken_ = 0;         ///< batches handed out; the last of them are still in use
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sheaf
