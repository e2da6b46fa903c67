#include "runtime/cuda/vendor/nccl.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sheaf::cuda {
namespace {

class CollectiveOperation final : public Operation {
 public:
  CollectiveOperation(std::shared_ptr<NcclCommunicator> communicator, std::shared_ptr<const CollectiveRequest> request,
                      size_t rank)
      : communicator_(std::move(communicator)), request_(std::move(request)), rank_(rank) {}
  Result<void> enqueue(const Enqueue& at) override { return communicator_->enqueue(*request_, rank_, at.buffers, at.stream); }
  /// Members meet in it: it stays out of graphs, which belong to one lane.
  bool recordable() const override { return false; }

 private:
  std::shared_ptr<NcclCommunicator> communicator_;
  std::shared_ptr<const CollectiveRequest> request_;
  size_t rank_;
};

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::float32: return ncclFloat32;
    case DType::float16: return ncclFloat16;
    case DType::bfloat16: return ncclBfloat16;
    case DType::int64: return ncclInt64;
    case DType::int32: return ncclInt32;
    case DType::uint8:
    case DType::boolean: return ncclUint8;
  }
  return ncclUint8;
}

const char* name_of_kind(CollectiveRequest::Kind kind) {
  return kind == CollectiveRequest::broadcast ? "broadcasts"
         : kind == CollectiveRequest::gather  ? "sends and receives"
                                              : "sums";
}

}  // namespace

Result<std::shared_ptr<NcclCommunicator>> NcclCommunicator::make(Driver& driver, std::span<const int> devices) {
  SHEAF_ASSIGN(auto functions, NcclFunctions::open());
  std::shared_ptr<NcclCommunicator> made(new NcclCommunicator(driver, *functions, devices));
  std::vector<ncclComm_t> comms(devices.size(), nullptr);
  const auto result = functions->init_all(comms.data(), int(devices.size()), made->devices_.data());
  if (result != ncclSuccess) return functions->failure("ncclCommInitAll", result);
  made->comms_ = std::move(comms);
  for (const int device : made->devices_) {
    SHEAF_ASSIGN(auto stream, driver.make_stream(device));
    made->streams_.push_back(stream);
  }
  return made;
}

NcclCommunicator::~NcclCommunicator() {
  for (const Stream stream : streams_) driver_.destroy(stream);
  if (aborted_) return;
  for (size_t rank = 0; rank < comms_.size(); ++rank)
    if (driver_.make_current(devices_[rank])) nccl_.destroy(comms_[rank]);
}

void NcclCommunicator::abort() {
  const std::scoped_lock lock(aborting_);
  if (aborted_.exchange(true)) return;
  // For all members at once: each waits for the others.
  std::vector<std::thread> threads;
  for (const ncclComm_t comm : comms_) threads.emplace_back([this, comm] { nccl_.abort(comm); });
  for (std::thread& thread : threads) thread.join();
}

size_t NcclCommunicator::buffers(const CollectiveRequest& request, size_t rank) const {
  const bool collects = request.kind == CollectiveRequest::gather && int(rank) == request.root;
  return request.parts.size() * (collects ? devices_.size() - 1 : 1);
}

Result<void> NcclCommunicator::issue(const CollectiveRequest& request, size_t rank, void* const* buffers, Stream stream) {
  const ncclComm_t comm = comms_[rank];
  auto* const to = reinterpret_cast<cudaStream_t>(stream);
  const bool root = int(rank) == request.root;
  const size_t parts = request.parts.size();
  const char* call = "";
  ncclResult_t result = ncclSuccess;
  size_t next = 0;  // buffer
  for (size_t from = 0; request.kind == CollectiveRequest::gather && root && from < devices_.size(); ++from) {
    if (from == rank) continue;
    for (size_t i = 0; i < parts && result == ncclSuccess; ++i, ++next) {
      if (request.parts[i] == 0) continue;
      call = "ncclRecv";
      result = nccl_.receive(buffers[next], request.parts[i], ncclInt8, int(from), comm, to);
    }
  }
  for (size_t i = 0; !(request.kind == CollectiveRequest::gather && root) && i < parts && result == ncclSuccess; ++i) {
    const size_t bytes = request.parts[i];
    if (bytes == 0) continue;
    if (request.kind == CollectiveRequest::gather) {
      call = "ncclSend";
      result = nccl_.send(buffers[i], bytes, ncclInt8, request.root, comm, to);
    } else if (request.kind == CollectiveRequest::broadcast) {
      call = "ncclBroadcast";
      result = nccl_.broadcast(buffers[i], buffers[i], bytes, ncclInt8, request.root, comm, to);
    } else {
      call = "ncclReduce";
      result = nccl_.reduce(buffers[i], buffers[i], bytes / size_of(request.dtype), nccl_type(request.dtype), ncclSum,
                            request.root, comm, to);
    }
  }
  if (result != ncclSuccess) return nccl_.failure(call, result, comm);
  return {};
}

