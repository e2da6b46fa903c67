// The speed of a machine's devices, as data: measured by calibration, written by hand for a machine that isn't here, or
// guessed from what is known about this one.
#pragma once

#include "runtime/cost/roofline.h"
#include "runtime/device/description.h"
#include "runtime/device/device.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sheaf {

struct DeviceDescriptions {
  std::string source;  ///< where the figures come from: "FILE", "a guess from the CPU's model"
  std::map<std::string, DeviceDescription, std::less<>> kinds;   ///< by backend's name
  std::map<std::string, DeviceDescription, std::less<>> sheets;  ///< data sheets, by DeviceInfo::model

  /// Of a device that is here, whose kind isn't known otherwise, its data sheet. All zeros if nothing is known.
  const DeviceDescription& of(const DeviceInfo& device) const;
  /// Where the figures of all these come from.
  std::string source_for(const std::vector<const DeviceInfo*>& devices) const;
};

/// What backends know without measuring (DeviceBackend::describe): a vector width and core count, usual bandwidths.
/// `model`: for the kind that has it, this device's data sheet (DeviceBackend::models).
DeviceDescriptions guessed_devices(const std::string& model = {});

/// A file that `sheaf bench --calibrate` wrote, or one like it: {"sheaf_devices": "1.0", "cpu": {…}, "cuda": {…}};
/// backends and figures that it leaves out are as guessed_devices(model) has them. Errors (located at the file): it cannot be
/// read, another version, an unknown field, a figure that isn't a positive number.
Result<DeviceDescriptions> read_devices(const std::string& file, const std::string& model = {});

/// The text of such a file.
std::string devices_text(const DeviceDescriptions& devices);

/// The rates of a lane of `threads` threads while `busy` threads work on lanes of its kind: bandwidth is shared.
/// `op` and the type that it multiplies (multiplied()) decide which arithmetic rate applies; of the `bytes` that it moves,
/// `cached` are in the lane's caches.
Roofline lane_roofline(const DeviceDescription& device, int threads, int busy, Op op, DType dtype, double bytes, double cached);

/// What a convolution of `channels` channels, computed by `candidate` (Selection::name(); "": not known), reaches of the rate that
/// lane_roofline() has: from DeviceDescription::fast_by_channels, or else by_channels, linearly over the logarithm of the number, and as the
/// nearest where it lies outside. 1 if they don't list `op`.
double channels_share(const DeviceDescription& device, Op op, DType dtype, int64_t channels, std::string_view candidate);

/// The same for an operation by itself: what fits into the caches is there.
Roofline lane_roofline(const DeviceDescription& device, int threads, int busy, Op op, DType dtype, double bytes);

/// Bytes that stay in the caches of a lane of `threads` threads.
double lane_cache(const DeviceDescription& device, int threads, int busy);

}  // namespace sheaf
