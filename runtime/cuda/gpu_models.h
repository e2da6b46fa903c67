// GPUs by their data sheets, for plans and prices without one: the table that `--device-model` chooses from. docs/estimate.md
// names the sources and prints the table.
#pragma once

#include "runtime/cuda/driver.h"
#include "runtime/device/description.h"

#include <span>
#include <string>
#include <string_view>

namespace sheaf::cuda {

/// One GPU, as its maker describes it. Rates are peaks, of dense operands, per second.
struct GpuModel {
  const char* key;         ///< `--device-model`'s
  const char* name;        ///< as its driver reports it
  int compute_capability;  ///< 90: sm_90
  int multiprocessors;
  int threads;        ///< that a multiprocessor keeps at once
  int shared_kib;     ///< shared memory that a block may have, opted in
  double memory_mib;  ///< as nvidia-smi shows it
  double l2_mib;
  double clock_mhz, memory_clock_mhz;
  double memory_gb_per_second;
  double f32_tflops;          ///< without tensor cores
  double narrow_tflops;       ///< bf16 and f16 by tensor cores, summed in f32
  double link_gb_per_second;  ///< to another GPU, in one direction: NVLink, or PCI Express
  double host_gb_per_second;  ///< from the host, or to it: PCI Express
};

/// The first one is planned for by default.
std::span<const GpuModel> gpu_models();
/// Null if no model has this name.
const GpuModel* find_gpu_model(std::string_view key);

/// As a driver would report them.
DeviceProperties properties_of(const GpuModel& model);
/// The same in the serialised form of cuDNN's frontend (cudnn_frontend::DeviceProperties).
std::string properties_json(const GpuModel& model);

/// Assumptions of estimates about all of them: the share of a peak that is reached, the cost of a launch. docs/estimate.md
/// says where each figure comes from; docs/performance.md has what an H100 reached.
struct GpuAssumptions {
  double memory = 0.875;             ///< of the memory's peak: a kernel that streams
  double products = 0.7;             ///< of the arithmetic's peak: large matrix products
  double convolutions = 0.47;        ///< and convolutions with their gradients
  double launch_seconds = 2e-6;      ///< from one kernel of a replayed graph to the next
  double wait_seconds = 10e-6;       ///< for another device's work
  double host_copy = 0.85;           ///< of PCI Express\'s peak: copies of pinned memory
  double latency_seconds = 0.73e-6;  ///< of a load: with so much in flight as comes in that time, the memory is busy
};

/// The rates of a model under these assumptions.
DeviceDescription describe_gpu_model(const GpuModel& model, const GpuAssumptions& assumptions = {});

}  // namespace sheaf::cuda
