// What the files of the stand-in cuBLASLt share, and what tests tell it.
#pragma once

#include "tests/cuda/stand_in/machine.h"

#include <cublasLt.h>

namespace stand_in {

/// The heuristics then have no algorithm for products with one of these epilogues (bits of cublasLtEpilogue_t).
void refuse_epilogues(uint32_t epilogues);
bool refuses(uint32_t epilogue);

struct LtHandle {
  int device = 0;
};
struct LtDesc {
  int32_t compute = 0, scale = 0;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
};
struct LtLayout {
  uint32_t type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t order = CUBLASLT_ORDER_COL, batch = 1;
  int64_t stride = 0;
};
struct LtPreference {
  uint64_t workspace = 0;
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
};

struct LtObjects {
  Handles<LtHandle> handles{"cublasLtHandle"};
  Handles<LtDesc> descs{"cublasLtMatmulDesc"};
  Handles<LtLayout> layouts{"cublasLtMatrixLayout"};
  Handles<LtPreference> preferences{"cublasLtMatmulPreference"};
};
LtObjects& lt();

/// What is in a cublasLtMatmulAlgo_t.
struct LtAlgorithm {
  static constexpr uint32_t kMark = 0x5eaf1177;
  uint32_t mark = kMark;
  int32_t id = 0, tile = 20, parts = 1;
  uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_NONE, alignment = 1;
  uint64_t workspace = 0;
  uint64_t product = 0;  ///< the one that it was made for
  int32_t device = 0;
};
static_assert(sizeof(LtAlgorithm) <= sizeof(cublasLtMatmulAlgo_t));

/// The four matrices of a product with their description.
struct LtProblem {
  LtDesc desc;
  LtLayout a, b, c, d;
  uint64_t m() const { return d.rows; }
  uint64_t n() const { return d.columns; }
  uint64_t k() const { return desc.transpose_a == CUBLAS_OP_N ? a.columns : a.rows; }
  bool has_bias() const {
    return desc.epilogue & (CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB);
  }
  uint64_t bias_elements() const { return desc.epilogue & CUBLASLT_EPILOGUE_BGRADB ? n() : m(); }
};
size_t element_bytes(uint32_t type);
size_t extent_bytes(const LtLayout& layout);
/// Empty, or why they are no product.
std::string misfit(const LtProblem& problem);
uint64_t number_of(const LtProblem& problem);

struct LtAddresses {
  const char *a = nullptr, *b = nullptr, *c = nullptr;
  char *d = nullptr, *bias = nullptr;
};
/// D = alpha · op(A) · op(B) + beta · C with the epilogue, summed as double.
void compute(const LtProblem& problem, const LtAddresses& at, float alpha, float beta);

}  // namespace stand_in
