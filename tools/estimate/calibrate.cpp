#include "tools/estimate/calibrate.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/device/cpu_info.h"
#include "runtime/machine/isa.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/plan/op_list.h"
#include "tools/estimate/stopwatch.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace sheaf {
namespace {

using Floats = std::vector<float>;

/// Seconds of the library's operation `step` on zeros, with `threads` threads, in the formats it prefers.
class LibraryTimer {
 public:
  explicit LibraryTimer(int threads) : threads_(threads) {}

  struct Measured {
    double seconds = 0;
    double flops = 0;
  };

  /// For operands of `dtype`; the gradient of a weight is f32 (docs/precision.md).
  Result<Measured> time(const Step& step, DType dtype, const std::vector<std::vector<int64_t>>& inputs,
                        const std::vector<int64_t>& output) {
    const Plan plan;
    const bool of_weight = step.op == Op::conv_backward_weight;
    std::vector<TensorSpec> from, to = {plain_tensor(of_weight ? DType::float32 : dtype, output)};
    for (const auto& dims : inputs) from.push_back(plain_tensor(dtype, dims));
    const auto constant = std::make_unique<bool[]>(inputs.size());
    SHEAF_ASSIGN(auto prepared,
                 cpu_device()->prepare({step, plan, from, to, threads_, false, {constant.get(), inputs.size()}}));
    std::vector<Floats> memory;
    std::vector<void*> buffers;
    for (const auto* operands : {&prepared.inputs, &prepared.outputs}) {
      for (const TensorSpec& operand : *operands) memory.emplace_back(operand.bytes / sizeof(float) + 1, 0.5F);
    }
    memory.emplace_back(prepared.scratch_bytes / sizeof(float) + 17, 0.0F);
    for (Floats& floats : memory) buffers.push_back(floats.data());
    void* scratch = buffers.back();
    size_t room = memory.back().size() * sizeof(float);
    scratch = std::align(64, prepared.scratch_bytes, scratch, room);
    buffers.pop_back();
    const TeamSize team(threads_);
    const double once = least_seconds([&] { prepared.executable->run(buffers.data(), scratch); });
    return Measured{once, operation_cost(plan, step, from, to).flops};
  }

 private:
  int threads_;
};

Step library_step(Op op, std::vector<std::string> roles, Json attributes = Json::object()) {
  Step step;
  step.op = op;
  step.roles = std::move(roles);
  for (size_t i = 0; i < step.roles.size(); ++i) step.inputs.push_back(static_cast<int>(i));
  step.outputs = {static_cast<int>(step.roles.size())};
  step.attributes = std::move(attributes);
  step.layer = "calibration";
  return step;
}

/// Matrix products give the peak; one of ResNet-18's convolutions and its gradients show how much of it they reach.
Result<void> measure_arithmetic(int threads, DType dtype, double& peak, std::map<Op, double>& operations) {
  LibraryTimer timer(threads);
  // Large enough to reach their best speed, small enough to fit between two interruptions.
  const int64_t side = threads <= 4 ? 512 : 1024, rows = 4 * threads;
  SHEAF_ASSIGN(auto product,
               timer.time(library_step(Op::matmul, {"a", "b"}), dtype, {{side, side}, {side, side}}, {side, side}));
  peak = product.flops / product.seconds;
  const std::vector<int64_t> image = {rows, 64, 28, 28}, weight = {64, 64, 3, 3};
  const Json ones = Json::array({1, 1});
  const Json conv = {{"stride", ones}, {"padding_begin", ones}, {"padding_end", ones}, {"dilation", ones}, {"groups", 1}};
  Json data = conv, gradient = conv;
  data["size"] = Json::array({28, 28});
  gradient["kernel_size"] = Json::array({3, 3});
  gradient["bias"] = false;
  const std::pair<Step, std::vector<std::vector<int64_t>>> cases[] = {
      {library_step(Op::conv, {"x", "weight"}, conv), {image, weight, image}},
      {library_step(Op::conv_backward_data, {"dy", "weight"}, data), {image, weight, image}},
      {library_step(Op::conv_backward_weight, {"x", "dy"}, gradient), {image, image, weight}},
  };
  for (const auto& [step, sizes] : cases) {
    SHEAF_ASSIGN(auto measured, timer.time(step, dtype, {sizes[0], sizes[1]}, sizes[2]));
    operations[step.op] = measured.flops / measured.seconds;
  }
  return {};
}

Result<void> measure_overhead(int threads, DeviceDescription& cpu) {
  SHEAF_ASSIGN(auto small,
               LibraryTimer(threads).time(library_step(Op::matmul, {"a", "b"}), DType::float32, {{8, 8}, {8, 8}}, {8, 8}));
  cpu.seconds_per_operation = small.seconds;
  return {};
}

/// Bytes per second of a[i] = b[i] + 3 c[i] over `floats` elements in each array.
double triad(size_t floats, int threads) {
  Floats a(floats, 0.0F), b(floats, 1.0F), c(floats, 2.0F);
  const TeamSize team(threads);
  const auto count = static_cast<int64_t>(floats);
  const double once = least_seconds([&] {
    parallel_for(count, std::max<int64_t>(1, count / threads), threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) a[size_t(i)] = b[size_t(i)] + 3 * c[size_t(i)];
    });
  });
  return 3.0 * static_cast<double>(floats) * sizeof(float) / once;
}

