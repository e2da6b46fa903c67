#include "tools/estimate/calibrate.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/device/cpu_info.h"
#include "runtime/machine/isa.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/plan/op_list.h"
#include "tools/estimate/kernel_rate.h"
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

struct LibraryOperation {
  Step step;
  std::vector<std::vector<int64_t>> inputs;  ///< their sizes
  std::vector<int64_t> output;
};

LibraryOperation library_operation(Op op, std::vector<std::string> roles, std::vector<std::vector<int64_t>> inputs,
                                   std::vector<int64_t> output, Json attributes = Json::object()) {
  LibraryOperation made{{}, std::move(inputs), std::move(output)};
  made.step.op = op;
  made.step.roles = std::move(roles);
  for (size_t i = 0; i < made.step.roles.size(); ++i) made.step.inputs.push_back(static_cast<int>(i));
  made.step.outputs = {static_cast<int>(made.step.roles.size())};
  made.step.attributes = std::move(attributes);
  made.step.layer = "calibration";
  return made;
}

LibraryOperation product(int64_t side) {
  return library_operation(Op::matmul, {"a", "b"}, {{side, side}, {side, side}}, {side, side});
}

/// A convolution of `channels` channels, 3×3, 28×28, its gradients, and a transposed one, 4×4 with a stride of 2.
std::vector<LibraryOperation> convolutions(int64_t rows, int64_t channels) {
  const std::vector<int64_t> image = {rows, channels, 28, 28}, weight = {channels, channels, 3, 3};
  const Json ones = Json::array({1, 1}), twos = Json::array({2, 2}), none = Json::array({0, 0});
  const Json conv = {{"stride", ones}, {"padding_begin", ones}, {"padding_end", ones}, {"dilation", ones}, {"groups", 1}};
  Json data = conv, gradient = conv;
  data["size"] = Json::array({28, 28});
  gradient["kernel_size"] = Json::array({3, 3});
  gradient["bias"] = false;
  const Json transposed = {{"stride", twos}, {"padding", ones}, {"output_padding", none}, {"dilation", ones}, {"groups", 1}};
  return {
      library_operation(Op::conv, {"x", "weight"}, {image, weight}, image, conv),
      library_operation(Op::conv_backward_data, {"dy", "weight"}, {image, weight}, image, data),
      library_operation(Op::conv_backward_weight, {"x", "dy"}, {image, image}, weight, gradient),
      library_operation(Op::conv_transpose, {"x", "weight"}, {{rows, channels, 14, 14}, {channels, channels, 4, 4}}, image,
                        transposed),
  };
}

/// The CPU's memory, aligned as in a run: for a misaligned operand each access becomes two.
class OperandMemory {
 public:
  OperandMemory() = default;
  ~OperandMemory() {
    for (void* buffer : buffers_) cpu_device()->release(buffer);
  }
  OperandMemory(const OperandMemory&) = delete;
  OperandMemory& operator=(const OperandMemory&) = delete;

  /// Room for `bytes`, full of 0.5. Errors: there is no memory.
  Result<void> add(size_t bytes) {
    const size_t floats = bytes / sizeof(float) + 1;
    SHEAF_ASSIGN(void* const buffer, cpu_device()->allocate(floats * sizeof(float)));
    buffers_.push_back(buffer);
    std::fill_n(static_cast<float*>(buffer), floats, 0.5F);
    return {};
  }
  const std::vector<void*>& buffers() const { return buffers_; }

 private:
  std::vector<void*> buffers_;
};

struct Measured {
  double seconds = 0, flops = 0;
  double rate() const { return flops / seconds; }
};

/// The operation on operands of `dtype`, with `threads` threads, in the formats it prefers. The gradient of a weight is f32
/// (docs/precision.md).
Result<Measured> measure(const LibraryOperation& operation, DType dtype, int threads) {
  const Plan plan;
  const bool of_weight = operation.step.op == Op::conv_backward_weight;
  std::vector<TensorSpec> from, to = {plain_tensor(of_weight ? DType::float32 : dtype, operation.output)};
  for (const auto& dims : operation.inputs) from.push_back(plain_tensor(dtype, dims));
  const auto constant = std::make_unique<bool[]>(from.size());
  SHEAF_ASSIGN(auto prepared,
               cpu_device()->prepare({operation.step, plan, from, to, threads, false, {constant.get(), from.size()}}));
  OperandMemory memory;
  for (const auto* operands : {&prepared.inputs, &prepared.outputs})
    for (const TensorSpec& operand : *operands) SHEAF_TRY(memory.add(operand.bytes));
  SHEAF_TRY(memory.add(prepared.scratch_bytes));
  void* const* buffers = memory.buffers().data();
  const TeamSize team(threads);
  const double once = least_seconds([&] { prepared.executable->run(buffers, memory.buffers().back()); });
  return Measured{once, operation_cost(plan, operation.step, from, to).flops};
}

/// Matrix products give the peak; convolutions show how much of it they reach.
Result<void> measure_arithmetic(int threads, DType dtype, double& peak, std::map<Op, double>& many, std::map<Op, double>& few) {
  // Large enough to reach their best speed, small enough to fit between two interruptions.
  SHEAF_ASSIGN(const Measured square, measure(product(threads <= 4 ? 512 : 1024), dtype, threads));
  peak = square.rate();
  for (const auto& [channels, rates] : {std::pair(kManyChannels, &many), std::pair(kFewChannels, &few)}) {
    // Both have as many values; products over the batch need rows.
    for (const LibraryOperation& operation : convolutions(4 * threads * (kManyChannels / channels), channels)) {
      SHEAF_ASSIGN(const Measured measured, measure(operation, dtype, threads));
      (*rates)[operation.step.op] = measured.rate();
    }
  }
  return {};
}

Result<void> measure_overhead(int threads, DeviceDescription& cpu) {
  SHEAF_ASSIGN(const Measured small, measure(product(8), DType::float32, threads));
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
  SHEAF_TRY(measure_arithmetic(cpu.cores, DType::float32, cpu.flops_per_second, cpu.operations, cpu.few_channels));
  if (has_bf16()) {
    SHEAF_TRY(
        measure_arithmetic(cpu.cores, DType::bfloat16, cpu.bf16_flops_per_second, cpu.bf16_operations, cpu.bf16_few_channels));
  }
  cpu.operations[Op::kernel] = kernel_rate(cpu.cores);
  SHEAF_TRY(measure_overhead(cpu.cores, cpu));
  cpu.core_bytes_per_second = triad(kMemoryFloats / 4, 1);
  cpu.bytes_per_second = std::max(triad(kMemoryFloats, cpu.cores), cpu.core_bytes_per_second);
  cpu.cache_bytes_per_second = std::max(triad(kCacheFloats * static_cast<size_t>(cpu.cores), cpu.cores), cpu.bytes_per_second);
  SHEAF_TRY(measure_lanes(cpu));
  return devices;
}

}  // namespace sheaf
