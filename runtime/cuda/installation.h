// NVIDIA's installed software: for `sheaf devices`.
#pragma once

#include "runtime/cuda/driver.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sheaf::cuda {

struct Installation {
  struct Library {
    std::string name;     ///< "cuDNN"
    std::string version;  ///< "9.19.0"; empty if it cannot be opened
    std::string path;     ///< the file
    std::string problem;  ///< why it cannot be opened; empty if it can
  };
  struct Gpu {
    DeviceProperties properties;
    std::optional<int64_t> used_bytes;  ///< as nvidia-smi shows it; of all processes
  };
  std::string driver_version;  ///< "580.65.06"; empty if unknown
  std::string cuda_version;    ///< the one that the driver supports: "13.0"; empty without a driver
  std::vector<Gpu> gpus;       ///< cuda:0, cuda:1, …
  std::string problem;         ///< why there are none
  std::vector<Library> libraries;
};

/// Opens everything it can. A build without the CUDA backend says so.
Installation look_at_installation();

}  // namespace sheaf::cuda
