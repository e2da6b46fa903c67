#include "tools/estimate/calibrate.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/device/cpu_info.h"
#include "runtime/machine/isa.h"
#include "runtime/machine/thread_pool.h"
#include "tools/estimate/kernel_rate.h"
#include "tools/estimate/median_rates.h"
#include "tools/estimate/operation_rates.h"
#include "tools/estimate/stopwatch.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace sheaf {
namespace {

using Floats = std::vector<float>;

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

/// All figures of `cpu` that are measured, once.
Result<void> measure_once(DeviceDescription& cpu) {
  constexpr size_t kMemoryFloats = size_t{64} << 18;  // 64 MiB per array: beyond the caches
  constexpr size_t kCacheFloats = size_t{1} << 16;    // 256 KiB per array and thread
  SHEAF_ASSIGN(OperationRates wide, operation_rates(cpu.cores, DType::float32));
  cpu.flops_per_second = wide.product;
  cpu.operations = std::move(wide.operations);
  cpu.by_channels = std::move(wide.by_channels);
  cpu.fast_by_channels = std::move(wide.fast_by_channels);
  if (has_bf16()) {
    SHEAF_ASSIGN(OperationRates narrow, operation_rates(cpu.cores, DType::bfloat16));
    cpu.bf16_flops_per_second = narrow.product;
    cpu.bf16_operations = std::move(narrow.operations);
    cpu.bf16_by_channels = std::move(narrow.by_channels);
    cpu.bf16_fast_by_channels = std::move(narrow.fast_by_channels);
  }
  cpu.operations[Op::kernel] = kernel_rate(cpu.cores);
  SHEAF_ASSIGN(cpu.seconds_per_operation, operation_overhead(cpu.cores));
  cpu.core_bytes_per_second = triad(kMemoryFloats / 4, 1);
  cpu.bytes_per_second = std::max(triad(kMemoryFloats, cpu.cores), cpu.core_bytes_per_second);
  cpu.cache_bytes_per_second = std::max(triad(kCacheFloats * static_cast<size_t>(cpu.cores), cpu.cores), cpu.bytes_per_second);
  return measure_lanes(cpu);
}

}  // namespace

Result<DeviceDescriptions> calibrate() {
  // Other programs' load comes and goes within seconds: each pass over all figures meets another share of it, as a run's steps do.
  constexpr size_t kPasses = 5;
  DeviceDescriptions devices = guessed_devices();
  devices.source = "calibration";
  DeviceDescription& cpu = devices.kinds[cpu_info().kind];
  std::vector<DeviceDescription> passes(kPasses, cpu);
  for (DeviceDescription& pass : passes) SHEAF_TRY(measure_once(pass));
  cpu = median_of(passes);
  return devices;
}

}  // namespace sheaf