Result<void> NcclCommunicator::enqueue(const CollectiveRequest& request, size_t rank, void* const* buffers, Stream stream) {
  if (aborted_) return Error("NCCL: the communicator was aborted after a failure");
  SHEAF_TRY(driver_.make_current(devices_[rank]));
  if (const auto result = nccl_.group_start(); result != ncclSuccess) return nccl_.failure("ncclGroupStart", result);
  const auto issued = issue(request, rank, buffers, stream);
  const auto result = nccl_.group_end();
  if (!issued) return issued;
  if (result != ncclSuccess) return nccl_.failure("ncclGroupEnd", result, comms_[rank]);
  return background(rank);
}

Result<void> NcclCommunicator::background(size_t rank) const {
  ncclResult_t before = ncclSuccess;
  if (const auto asked = nccl_.get_async_error(comms_[rank], &before); asked != ncclSuccess)
    return nccl_.failure("ncclCommGetAsyncError", asked, comms_[rank]);
  if (before != ncclSuccess) return nccl_.failure("a collective of NCCL", before, comms_[rank]);
  return {};
}

Result<void> NcclCommunicator::connect(const CollectiveRequest& request) {
  const size_t bytes = request.parts.empty() ? 0 : *std::max_element(request.parts.begin(), request.parts.end());
  if (bytes == 0) return {};
  std::vector<void*> memory;
  Result<void> done;
  for (const int device : devices_) {
    auto made = driver_.allocate(device, bytes);
    if (made) {
      memory.push_back(*made);
    } else {
      done = made.error();
      break;
    }
  }
  if (done) done = run_once(request, memory);
  for (size_t rank = 0; rank < memory.size(); ++rank) driver_.release(devices_[rank], memory[rank]);
  return done;
}

/// One block of memory serves as all of a member's buffers: the result doesn't matter.
Result<void> NcclCommunicator::run_once(const CollectiveRequest& request, const std::vector<void*>& memory) {
  if (const auto result = nccl_.group_start(); result != ncclSuccess) return nccl_.failure("ncclGroupStart", result);
  Result<void> done;
  for (size_t rank = 0; done && rank < devices_.size(); ++rank) {
    const std::vector<void*> all(buffers(request, rank), memory[rank]);
    done = driver_.make_current(devices_[rank]);
    if (done) done = issue(request, rank, all.data(), streams_[rank]);
  }
  const auto result = nccl_.group_end();
  if (!done) return done;
  if (result != ncclSuccess) return nccl_.failure("ncclGroupEnd", result);
  const auto begin = std::chrono::steady_clock::now();
  for (size_t rank = 0; rank < streams_.size(); ++rank) {
    while (true) {
      // Work that fails in the background never ends by itself.
      if (auto good = background(rank); !good) {
        abort();
        return good;
      }
      SHEAF_ASSIGN(auto ended, driver_.done(streams_[rank]));
      if (ended) break;
      if (std::chrono::steady_clock::now() - begin > request.deadline) {
        abort();
        return Error("NCCL: the first run of " + request.what + " was not done within the deadline (--deadline)");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  return {};
}

Result<std::vector<Prepared>> NcclCommunicator::prepare(const CollectiveRequest& request) {
  if (request.root < 0 || size_t(request.root) >= devices_.size()) return Error("NCCL: the root is not a member");
  if (aborted_) return Error("NCCL: the communicator was aborted after a failure");
  SHEAF_TRY(connect(request));
  const auto shared = std::make_shared<const CollectiveRequest>(request);
  std::vector<Prepared> prepared(devices_.size());
  for (size_t rank = 0; rank < devices_.size(); ++rank) {
    prepared[rank].implementation = "NCCL " + nccl_.version();
    prepared[rank].reason = std::to_string(request.parts.size()) + " " + name_of_kind(request.kind) + " among " +
                            std::to_string(devices_.size()) + " GPUs in one group";
    if (request.kind == CollectiveRequest::reduce) prepared[rank].reason += ", added in NCCL's order (--no-deterministic)";
    if (request.kind == CollectiveRequest::gather)
      prepared[rank].reason += "; what comes is added up from left to right behind it";
    prepared[rank].executable = std::make_unique<CollectiveOperation>(shared_from_this(), shared, rank);
  }
  return prepared;
}

}  // namespace sheaf::cuda
