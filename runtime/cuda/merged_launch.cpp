#include "runtime/cuda/merged_launch.h"

#include "runtime/cuda/generated_kernel.h"
#include "runtime/cuda/grid.h"

#include <algorithm>
#include <cstring>

namespace sheaf::cuda {
namespace {

/// Row i of the table is the i-th part's work, then its buffers' addresses. Those are known at the first launch and rarely
/// change: then the table is sent to the device again.
class MergedLaunch final : public Operation {
 public:
  MergedLaunch(std::shared_ptr<BackendState> state, int device, const std::vector<ManyLaunch>& parts)
      : state_(std::move(state)),
        device_(device),
        keeps_(parts.front().keeps),
        entry_(parts.front().entry),
        rows_(parts.size()),
        columns_(1 + parts.front().buffers),
        threads_(parts.front().threads) {
    int64_t all = 0, most = 0;
    for (const ManyLaunch& part : parts) {
      work_.push_back(part.work);
      all += part.work;
      most = std::max(most, part.work);
    }
    const int multiprocessors = state_->driver().properties(device_).multiprocessors, items = parts.front().items;
    const auto threads = static_cast<int>(threads_);
    // Blocks beyond a small tensor's end come for nothing, those of the largest step on: few more than an average one needs.
    const int64_t average = all / static_cast<int64_t>(rows_) + 1;
    blocks_ = std::min(blocks_for(most, items, threads, multiprocessors),
                       std::max(blocks_for(2 * average, items, threads, multiprocessors),
                                static_cast<unsigned>(std::max(1, multiprocessors))));
  }
  ~MergedLaunch() override {
    Driver& driver = state_->driver();
    if (sent_) driver.destroy(sent_);
    if (state_->lost()) return;
    if (host_) driver.release_pinned(host_);
    if (table_) driver.release(device_, table_);
  }
  Result<void> open() {
    Driver& driver = state_->driver();
    SHEAF_ASSIGN(table_, driver.allocate(device_, bytes()));
    SHEAF_ASSIGN(auto host, driver.allocate_pinned(bytes()));
    host_ = static_cast<uint64_t*>(host);
    std::memset(host_, 0, bytes());
    for (size_t row = 0; row < rows_; ++row) host_[row * columns_] = static_cast<uint64_t>(work_[row]);
    SHEAF_ASSIGN(sent_, driver.make_event(device_));
    own = {{table_, bytes(), false}};
    return {};
  }

  Result<void> enqueue(const Enqueue& at) override {
    SHEAF_TRY(send_table(at));
    uint64_t table = reinterpret_cast<uint64_t>(table_), count = rows_, guard = reinterpret_cast<uint64_t>(at.guard);
    void* arguments[] = {&table, &count, &guard};
    Launch launch;
    launch.function = entry_;
    launch.grid[0] = blocks_;
    launch.grid[1] = static_cast<unsigned>(rows_);
    launch.block = threads_;
    launch.arguments = arguments;
    return state_->driver().launch(at.stream, launch);
  }
  bool guardable() const override { return true; }

 private:
  size_t bytes() const { return rows_ * columns_ * sizeof(uint64_t); }

  Result<void> send_table(const Enqueue& at) {
    bool same = sent_once_;
    for (size_t row = 0; row < rows_ && same; ++row) {
      for (size_t i = 1; i < columns_ && same; ++i) {
        same = host_[row * columns_ + i] == reinterpret_cast<uint64_t>(at.buffers[row * (columns_ - 1) + i - 1]);
      }
    }
    if (same) return {};
    if (at.recording)
      return Error("its buffers aren't those of its last launch, and recorded work cannot send their addresses");
    Driver& driver = state_->driver();
    // The host's copy may still be on its way to the device.
    SHEAF_TRY(wait_until(*state_, at.deadline, [&] { return driver.done(sent_); }));
    for (size_t row = 0; row < rows_; ++row) {
      for (size_t i = 1; i < columns_; ++i) {
        host_[row * columns_ + i] = reinterpret_cast<uint64_t>(at.buffers[row * (columns_ - 1) + i - 1]);
      }
    }
    sent_once_ = false;
    const CopyShape shape{bytes(), 1, bytes(), bytes()};
    SHEAF_TRY(driver.copy(at.stream, table_, device_, host_, kHost, shape));
    SHEAF_TRY(driver.record(sent_, at.stream));
    sent_once_ = true;
    return {};
  }

  std::shared_ptr<BackendState> state_;
  int device_;
  std::shared_ptr<const void> keeps_;
  Function entry_;
  size_t rows_, columns_;
  unsigned threads_, blocks_ = 1;
  std::vector<int64_t> work_;
  void* table_ = nullptr;     ///< in the device's memory
  uint64_t* host_ = nullptr;  ///< pinned
  DriverEvent sent_ = nullptr;
  bool sent_once_ = false;
};

}  // namespace

std::unique_ptr<Operation> merge_launches(const std::shared_ptr<BackendState>& state, int device,
                                          std::span<Executable* const> parts) {
  if (parts.size() < 2 || parts.size() > kMostGridRows) return nullptr;
  std::vector<ManyLaunch> launches;
  std::vector<const Operation*> operations;
  for (Executable* part : parts) {
    const auto* mergeable = dynamic_cast<const Mergeable*>(part);
    auto many = mergeable ? mergeable->many() : std::nullopt;
    operations.push_back(dynamic_cast<const Operation*>(part));
    if (!many || !operations.back()) return nullptr;
    launches.push_back(std::move(*many));
    if (launches.back().entry != launches.front().entry || launches.back().buffers != launches.front().buffers) return nullptr;
  }
  auto merged = std::make_unique<MergedLaunch>(state, device, launches);
  if (!merged->open()) return nullptr;
  merged->what = std::to_string(parts.size()) + " as one: " + operations.front()->what + " to " + operations.back()->what;
  for (const Operation* part : operations)
    merged->operands.insert(merged->operands.end(), part->operands.begin(), part->operands.end());
  return merged;
}

}  // namespace sheaf::cuda
