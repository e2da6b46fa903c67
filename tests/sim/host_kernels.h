// Kernels that are functions of this program, for tests of their launchers: a module's text is their names.
#pragma once

#include "tests/sim/sim_driver.h"

#include <functional>
#include <map>
#include <sstream>

namespace sheaf::sim {

/// Parameters are 64 bits each.
struct HostKernel {
  size_t parameters = 0;
  std::function<Result<void>(const cuda::Launch& launch, std::span<const uint64_t> arguments, OperationMemory& memory)> run;
};

class HostKernels final : public KernelCode {
 public:
  explicit HostKernels(std::map<std::string, HostKernel> kernels) : kernels_(std::move(kernels)) {}
  std::optional<std::vector<size_t>> parameters(const std::string& entry) const override {
    const auto found = kernels_.find(entry);
    if (found == kernels_.end()) return std::nullopt;
    return std::vector<size_t>(found->second.parameters, 8);
  }
  Result<void> launch(const std::string& entry, const cuda::Launch& launch, OperationMemory& memory) const override {
    const HostKernel& kernel = kernels_.at(entry);
    std::vector<uint64_t> values;
    for (size_t i = 0; i < kernel.parameters; ++i) values.push_back(*static_cast<const uint64_t*>(launch.arguments[i]));
    return kernel.run(launch, values, memory);
  }

 private:
  std::map<std::string, HostKernel> kernels_;
};

}  // namespace sheaf::sim
