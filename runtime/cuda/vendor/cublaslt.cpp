#include "runtime/cuda/vendor/cublaslt.h"

#include "runtime/cuda/vendor/shared_library.h"

namespace sheaf::cuda {

Result<std::shared_ptr<CublasLt>> CublasLt::open() {
  auto library = SharedLibrary::open("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"});
  if (!library) return library.error();
  auto lt = std::make_shared<CublasLt>();
  auto found =
      Symbols(*library)("cublasLtCreate", lt->create)("cublasLtDestroy", lt->destroy)("cublasLtGetVersion", lt->get_version)(
          "cublasLtGetStatusString", lt->get_status_string)("cublasLtMatmul", lt->matmul)(
          "cublasLtMatmulAlgoGetHeuristic", lt->get_heuristic)("cublasLtMatmulAlgoConfigGetAttribute", lt->get_algo_attribute)(
          "cublasLtMatmulDescCreate", lt->create_desc)("cublasLtMatmulDescDestroy", lt->destroy_desc)(
          "cublasLtMatmulDescSetAttribute", lt->set_desc)("cublasLtMatmulDescGetAttribute", lt->get_desc)(
          "cublasLtMatrixLayoutCreate", lt->create_layout)("cublasLtMatrixLayoutDestroy", lt->destroy_layout)(
          "cublasLtMatrixLayoutSetAttribute", lt->set_layout)("cublasLtMatrixLayoutGetAttribute", lt->get_layout)(
          "cublasLtMatmulPreferenceCreate", lt->create_preference)("cublasLtMatmulPreferenceDestroy", lt->destroy_preference)(
          "cublasLtMatmulPreferenceSetAttribute", lt->set_preference)
          .result();
  if (!found) return found.error();
  return lt;
}

CublasLt::~CublasLt() {
  if (handle_) destroy(handle_);
}

Result<void> CublasLt::make_handle() {
  if (handle_) return {};
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
