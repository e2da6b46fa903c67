#include "runtime/training/batch_loader.h"

#include "runtime/training/shuffle.h"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace sheaf {

Result<std::unique_ptr<BatchLoader>> BatchLoader::start(const Dataset& data, const LoaderOptions& options) {
  std::unique_ptr<BatchLoader> loader(new BatchLoader(data, options));
  try {
    loader->order_.resize(static_cast<size_t>(data.rows()));
    loader->slots_.resize(static_cast<size_t>(std::max(options.buffers, 2)));
    for (Slot& slot : loader->slots_) {
      for (size_t i = 0; i < data.values().size(); ++i) {
        auto tensor = make_tensor(data.values()[i].dtype, data.batch_shape(i, std::min(options.batch_size, data.rows())));
        if (!tensor) return tensor.error().note("needed for a batch of '" + data.values()[i].name + "'");
        slot.tensors.push_back(std::move(*tensor));
        // Empty data need an address too.
        alignas(64) static std::byte nothing;
        slot.pointers.push_back(slot.tensors.back().bytes.empty() ? &nothing : slot.tensors.back().bytes.data());
      }
    }
    loader->thread_ = std::thread([it = loader.get()] { it->fill_all(); });
  } catch (const std::bad_alloc&) {
    return Error("there is not enough memory for batches of " + std::to_string(options.batch_size) + " rows");
  } catch (const std::system_error& error) {
    return Error(std::string("the thread that loads data can't be started: ") + error.what());
  }
  return loader;
}

BatchLoader::BatchLoader(const Dataset& data, const LoaderOptions& options) : data_(data), options_(options) {}

BatchLoader::~BatchLoader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  free_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BatchLoader::fill(Slot& slot, int64_t epoch, int64_t position) {
  const int64_t first = position * options_.batch_size;
  slot.epoch = epoch;
  slot.position = position;
  slot.rows = std::min(options_.batch_size, data_.rows() - first);
  const std::span<const int64_t> rows(order_.data() + first, static_cast<size_t>(slot.rows));
  for (size_t i = 0; i < slot.tensors.size(); ++i) data_.gather(i, rows, slot.tensors[i].bytes.data());
}

void BatchLoader::fill_all() {
  const int64_t per_epoch = batches_per_epoch(data_.rows(), options_.batch_size);
  int64_t epoch = options_.epoch, position = options_.position;
  epoch_order(order_, options_.shuffle, options_.seed, epoch);
  for (int64_t n = 0; n < options_.batches; ++n) {
    if (position == per_epoch) {
      position = 0;
      epoch_order(order_, options_.shuffle, options_.seed, ++epoch);
    }
    {
      // One slot fewer than there are: the batch taken last is still being read.
      std::unique_lock lock(mutex_);
      free_changed_.wait(lock, [&] { return stopping_ || n - std::max<int64_t>(taken_ - 1, 0) < std::ssize(slots_); });
      if (stopping_) return;
    }
    fill(slots_[static_cast<size_t>(n) % slots_.size()], epoch, position++);
    {
      const std::lock_guard lock(mutex_);
      ++filled_;
    }
    filled_changed_.notify_one();
  }
}

std::optional<Batch> BatchLoader::next() {
  if (taken_ == options_.batches) return std::nullopt;
  const auto begin = std::chrono::steady_clock::now();
  {
    std::unique_lock lock(mutex_);
    ++taken_;
    free_changed_.notify_one();
    filled_changed_.wait(lock, [&] { return filled_ >= taken_; });
  }
  waited_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Slot& slot = slots_[static_cast<size_t>(taken_ - 1) % slots_.size()];
  return Batch{slot.epoch, slot.position, slot.rows, slot.pointers};
}

}  // namespace sheaf
