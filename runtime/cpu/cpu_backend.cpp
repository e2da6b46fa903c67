#include "runtime/cpu/cpu_backend.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/device/cpu_info.h"
#include "runtime/machine/isa.h"

#include <algorithm>
#include <cstdio>

namespace sheaf {
namespace {

Result<std::shared_ptr<Device>> open_cpu(int) { return cpu_device(); }

DeviceListing list_cpu() {
  const DeviceInfo& cpu = cpu_info();
  char memory[64];
  std::snprintf(memory, sizeof memory, "%.1f GiB", static_cast<double>(cpu.memory_bytes) / (1 << 30));
  return {{{"model", cpu.model}, {"cores", cpu.cores}, {"isa", cpu.isa}, {"memory_bytes", cpu.memory_bytes}},
          "cpu   " + cpu.model + ", " + std::to_string(cpu.cores) + (cpu.cores == 1 ? " core, " : " cores, ") + cpu.isa + ", " +
              memory + "; cpu:0, cpu:1, … share its cores out\n"};
}

/// Guesses. Two fused multiply-adds a cycle, of 16 floats with AVX-512, of 8 with AVX2, at 4 GHz: few machines do better.
DeviceDescription describe_cpu(const std::string&) {
  constexpr double kCoreBytes = 40e9, kSocketBytes = 400e9;
  constexpr double kBf16Ratio = 2;   // VDPBF16PS adds up two products for each f32 lane
  constexpr double kTileRatio = 16;  ///< the same with AMX: a product of two tiles, 16,384 multiplications, in 16 cycles
  const DeviceInfo& info = cpu_info();
  DeviceDescription cpu;
  cpu.known = true;
  cpu.model = info.model;
  cpu.cores = std::max(1, info.cores);
  const double per_cycle = info.isa == "x86-64-v4" ? 64 : 32;
  cpu.flops_per_second = cpu.cores * per_cycle * 4e9;
  if (has_bf16()) cpu.bf16_flops_per_second = (has_amx() ? kTileRatio : kBf16Ratio) * cpu.flops_per_second;
  cpu.bytes_per_second = std::min(cpu.cores * kCoreBytes, kSocketBytes);
  cpu.core_bytes_per_second = kCoreBytes;
  cpu.cache_bytes = cpu.cores * double{1 << 20};
  cpu.cache_bytes_per_second = cpu.cores * 150e9;
  cpu.seconds_per_operation = 0.3e-6;
  cpu.seconds_per_wait = 1e-6;
  cpu.copy_bytes_per_second = kCoreBytes / 2;
  cpu.memory_bytes = static_cast<double>(info.memory_bytes);
  return cpu;
}

}  // namespace

const DeviceBackend& cpu_backend() {
  static constexpr DeviceBackend backend = {"cpu", open_cpu, nullptr, list_cpu, describe_cpu};
  return backend;
}

}  // namespace sheaf
