#include "tests/sim/emulated_module.h"

#include <map>
#include <mutex>

namespace sheaf::sim {
namespace {

class EmulatedModule final : public KernelCode {
 public:
  explicit EmulatedModule(ptx::PtxModule module) : module_(std::move(module)) {}
  std::optional<std::vector<size_t>> parameters(const std::string& entry) const override {
    if (!module_.has(entry)) return std::nullopt;
    std::vector<size_t> bytes;
    for (const ptx::ParameterInfo& parameter : module_.parameters(entry)) bytes.push_back(parameter.bytes);
    return bytes;
  }
  Result<void> launch(const std::string& entry, const cuda::Launch& launch, OperationMemory& memory) const override {
    ptx::LaunchSize size;
    for (size_t i = 0; i < 3; ++i) size.grid[i] = launch.grid[i];
    size.block[0] = launch.block;
    size.shared_bytes = launch.shared_bytes;
    size.cooperative = launch.together;
    ptx::LaunchOptions options;
    options.reverse_blocks = true;
    options.detect_races = true;
    auto counts = module_.launch(entry, size, launch.arguments, memory, options);
    if (!counts) return counts.error();
    return {};
  }

 private:
  ptx::PtxModule module_;
};

}  // namespace

Result<std::shared_ptr<const KernelCode>> emulated_module(const std::string& ptx) {
  // A queue's own kernels are loaded for each machine that a test makes, so a text is parsed only once.
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const KernelCode>> parsed;
  const std::lock_guard lock(mutex);
  auto& code = parsed[ptx];
  if (!code) {
    auto module = ptx::PtxModule::parse(ptx);
    if (!module) return Error(to_string(module.error()));
    code = std::make_shared<EmulatedModule>(std::move(*module));
  }
  return code;
}

}  // namespace sheaf::sim
