#include "runtime/bind/candidate_times.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>

namespace sheaf {
namespace {

std::string name_of_time(const std::string& key, const std::string& candidate) { return candidate + "\n" + key; }

/// The identity of a measurement: an operation's key and candidate, or a reorder's layouts.
std::string name_of_time(const BoundProgram& program, const DeviceSet& devices, const Instance& instance) {
  const Instance::Call& call = *instance.call();
  if (call.selection) return name_of_time(call.selection->key, call.selection->name());
  std::string name = "memory " + std::to_string(devices.device(instance.lane).memory_space()) + " threads " +
                     std::to_string(devices.threads(instance.lane));
  for (const auto& list : {instance.inputs, instance.outputs}) {
    for (TensorId id : list) {
      const TensorSpec& spec = program.tensors[id].spec;
      name += " " + std::string(name_of(spec.dtype)) + (spec.plain() ? "" : spec.format->name());
      for (const int64_t size : spec.dims) name += " " + std::to_string(size);
    }
  }
  return name;
}

/// 32-bit words whose upper and lower halves are bf16 numbers from 1/2 to 1.
void fill_with_numbers(char* memory, size_t bytes) {
  constexpr size_t kPattern = 1 << 14;
  static const std::vector<uint32_t> pattern = [] {
    std::vector<uint32_t> words(kPattern);
    uint32_t state = 1;
    for (uint32_t& word : words) {
      state = state * 1664525u + 1013904223u;
      word = 0x3F003F00u | (state >> 8 & 0x007F007Fu);
    }
    return words;
  }();
  for (size_t at = 0; at < bytes; at += kPattern * 4)
    std::memcpy(memory + at, pattern.data(), std::min(kPattern * 4, bytes - at));
}

/// Seconds since an unknown moment; of the thread's own work if it works alone, so that other programs don't count.
double seconds_now(bool alone) {
  timespec time{};
  clock_gettime(alone ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

size_t rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

TrialMemory::~TrialMemory() {
  if (memory_) device_->release(memory_);
}

Result<char*> TrialMemory::room(size_t bytes, bool numbers, Queue& queue) {
  if (memory_ && bytes_ >= bytes) return memory_;
  if (memory_) device_->release(memory_);
  memory_ = nullptr;
  SHEAF_ASSIGN(void* const memory, device_->allocate(bytes));
  memory_ = static_cast<char*>(memory);
  bytes_ = bytes;
  SHEAF_TRY(fill(numbers, queue));
  return memory_;
}

Result<void> TrialMemory::fill(bool numbers, Queue& queue) {
  if (device_->info().shares_host_memory) {
    if (numbers) fill_with_numbers(memory_, bytes_);
    else std::memset(memory_, 0, bytes_);  // so that no run touches a page for the first time
    return {};
  }
  constexpr size_t kPiece = size_t{8} << 20;
  std::vector<char> piece(std::min(kPiece, bytes_));
  if (numbers) fill_with_numbers(piece.data(), piece.size());
  queue.begin_run();
  for (size_t at = 0; at < bytes_; at += piece.size())
    queue.copy(memory_ + at, piece.data(), {std::min(piece.size(), bytes_ - at), 1, 0, 0});
  return queue.synchronize();
}

const double* CandidateTimes::known(const std::string& key, const std::string& candidate) const {
  const auto found = seconds_.find(name_of_time(key, candidate));
  return found == seconds_.end() ? nullptr : &found->second;
}

const double* CandidateTimes::known(const BoundProgram& program, const Instance& instance) const {
  const auto found = seconds_.find(name_of_time(program, devices_, instance));
  return found == seconds_.end() ? nullptr : &found->second;
}

Result<std::vector<void*>> CandidateTimes::buffers_of(Trial& trial, const Planned& planned) const {
  const auto& tensors = planned.program->tensors;
  const auto bytes_of = [&](const std::vector<TensorId>& ids) {
    size_t bytes = 0;
    for (TensorId id : ids) bytes += rounded(tensors[id].spec.bytes);
    return bytes;
  };
  SHEAF_ASSIGN(char* input, trial.inputs.room(bytes_of(planned.instance->inputs), /*numbers=*/true, *trial.queue));
  SHEAF_ASSIGN(char* output, trial.outputs.room(bytes_of(planned.instance->outputs), /*numbers=*/false, *trial.queue));
  std::vector<void*> buffers;
  for (TensorId id : planned.instance->inputs) {
    buffers.push_back(input);
    input += rounded(tensors[id].spec.bytes);
  }
  for (TensorId id : planned.instance->outputs) {
    buffers.push_back(output);
    output += rounded(tensors[id].spec.bytes);
  }
  return buffers;
}

Result<CandidateTimes::Trial*> CandidateTimes::trial_of(LaneId lane) {
  Device& device = devices_.device(lane);
  auto& trial = trials_[{device.memory_space(), devices_.threads(lane)}];
  if (!trial) {
    SHEAF_ASSIGN(auto queue, device.open_queue(devices_.threads(lane)));
    trial = std::make_unique<Trial>(device, std::move(queue));
  }
  return trial.get();
}

Result<double> CandidateTimes::seconds_of(Queue& queue, const Instance::Call& call, const std::vector<void*>& buffers,
                                          void* scratch, bool alone) {
  const bool on_device = queue.times_work();
  queue.begin_run();
  const double begin = seconds_now(alone);
  if (on_device) queue.begin_timed();
  queue.launch(*call.executable, buffers.data(), scratch);
  if (on_device) queue.end_timed();
  SHEAF_TRY(queue.synchronize());
  if (!on_device) return seconds_now(alone) - begin;
  WorkTimes times;
  SHEAF_TRY(queue.work_times({&times, 1}));
  return scale_.fix().seconds(times.done - times.begin);
}

Result<void> CandidateTimes::measure(std::span<const Planned> abreast, int turns, const std::function<bool()>& over) {
  if (abreast.empty()) return {};
  const LaneId lane = abreast.front().instance->lane;
  const DeviceInfo& info = devices_.device(lane).info();
  SHEAF_ASSIGN(Trial * trial, trial_of(lane));
  const bool alone = info.uses_host_cores && !info.asynchronous && devices_.threads(lane) == 1;
  constexpr double kLong = 5e-3;  // on CPUs only: a GPU may take as long to load a kernel at its first launch
  int timed = 0;
  for (bool first = true; timed == 0 || (timed < turns && !over()); first = false) {
    double least = trial->queue->times_work() ? 0 : 1e30;
    for (const Planned& planned : abreast) {
      // Memory may have moved when a larger operation was added.
      SHEAF_ASSIGN(const auto buffers, buffers_of(*trial, planned));
      const Instance::Call& call = *planned.instance->call();
      SHEAF_ASSIGN(char* scratch, trial->scratch.room(call.scratch_bytes, /*numbers=*/false, *trial->queue));
      SHEAF_ASSIGN(const double seconds, seconds_of(*trial->queue, call, buffers, scratch, alone));
      double& best = seconds_[name_of_time(*planned.program, devices_, *planned.instance)];
      best = timed == 0 ? seconds : std::min(best, seconds);
      least = std::min(least, seconds);
    }
    const bool counts = !first || least >= kLong;
    if (counts && first) turns = (turns + 1) / 2;
    timed += counts;
  }
  return {};
}

}  // namespace sheaf
