#include "runtime/cuda/nvidia_backend.h"

#include "runtime/cuda/logged_driver.h"
#include "runtime/cuda/vendor/driver.h"
#include "runtime/cuda/vendor/library.h"
#include "runtime/cuda/vendor/nccl_ranks.h"

#include <cstdlib>

namespace sheaf::cuda {
namespace {

class NvidiaBackend final : public Backend {
 public:
  explicit NvidiaBackend(std::unique_ptr<Driver> driver) : driver_(std::move(driver)) {}

  Driver& driver() override { return driver_; }
  bool fuses_norms() const override { return true; }
  Result<std::unique_ptr<Library>> open_library(int device) override { return cuda::open_library(driver_, device); }
  Result<std::shared_ptr<Communicator>> open_communicator(std::span<const int> devices, std::string& why) override {
    return open_nccl(driver_, devices, why);
  }
  Result<std::string> rank_library() override {
    SHEAF_ASSIGN(const auto functions, NcclFunctions::open());
    return "NCCL " + functions->version();
  }
  Result<std::string> new_rank_communicator() override { return NcclRankCommunicator::new_name(); }
  Result<std::unique_ptr<RankCommunicator>> join_ranks(int device, const std::string& name, int rank, int ranks) override {
    SHEAF_ASSIGN(auto joined, NcclRankCommunicator::join(driver_, device, name, rank, ranks));
    return std::unique_ptr<RankCommunicator>(std::move(joined));
  }

 private:
  LoggedDriver driver_;
};

Result<std::shared_ptr<Backend>> open_backend() {
  // Before lanes have threads, which may read the environment. Otherwise cuDNN's products of several streams share a workspace,
  // and their bits depend on which comes first.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  SHEAF_ASSIGN(auto driver, open_nvidia_driver());
  return std::shared_ptr<Backend>(std::make_shared<NvidiaBackend>(std::move(driver)));
}

}  // namespace

Result<std::shared_ptr<Backend>> nvidia_backend() {
  // Never destroyed: when the process ends, the driver may be gone before statics are.
  static const auto& backend = *new Result<std::shared_ptr<Backend>>(open_backend());
  return backend;
}

}  // namespace sheaf::cuda
