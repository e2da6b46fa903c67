#include "tests/sim/sim_communicator.h"

#include <cstring>

namespace sheaf::sim {
namespace {

class CollectiveOperation final : public cuda::Operation {
 public:
  CollectiveOperation(std::shared_ptr<SimCommunicator> communicator, std::shared_ptr<const CollectiveRequest> request,
                      size_t rank)
      : communicator_(std::move(communicator)), request_(std::move(request)), rank_(rank) {}
  Result<void> enqueue(const cuda::Enqueue& at) override {
    if (at.guard) communicator_->driver().violation("a collective is launched guarded: its members would part");
    std::vector<void*> buffers(at.buffers, at.buffers + communicator_->buffers(*request_, rank_));
    return communicator_->enqueue(at.stream, rank_, {request_, std::move(buffers), what.empty() ? request_->what : what});
  }
  bool recordable() const override { return false; }

 private:
  std::shared_ptr<SimCommunicator> communicator_;
  std::shared_ptr<const CollectiveRequest> request_;
  size_t rank_;
};

size_t rank_of_root(const CollectiveRequest& request) { return static_cast<size_t>(request.root); }

bool same(const CollectiveRequest& a, const CollectiveRequest& b) {
  return a.kind == b.kind && a.root == b.root && a.parts == b.parts && a.dtype == b.dtype;
}

}  // namespace

Result<std::shared_ptr<SimCommunicator>> SimCommunicator::open(SimDriver& driver, std::vector<int> devices, size_t bytes) {
  std::shared_ptr<SimCommunicator> made(new SimCommunicator(driver, std::move(devices)));
  for (const int device : made->devices_) {
    if (bytes == 0) break;
    SHEAF_ASSIGN(auto memory, driver.allocate(device, bytes));
    made->own_.push_back(memory);
  }
  return made;
}

SimCommunicator::~SimCommunicator() {
  for (size_t rank = 0; rank < own_.size(); ++rank) driver_.release(devices_[rank], own_[rank]);
  for (size_t number = 0; number < calls_.size() && !aborted_; ++number) {
    for (size_t rank = 0; rank < next_.size(); ++rank) {
      if (next_[rank] > number) continue;
      driver_.violation("collective " + std::to_string(number) + " waits for rank " + std::to_string(rank) +
                        ", which never came");
    }
  }
}

void SimCommunicator::abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  std::vector<std::shared_ptr<Meeting>> meetings;
  for (const auto& call : calls_) meetings.push_back(call->meeting);
  driver_.call_off(meetings);
}

size_t SimCommunicator::buffers(const CollectiveRequest& request, size_t rank) const {
  const bool collects = request.kind == CollectiveRequest::gather && rank == rank_of_root(request);
  return request.parts.size() * (collects ? devices_.size() - 1 : 1);
}

Result<std::vector<Prepared>> SimCommunicator::prepare(const CollectiveRequest& request) {
  if (request.root < 0 || rank_of_root(request) >= devices_.size()) return Error("ncclCommInitAll: invalid argument");
  const auto shared = std::make_shared<const CollectiveRequest>(request);
  std::vector<Prepared> prepared(devices_.size());
  for (size_t rank = 0; rank < devices_.size(); ++rank) {
    prepared[rank].implementation = "sim";
    prepared[rank].executable = std::make_unique<CollectiveOperation>(shared_from_this(), shared, rank);
  }
  return prepared;
}

Result<void> SimCommunicator::enqueue(cuda::Stream stream, size_t rank, Part part) {
  std::vector<cuda::Access> accesses;
  const CollectiveRequest& request = *part.request;
  const bool root = rank == rank_of_root(request);
  const bool writes = request.kind == CollectiveRequest::broadcast ? !root : root;
  const bool reads = request.kind == CollectiveRequest::reduce || !writes;
  for (size_t i = 0; i < part.buffers.size(); ++i) {
    const size_t bytes = request.parts[i % request.parts.size()];
    if (bytes == 0) continue;
    if (reads) accesses.push_back({part.buffers[i], bytes, false});
    if (writes) accesses.push_back({part.buffers[i], bytes, true});
  }
  const std::string what = part.what;
  const std::lock_guard lock(mutex_);
  if (aborted_) return Error("ncclGroupEnd: the communicator was aborted");
  const size_t number = next_[rank]++;
  if (number == calls_.size()) {
    calls_.push_back(std::make_shared<Call>());
    Call& made = *calls_.back();
    made.parts.resize(devices_.size());
    made.meeting = std::make_shared<Meeting>();
    made.meeting->at_head.assign(devices_.size(), false);
    // (Owned by what it calls, so without a hold on it.)
    made.meeting->run = [weak = weak_from_this(), call = calls_.back().get()]() -> Result<void> {
      const auto self = weak.lock();
      return self ? self->run(call->parts) : Result<void>(Error("the communicator was destroyed"));
    };
  }
  Call& call = *calls_[number];
  call.parts[rank] = std::move(part);
  return driver_.meet(stream, what, call.meeting, rank, std::move(accesses));
}

Result<void> SimCommunicator::run(const std::vector<Part>& parts) {
  for (size_t rank = 1; rank < parts.size(); ++rank) {
    if (same(*parts[0].request, *parts[rank].request)) continue;
    return Error("members meet in different collectives: rank 0 in '" + parts[0].what + "', rank " + std::to_string(rank) +
                 " in '" + parts[rank].what + "'");
  }
  const CollectiveRequest& request = *parts[0].request;
  const size_t root = rank_of_root(request), count = request.parts.size();
  size_t other = 0;  // position among those that aren't root
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    if (rank == root) continue;
    for (size_t i = 0; i < count; ++i) {
      const size_t bytes = request.parts[i];
      if (bytes == 0) continue;
      const bool down = request.kind == CollectiveRequest::broadcast;
      const size_t at_root = request.kind == CollectiveRequest::gather ? other * count + i : i;
      void* roots = parts[root].buffers[at_root];
      void* theirs = parts[rank].buffers[i];
      const std::byte* from = driver_.member_memory(down ? roots : theirs, bytes, false, parts[rank].what);
      if (request.kind == CollectiveRequest::reduce) {
        if (request.dtype != DType::float32) return Error("a sum of another type than float32");
        (void)driver_.member_memory(roots, bytes, false, parts[root].what);
      }
      std::byte* to = driver_.member_memory(down ? theirs : roots, bytes, true, parts[rank].what);
      if (!from || !to) return Error("an illegal memory access was encountered");
      if (request.kind != CollectiveRequest::reduce) {
        std::memcpy(to, from, bytes);
        continue;
      }
      for (size_t k = 0; k < bytes; k += sizeof(float)) {
        float sum = 0, more = 0;
        std::memcpy(&sum, to + k, sizeof sum);
        std::memcpy(&more, from + k, sizeof more);
        sum += more;
        std::memcpy(to + k, &sum, sizeof sum);
      }
    }
    ++other;
  }
  return {};
}

}  // namespace sheaf::sim
