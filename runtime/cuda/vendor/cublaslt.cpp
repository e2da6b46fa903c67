#include "runtime/cuda/vendor/cublaslt.h"

#include "runtime/cuda/vendor/shared_library.h"

namespace sheaf::cuda {

Result<std::shared_ptr<CublasLt>> CublasLt::open() {
  SHEAF_ASSIGN(auto library, SharedLibrary::open("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}));
  auto lt = std::make_shared<CublasLt>();
  SHEAF_TRY(Symbols(library)
                .require("cublasLtCreate", lt->create)
                .require("cublasLtDestroy", lt->destroy)
                .require("cublasLtGetVersion", lt->get_version)
                .require("cublasLtGetStatusString", lt->get_status_string)
                .require("cublasLtMatmul", lt->matmul)
                .require("cublasLtMatmulAlgoGetHeuristic", lt->get_heuristic)
                .require("cublasLtMatmulAlgoConfigGetAttribute", lt->get_algo_attribute)
                .require("cublasLtMatmulDescCreate", lt->create_desc)
                .require("cublasLtMatmulDescDestroy", lt->destroy_desc)
                .require("cublasLtMatmulDescSetAttribute", lt->set_desc)
                .require("cublasLtMatmulDescGetAttribute", lt->get_desc)
                .require("cublasLtMatrixLayoutCreate", lt->create_layout)
                .require("cublasLtMatrixLayoutDestroy", lt->destroy_layout)
                .require("cublasLtMatrixLayoutSetAttribute", lt->set_layout)
                .require("cublasLtMatrixLayoutGetAttribute", lt->get_layout)
                .require("cublasLtMatmulPreferenceCreate", lt->create_preference)
                .require("cublasLtMatmulPreferenceDestroy", lt->destroy_preference)
                .require("cublasLtMatmulPreferenceSetAttribute", lt->set_preference)
                .result());
  return lt;
}

CublasLt::~CublasLt() {
  // The thread that lets go of it may have no device, or another.
  if (handle_ && driver_->make_current(device_)) destroy(handle_);
}

Result<void> CublasLt::make_handle(Driver& driver, int device) {
  SHEAF_TRY(driver.make_current(device));
  if (handle_) return {};
  driver_ = &driver;
  device_ = device;
  if (const auto status = create(&handle_); status != CUBLAS_STATUS_SUCCESS) {
    handle_ = nullptr;
    return failure("cublasLtCreate", status);
  }
  return {};
}

std::string CublasLt::version() const {
  const size_t number = get_version();
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

Error CublasLt::failure(const char* call, cublasStatus_t status) const {
  return Error(std::string(call) + ": " + get_status_string(status));
}

}  // namespace sheaf::cuda
