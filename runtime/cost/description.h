// What a machine's devices can do, as data: measured by calibration, written by hand for a machine that isn't here, or
// guessed from what is known of this one.
#pragma once

#include "runtime/cost/roofline.h"

#include <map>
#include <string>

namespace sheaf {

/// Devices of one kind. Figures are in SI units: operations, bytes and seconds.
struct DeviceDescription {
  std::string model;                 ///< "AMD EPYC …"
  int cores = 1;                     ///< of all logical CPU devices together; 1 for other kinds
  double flops_per_second = 0;       ///< f32 matrix products, all cores
  double bytes_per_second = 0;       ///< memory traffic, all cores
  double core_bytes_per_second = 0;  ///< what one core alone can move
  double cache_bytes = 0;            ///< what fits here is moved at cache_bytes_per_second, all cores
  double cache_bytes_per_second = 0;
  double seconds_per_operation = 0;  ///< overhead of an operation
  double seconds_per_wait = 0;       ///< for one lane to see that another is done
  double copy_bytes_per_second = 0;  ///< from one device to another
  double memory_bytes = 0;           ///< of one device
  /// Arithmetic rate of operations that don't reach that of matrix products: by Step::op; all cores.
  std::map<std::string, double> operations;
  /// The same two of bf16 operands, or f16 ones. 0: not known, f32's then; an operation that isn't listed has as many times its
  /// f32 rate as matrix products have theirs.
  double bf16_flops_per_second = 0;
  std::map<std::string, double> bf16_operations;
};

struct DeviceDescriptions {
  std::string source;  ///< where the figures come from: "FILE", "a guess from the CPU's model"
  DeviceDescription cpu, cuda;
};

/// What is known without measuring: a vector width and core count, usual bandwidths.
DeviceDescriptions guessed_devices();

/// A file that `sheaf bench --calibrate` wrote, or one like it: {"sheaf_devices": "1.0", "cpu": {…}, "cuda": {…}};
/// kinds and figures that it leaves out are guessed. Errors (located at the file): it cannot be read, another version,
/// an unknown field, a figure that isn't a positive number.
Result<DeviceDescriptions> read_devices(const std::string& file);

/// The text of such a file.
std::string devices_text(const DeviceDescriptions& devices);

/// What a lane of `threads` threads can do while `busy` threads work on lanes of its kind: bandwidth is shared.
/// `op`, the type that it multiplies (multiplied()) and the bytes that it touches tell which of the rates apply.
Roofline lane_roofline(const DeviceDescription& device, int threads, int busy, const std::string& op, DType dtype, double bytes);

}  // namespace sheaf
