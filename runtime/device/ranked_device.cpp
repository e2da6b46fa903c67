#include "runtime/device/ranked_device.h"

namespace sheaf {
namespace {

class RankedDevice : public Device {
 public:
  RankedDevice(std::shared_ptr<Device> inner, WorldMember member, int number)
      : inner_(std::move(inner)), member_(std::move(member)), number_(number), info_(inner_->info()) {
    if (!member_.here()) info_.memory_bytes = 0;  // unknown here
  }

  const DeviceInfo& info() const override { return info_; }
  const WorldMember* member() const override { return &member_; }
  CallLog* call_log() override { return inner_->call_log(); }
  std::string software() override { return inner_->software(); }
  int64_t available_bytes() override { return member_.here() ? inner_->available_bytes() : 0; }
  /// Rank 0's host memory is the host's.
  int memory_space() const override { return member_.rank * kMemories + number_; }

  Result<void*> allocate(size_t bytes) override { return member_.here() ? inner_->allocate(bytes) : Result<void*>(&nowhere_); }
  void release(void* memory) override {
    if (member_.here()) inner_->release(memory);
  }
  Result<std::unique_ptr<Queue>> open_queue(int threads, Seconds deadline) override {
    return inner_->open_queue(threads, deadline);
  }
  Result<std::unique_ptr<Event>> make_event() override { return inner_->make_event(); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) override {
    return member_.here() ? inner_->load_kernels(plan) : std::shared_ptr<const Kernels>();
  }

  Result<void> supports(Op op, DType dtype) override { return inner_->supports(op, dtype); }
  Result<Prepared> prepare(const PrepareRequest& request) override { return shown(inner_->prepare(request)); }
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) override {
    return shown(inner_->prepare_reorder(from, to, threads));
  }
  Result<Prepared> prepare_numbers(const TensorSpec& bytes, const TensorSpec& to, std::span<const float> numbers) override {
    return shown(inner_->prepare_numbers(bytes, to, numbers));
  }
  TensorSpec same_layout(const TensorSpec& tensor, DType dtype) override { return inner_->same_layout(tensor, dtype); }
  std::unique_ptr<Executable> merge(std::span<Executable* const> parts) override { return inner_->merge(parts); }
  Result<LinkIdentity> link_identity() override { return inner_->link_identity(); }
  Result<std::string> new_link() override { return inner_->new_link(); }
  Result<std::shared_ptr<RankLink>> join_link(const std::string& link, const WorldMember& member, Seconds limit) override {
    return inner_->join_link(link, member, limit);
  }

 private:
  static constexpr int kMemories = 1 << 16;  ///< of a rank, at most: more than a list has devices
  Result<Prepared> shown(Result<Prepared> prepared) const {
    if (prepared && !member_.here()) prepared->executable.reset();
    return prepared;
  }

  std::shared_ptr<Device> inner_;
  WorldMember member_;
  int number_;
  DeviceInfo info_;
  std::byte nowhere_{};  ///< its address is that of all memory elsewhere
};

}  // namespace

std::shared_ptr<Device> ranked_device(std::shared_ptr<Device> inner, WorldMember member, int number) {
  return std::make_shared<RankedDevice>(std::move(inner), std::move(member), number);
}

}  // namespace sheaf
