// One launch of K_many(table, count, guard) for many of K: an optimiser's updates of all parameters.
#include "runtime/cuda/generated_kernel.h"
#include "runtime/cuda/generated_launch.h"
#include "runtime/cuda/grid.h"

#include <algorithm>
#include <cstring>

namespace sheaf::cuda {
namespace {

/// Row i of the table is the i-th part's work, then its buffers' addresses. Those are known at the first launch and rarely
/// change: then the table is sent to the device again.
class MergedLaunch final : public Operation {
 public:
  MergedLaunch(std::vector<const GeneratedLaunch*> parts, std::shared_ptr<const PtxKernels> kernels)
      : kernels_(std::move(kernels)),
        entry_(parts.front()->entry()),
        rows_(parts.size()),
        columns_(1 + parts.front()->buffers()),
        threads_(parts.front()->threads()) {
    int64_t all = 0, most = 0;
    for (const GeneratedLaunch* part : parts) {
      work_.push_back(part->work());
      all += part->work();
      most = std::max(most, part->work());
    }
    const Driver& driver = state().driver();
    const int multiprocessors = driver.properties(kernels_->module->device()).multiprocessors;
    // Blocks beyond a small tensor's end come for nothing, those of the largest step on: few more than an average one needs.
    const int64_t average = all / static_cast<int64_t>(rows_) + 1;
    blocks_ = std::min(blocks_for(most, parts.front()->items(), parts.front()->threads(), multiprocessors),
                       std::max(blocks_for(2 * average, parts.front()->items(), parts.front()->threads(), multiprocessors),
                                static_cast<unsigned>(std::max(1, multiprocessors))));
  }
  ~MergedLaunch() override {
    Driver& driver = state().driver();
    if (sent_) driver.destroy(sent_);
    if (state().lost()) return;
    if (host_) driver.release_pinned(host_);
    if (table_) driver.release(kernels_->module->device(), table_);
  }
  Result<void> open() {
    Driver& driver = state().driver();
    const int device = kernels_->module->device();
    SHEAF_ASSIGN(table_, driver.allocate(device, bytes()));
    SHEAF_ASSIGN(auto host, driver.allocate_pinned(bytes()));
    host_ = static_cast<uint64_t*>(host);
    std::memset(host_, 0, bytes());
    for (size_t row = 0; row < rows_; ++row) host_[row * columns_] = static_cast<uint64_t>(work_[row]);
    SHEAF_ASSIGN(sent_, driver.make_event(device));
    own = {{table_, bytes(), false}};
    return {};
  }

  Result<void> enqueue(const Enqueue& at) override {
    Driver& driver = state().driver();
    SHEAF_TRY(send_table(at));
    uint64_t table = reinterpret_cast<uint64_t>(table_), count = rows_, guard = reinterpret_cast<uint64_t>(at.guard);
    void* arguments[] = {&table, &count, &guard};
    Launch launch;
    launch.function = entry_.many;
    launch.grid[0] = blocks_;
    launch.grid[1] = static_cast<unsigned>(rows_);
    launch.block = threads_;
    launch.arguments = arguments;
    return driver.launch(at.stream, launch);
  }
  bool guardable() const override { return true; }

 private:
  BackendState& state() const { return kernels_->module->state(); }
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
    Driver& driver = state().driver();
    // The host's copy may still be on its way to the device.
    SHEAF_TRY(wait_until(state(), at.deadline, [&] { return driver.done(sent_); }));
    for (size_t row = 0; row < rows_; ++row) {
      for (size_t i = 1; i < columns_; ++i) {
        host_[row * columns_ + i] = reinterpret_cast<uint64_t>(at.buffers[row * (columns_ - 1) + i - 1]);
      }
    }
    sent_once_ = false;
    const CopyShape shape{bytes(), 1, bytes(), bytes()};
    SHEAF_TRY(driver.copy(at.stream, table_, kernels_->module->device(), host_, kHost, shape));
    SHEAF_TRY(driver.record(sent_, at.stream));
    sent_once_ = true;
    return {};
  }

  std::shared_ptr<const PtxKernels> kernels_;
  PtxKernels::Entry entry_;
  size_t rows_, columns_;
  unsigned threads_, blocks_ = 1;
  std::vector<int64_t> work_;
  void* table_ = nullptr;     ///< in the device's memory
  uint64_t* host_ = nullptr;  ///< pinned
  DriverEvent sent_ = nullptr;
  bool sent_once_ = false;
};

}  // namespace

std::unique_ptr<Operation> merge_generated_kernels(std::span<Executable* const> parts) {
  std::vector<const GeneratedLaunch*> launches;
  for (Executable* part : parts) launches.push_back(dynamic_cast<const GeneratedLaunch*>(part));
  if (launches.size() < 2 || launches.size() > kMostGridRows) return nullptr;
  for (const GeneratedLaunch* launch : launches) {
    const bool same = launch && launch->entry().many && launch->extents() == 0 && launches.front() &&
                      launch->entry().many == launches.front()->entry().many &&
                      launch->buffers() == launches.front()->buffers();
    if (!same) return nullptr;
  }
  auto merged = std::make_unique<MergedLaunch>(launches, launches.front()->kernels());
  if (!merged->open()) return nullptr;
  const auto join = [&](const std::string& last) { return launches.front()->what + " to " + last; };
  merged->what = std::to_string(parts.size()) + " as one: " + join(launches.back()->what);
  for (const GeneratedLaunch* launch : launches) {
    merged->operands.insert(merged->operands.end(), launch->operands.begin(), launch->operands.end());
  }
  return merged;
}

}  // namespace sheaf::cuda
