// cuBLASLt, opened at run time, and one product prepared with it.
#pragma once

#include "runtime/cuda/matrix_product.h"
#include "runtime/cuda/own_launch.h"

#include <cublasLt.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sheaf::cuda {

class CublasLt {
 public:
  /// Errors: no such library, or one that lacks a function.
  static Result<std::shared_ptr<CublasLt>> open();
  CublasLt() = default;
  CublasLt(const CublasLt&) = delete;
  ~CublasLt();

  /// For `device`, which is current on this thread from then on; created once. The driver outlives the handle. Errors:
  /// cuBLASLt's own, or the driver's.
  Result<void> make_handle(Driver& driver, int device);
  /// Leaves the handle to the process (Library::abandon()).
  void abandon() { handle_ = nullptr; }
  cublasLtHandle_t handle() const { return handle_; }
  std::string version() const;  ///< "13.0.2"
  /// "cublasLtMatmul: the reason in cuBLAS's words"
  Error failure(const char* call, cublasStatus_t status) const;

  decltype(::cublasLtCreate)* create = nullptr;
  decltype(::cublasLtDestroy)* destroy = nullptr;
  decltype(::cublasLtGetVersion)* get_version = nullptr;
  decltype(::cublasLtGetStatusString)* get_status_string = nullptr;
  decltype(::cublasLtMatmul)* matmul = nullptr;
  decltype(::cublasLtMatmulAlgoGetHeuristic)* get_heuristic = nullptr;
  decltype(::cublasLtMatmulAlgoConfigGetAttribute)* get_algo_attribute = nullptr;
  decltype(::cublasLtMatmulDescCreate)* create_desc = nullptr;
  decltype(::cublasLtMatmulDescDestroy)* destroy_desc = nullptr;
  decltype(::cublasLtMatmulDescSetAttribute)* set_desc = nullptr;
  decltype(::cublasLtMatmulDescGetAttribute)* get_desc = nullptr;
  decltype(::cublasLtMatrixLayoutCreate)* create_layout = nullptr;
  decltype(::cublasLtMatrixLayoutDestroy)* destroy_layout = nullptr;
  decltype(::cublasLtMatrixLayoutSetAttribute)* set_layout = nullptr;
  decltype(::cublasLtMatrixLayoutGetAttribute)* get_layout = nullptr;
  decltype(::cublasLtMatmulPreferenceCreate)* create_preference = nullptr;
  decltype(::cublasLtMatmulPreferenceDestroy)* destroy_preference = nullptr;
  decltype(::cublasLtMatmulPreferenceSetAttribute)* set_preference = nullptr;

 private:
  cublasLtHandle_t handle_ = nullptr;
  Driver* driver_ = nullptr;  ///< of the handle
  int device_ = 0;
};

/// The parameters of a product. Operands as in MatrixProduct.
struct LtRequest {
  MatrixProduct product;
  std::vector<ProductOffsets> calls = {{}};
  DType operands = DType::float32;  ///< of A and B
  DType result = DType::float32;    ///< of C and D
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  MemoryRef a, b, d;
  MemoryRef c;        ///< added to the product; none: nothing is added
  MemoryRef bias;     ///< of an epilogue with bias (of D's dtype), or its gradient
  bool fast = false;  ///< f32 may be rounded to TF32 first
  bool deterministic = true;
};

/// A product with the algorithms that cuBLASLt chose for it: one for operands that are all aligned to 16 bytes, one for
/// operands aligned only to their elements.
class LtProduct {
 public:
  static constexpr size_t kWorkspaceLimit = size_t{32} << 20;

  /// Only the descriptors. Errors: cuBLASLt's.
  static Result<std::unique_ptr<LtProduct>> describe(std::shared_ptr<CublasLt> library, const LtRequest& request);
  /// Chooses algorithms; false if cuBLASLt has none for the request. `scratch_bytes`: takes the workspace.
  Result<bool> choose(size_t& scratch_bytes);
  ~LtProduct();

  /// The device must be current on this thread.
  Result<void> enqueue(const Enqueue& at);
  /// For the aligned algorithm: "algorithm 66, tile 20, 4 parts of k".
  const std::string& algorithm() const { return algorithm_; }
  int candidates() const { return candidates_; }

  const LtRequest& request() const { return request_; }
  cublasLtMatmulDesc_t desc() const { return desc_; }
  cublasLtMatrixLayout_t layout_a() const { return a_; }
  cublasLtMatrixLayout_t layout_b() const { return b_; }
  cublasLtMatrixLayout_t layout_d() const { return d_; }

 private:
  LtProduct(std::shared_ptr<CublasLt> library, const LtRequest& request) : library_(std::move(library)), request_(request) {}
  Result<cublasLtMatrixLayout_t> layout(const MatrixLayout& matrix, DType dtype);
  Result<void> set_bias(const void* pointer);
  Result<std::optional<cublasLtMatmulHeuristicResult_t>> ask(uint32_t alignment, int* candidates);
  void describe_algorithm(const cublasLtMatmulAlgo_t& algo);

  std::shared_ptr<CublasLt> library_;
  LtRequest request_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulHeuristicResult_t aligned_{}, unaligned_{};
  MemoryRef workspace_;
  size_t workspace_bytes_ = 0;
  std::string algorithm_;
  int candidates_ = 0;
};

}  // namespace sheaf::cuda
