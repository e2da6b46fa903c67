// What is assumed about a GPU that is planned for but that no driver describes.
#pragma once

#include "runtime/cuda/driver.h"

namespace sheaf::cuda {

/// An NVIDIA H200's properties, as cuDNN's frontend serialises them (cudnn_frontend::DeviceProperties).
inline constexpr const char* kAssumedGpu = R"({
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "multiProcessorCount": 132,
  "warpSize": 32, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
  "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0,
  "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 150110011392, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000,
  "l2CacheSize": 62914560, "cudaDeviceId": 0, "deviceVer": 900, "driverVer": 13000, "deviceName": "NVIDIA H200"
})";

/// The same, as a driver would report them.
DeviceProperties assumed_properties();

}  // namespace sheaf::cuda
