#include "runtime/training/batch_loader.h"

#include "runtime/base/exception.h"
#include "runtime/machine/blocked_signals.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/training/shuffle.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>

namespace sheaf {

int64_t batches_per_epoch(int64_t rows, int64_t batch_size, bool drop_last) {
  return std::max<int64_t>(1, drop_last ? rows / batch_size : (rows + batch_size - 1) / batch_size);
}

Result<std::unique_ptr<BatchLoader>> BatchLoader::start(const Dataset& data, const LoaderOptions& options) {
  std::unique_ptr<BatchLoader> loader(new BatchLoader(data, options));
  try {
    loader->order_.resize(static_cast<size_t>(data.rows()));
    epoch_order(loader->order_, options.shuffle, options.seed, options.epoch);
    const int64_t most = std::max(options.in_use, 1) + std::max(options.ahead, 1);
    const int64_t buffers = std::min<int64_t>(most, std::max<int64_t>(options.batches, 1));
    loader->slots_.resize(static_cast<size_t>(buffers));
    for (Slot& slot : loader->slots_) {
      for (size_t i = 0; i < data.values().size(); ++i) {
        auto tensor =
            make_tensor(data.source(i).dtype(), data.source(i).batch_shape(std::min(options.batch_size, data.rows())));
        if (!tensor) return tensor.error().note("needed for a batch of '" + data.values()[i].name + "'");
        slot.tensors.push_back(std::move(*tensor));
        // Empty data need an address too.
        alignas(64) static std::byte nothing;
        slot.pointers.push_back(slot.tensors.back().bytes.empty() ? &nothing : slot.tensors.back().bytes.data());
      }
    }
    const BlockedSignals blocked;
    for (int i = 0; i < loader->thread_count(); ++i) loader->threads_.emplace_back([it = loader.get()] { it->read_all(); });
  } catch (const std::bad_alloc&) {
    return Error("there is not enough memory for batches of " + std::to_string(options.batch_size) + " rows");
  } catch (const std::system_error& error) {
    return Error(std::string("the threads that load data can't be started: ") + error.what());
  }
  return loader;
}

BatchLoader::BatchLoader(const Dataset& data, const LoaderOptions& options)
    : data_(data), options_(options), epoch_(options.epoch), position_(options.position) {}

BatchLoader::~BatchLoader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

int BatchLoader::thread_count() const {
  if (options_.threads > 0) return options_.threads;
  for (size_t i = 0; i < data_.values().size(); ++i)
    if (data_.source(i).rows_for_a_thread() > 0) return available_cpus();
  return 1;
}

/// The batches taken last are still in use.
bool BatchLoader::free_slot() const {
  return begun_ - std::max<int64_t>(taken_ - std::max(options_.in_use, 1), 0) < std::ssize(slots_);
}

void BatchLoader::begin_batch() {
  if (position_ == batches_per_epoch(data_.rows(), options_.batch_size, options_.drop_last)) {
    position_ = 0;
    epoch_order(order_, options_.shuffle, options_.seed, ++epoch_);
  }
  Slot& slot = slot_of(begun_);
  slot.epoch = epoch_;
  slot.position = position_;
  const int64_t first = position_ * options_.batch_size;
  slot.rows = std::clamp<int64_t>(data_.rows() - first, 0, options_.batch_size);
  slot.numbers.assign(order_.begin() + first, order_.begin() + first + slot.rows);
  slot.pieces.clear();
  slot.error.reset();
  for (size_t i = 0; i < data_.values().size(); ++i) {
    const RowSource& source = data_.source(i);
    const int64_t rows = source.batch_dim() < 0 ? 1 : slot.rows;
    const int64_t at_a_time = source.rows_for_a_thread() > 0 ? source.rows_for_a_thread() : std::max<int64_t>(rows, 1);
    const auto needed = options_.needed.find(slot.rows);
    const std::vector<Run> runs = needed == options_.needed.end() ? std::vector<Run>{{0, rows}} : needed->second[i];
    for (const Run& run : runs) {
      const int64_t end = run.begin + run.count;
      for (int64_t at = run.begin; at < end; at += at_a_time) slot.pieces.push_back({i, at, std::min(at_a_time, end - at)});
    }
  }
  slot.unread = slot.pieces.size();
  given_ = 0;
  ++begun_;
  ++position_;
}

void BatchLoader::read(Slot& slot, size_t index, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const Piece& piece = slot.pieces[index];
  const RowSource& source = data_.source(piece.value);
  const auto read = [&]() -> Result<void> {
    const RowTarget target{slot.tensors[piece.value].bytes.data(), source.batch_dim() < 0 ? 1 : slot.rows, piece.first};
    if (source.batch_dim() < 0) return source.read(std::array<int64_t, 1>{0}, slot.epoch, target);
    const std::span<const int64_t> numbers(slot.numbers);
    return source.read(numbers.subspan(static_cast<size_t>(piece.first), static_cast<size_t>(piece.rows)), slot.epoch, target);
  };
  Result<void> done;
  try {
    done = read();
  } catch (...) {
    done = error_of_exception();
  }
  lock.lock();
  // The first of a batch's errors, whichever thread was quicker.
  if (!done && (!slot.error || index < slot.error_piece)) {
    slot.error = std::move(done.error());
    slot.error_piece = index;
  }
  if (--slot.unread == 0) filled_changed_.notify_one();
}

void BatchLoader::read_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto pieces_left = [&] { return begun_ > 0 && given_ < slot_of(begun_ - 1).pieces.size(); };
    work_changed_.wait(lock, [&] { return stopping_ || pieces_left() || begun_ == options_.batches || free_slot(); });
    if (stopping_) return;
    if (!pieces_left()) {
      if (begun_ == options_.batches) return;
      begin_batch();
      if (slot_of(begun_ - 1).unread == 0) filled_changed_.notify_one();
      work_changed_.notify_all();
      continue;
    }
    Slot& slot = slot_of(begun_ - 1);
    read(slot, given_++, lock);
  }
}

Result<std::optional<Batch>> BatchLoader::next() {
  if (taken_ == options_.batches) return std::optional<Batch>();
  Slot& slot = slot_of(taken_);
  {
    std::unique_lock lock(mutex_);
    ++taken_;
    const auto ready = [&] { return begun_ >= taken_ && slot.unread == 0; };
    if (!ready()) {
      work_changed_.notify_one();
      // Only this is waiting: where the batch is ready, time goes to other threads of the machine at most.
      const auto begin = std::chrono::steady_clock::now();
      filled_changed_.wait(lock, ready);
      waited_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
  }
  work_changed_.notify_one();
  if (slot.error) return *slot.error;
  return std::optional(Batch{slot.epoch, slot.position, slot.rows, slot.pointers});
}

std::span<const void* const> BatchLoader::next_if_ready(int64_t rows) {
  const std::lock_guard lock(mutex_);
  if (begun_ <= taken_) return {};
  const Slot& slot = slot_of(taken_);
  if (slot.unread > 0 || slot.error || slot.rows != rows) return {};
  return slot.pointers;
}

}  // namespace sheaf