/// A second thread that does its part on each request.
class Partner {
 public:
  explicit Partner(std::function<void()> part)
      : thread_([this, part] {
          for (int turn = 1;; turn += 2) {
            await(turn);
            if (stop_) return;
            part();
            turn_.store(turn + 1, std::memory_order_release);
          }
        }) {}
  ~Partner() {
    stop_ = true;
    turn_.store(next_, std::memory_order_release);
    thread_.join();
  }
  void ask() {
    turn_.store(next_, std::memory_order_release);
    await(next_ + 1);
    next_ += 2;
  }

 private:
  void await(int value) const {
    for (int spins = 0; turn_.load(std::memory_order_acquire) != value; ++spins) {
      if (spins > 10'000) std::this_thread::yield();
    }
  }
  std::atomic<int> turn_{0};
  std::atomic<bool> stop_{false};
  int next_ = 1;
  std::thread thread_;
};

/// Half a round trip of a flag between two threads, and the rate of copying data the other one has just written.
Result<void> measure_lanes(DeviceDescription& cpu) {
  constexpr int kTrips = 100, kCopies = 12;
  constexpr size_t kBytes = size_t{8} << 20;
  {
    Partner echo([] {});
    cpu.seconds_per_wait = least_seconds([&] {
                             for (int i = 0; i < kTrips; ++i) echo.ask();
                           }) /
                           (2 * kTrips);
  }
  SHEAF_ASSIGN(auto queue, cpu_device()->open_queue(1));
  std::vector<char> source(kBytes), target(kBytes);
  char value = 0;
  Partner writer([&] { std::fill(source.begin(), source.end(), ++value); });
  double least = 1e9;
  for (int i = 0; i < kCopies; ++i) {
    writer.ask();
    const double begin = now_seconds();
    queue->copy(target.data(), source.data(), {kBytes, 1, 0, 0});
    least = std::min(least, now_seconds() - begin);
  }
  cpu.copy_bytes_per_second = kBytes / least;
  return {};
}

}  // namespace

Result<DeviceDescriptions> calibrate() {
  constexpr size_t kMemoryFloats = size_t{64} << 18;  // 64 MiB per array: beyond the caches
  constexpr size_t kCacheFloats = size_t{1} << 16;    // 256 KiB per array and thread
  DeviceDescriptions devices = guessed_devices();
  devices.source = "calibration";
  DeviceDescription& cpu = devices.kinds[cpu_info().kind];
  SHEAF_TRY(measure_arithmetic(cpu.cores, DType::float32, cpu.flops_per_second, cpu.operations));
  if (has_bf16()) {
    SHEAF_TRY(measure_arithmetic(cpu.cores, DType::bfloat16, cpu.bf16_flops_per_second, cpu.bf16_operations));
  }
  SHEAF_TRY(measure_overhead(cpu.cores, cpu));
  cpu.core_bytes_per_second = triad(kMemoryFloats / 4, 1);
  cpu.bytes_per_second = std::max(triad(kMemoryFloats, cpu.cores), cpu.core_bytes_per_second);
  cpu.cache_bytes_per_second = std::max(triad(kCacheFloats * static_cast<size_t>(cpu.cores), cpu.cores), cpu.bytes_per_second);
  SHEAF_TRY(measure_lanes(cpu));
  return devices;
}

}  // namespace sheaf
