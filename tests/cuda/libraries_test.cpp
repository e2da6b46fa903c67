// cuBLASLt, cuDNN's recurrent layers and NCCL as far as they go without a GPU: every function exists, descriptors hold what was
// meant, and calls that need a GPU say so.
#include "runtime/cuda/vendor/cublaslt.h"
#include "runtime/cuda/vendor/cudnn_rnn.h"
#include "runtime/cuda/vendor/nccl.h"

#include <gtest/gtest.h>

namespace sheaf::cuda {
namespace {

/// Tests of a library's answers are left out if the library is missing.
#define OPENED_OR_SKIP(name, call)                                                                                          \
  auto name = call;                                                                                                         \
  if (!name && name.error().message().find("has no function") == std::string::npos) GTEST_SKIP() << name.error().message(); \
  ASSERT_TRUE(name) << name.error().message()

TEST(CublasLtLibrary, HasEveryFunction) {
  OPENED_OR_SKIP(library, CublasLt::open());
  EXPECT_GE(std::stoi((*library)->version()), 12) << (*library)->version();
}

TEST(CublasLtLibrary, DescriptorsHoldTheProduct) {
  OPENED_OR_SKIP(library, CublasLt::open());
  const CublasLt& lt = **library;
  LtRequest request;
  request.product = matmul_product({2, 6, 3, 4}, {2, 6, 5, 4}, {2, 6, 3, 5}, false, true).product;
  request.operands = DType::bfloat16;
  auto made = LtProduct::describe(*library, request);
  ASSERT_TRUE(made) << made.error().message();
  const auto of_desc = [&](cublasLtMatmulDescAttributes_t attribute) {
    int32_t value = -1;
    size_t written = 0;
    EXPECT_EQ(lt.get_desc((*made)->desc(), attribute, &value, sizeof value, &written), CUBLAS_STATUS_SUCCESS);
    return value;
  };
  EXPECT_EQ(of_desc(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), CUBLAS_COMPUTE_32F);
  EXPECT_EQ(of_desc(CUBLASLT_MATMUL_DESC_TRANSA), CUBLAS_OP_T);
  EXPECT_EQ(of_desc(CUBLASLT_MATMUL_DESC_TRANSB), CUBLAS_OP_N);
  EXPECT_EQ(of_desc(CUBLASLT_MATMUL_DESC_EPILOGUE), CUBLASLT_EPILOGUE_DEFAULT);
  const auto check = [&](cublasLtMatrixLayout_t layout, const MatrixLayout& wanted, cudaDataType_t type) {
    const auto get = [&](cublasLtMatrixLayoutAttribute_t attribute, auto value) {
      size_t written = 0;
      EXPECT_EQ(lt.get_layout(layout, attribute, &value, sizeof value, &written), CUBLAS_STATUS_SUCCESS);
      return value;
    };
    EXPECT_EQ(get(CUBLASLT_MATRIX_LAYOUT_TYPE, uint32_t{0}), uint32_t(type));
    EXPECT_EQ(get(CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t{-1}), CUBLASLT_ORDER_COL);
    EXPECT_EQ(get(CUBLASLT_MATRIX_LAYOUT_ROWS, uint64_t{0}), uint64_t(wanted.rows));
    EXPECT_EQ(get(CUBLASLT_MATRIX_LAYOUT_COLS, uint64_t{0}), uint64_t(wanted.columns));
    EXPECT_EQ(get(CUBLASLT_MATRIX_LAYOUT_LD, int64_t{0}), wanted.leading);
    EXPECT_EQ(get(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{0}), 12);
    EXPECT_EQ(get(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{-1}), wanted.stride);
  };
  check((*made)->layout_a(), request.product.a, CUDA_R_16BF);
  check((*made)->layout_b(), request.product.b, CUDA_R_16BF);
  check((*made)->layout_d(), request.product.d, CUDA_R_32F);
}

TEST(CublasLtLibrary, OnlyFastNumericsRoundToTf32) {
  OPENED_OR_SKIP(library, CublasLt::open());
  for (const bool fast : {false, true}) {
    for (const DType dtype : {DType::float32, DType::float16}) {
      LtRequest request;
      request.product = linear_product(3, 4, 5);
      request.operands = request.result = dtype;
      request.fast = fast;
      auto made = LtProduct::describe(*library, request);
      ASSERT_TRUE(made) << made.error().message();
      int32_t compute = 0;
      size_t written = 0;
      ASSERT_EQ((*library)->get_desc((*made)->desc(), CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &compute, sizeof compute, &written),
                CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(compute, fast && dtype == DType::float32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F);
    }
  }
}

TEST(CublasLtLibrary, FailuresAreInItsOwnWords) {
  OPENED_OR_SKIP(library, CublasLt::open());
  EXPECT_EQ((*library)->failure("cublasLtMatmul", CUBLAS_STATUS_NOT_SUPPORTED).message(),
            std::string("cublasLtMatmul: ") + (*library)->get_status_string(CUBLAS_STATUS_NOT_SUPPORTED));
}

TEST(RnnLibrary, HasEveryFunction) {
  OPENED_OR_SKIP(functions, RnnFunctions::open());
  EXPECT_NE((*functions)->failure("cudnnRNNForward", CUDNN_STATUS_BAD_PARAM).message().find("cudnnRNNForward: CUDNN_STATUS"),
            std::string::npos);
}

TEST(RnnLibrary, PlannedWithoutAHandle) {
  RnnShape shape;
  shape.steps = 7;
  shape.rows = 3;
  shape.features = 4;
  shape.hidden = 5;
  shape.layers = 2;
  shape.directions = 2;
  auto made = RnnDescriptors::make(nullptr, shape, true, false);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ((*made)->weight_bytes, (2 * 4 * 5 * (4 + 5 + 2) + 2 * 4 * 5 * (10 + 5 + 2)) * sizeof(float));
  EXPECT_GT((*made)->reserve_bytes, 0U);
}

TEST(NcclLibrary, HasEveryFunction) {
  OPENED_OR_SKIP(functions, NcclFunctions::open());
  EXPECT_GE(std::stoi((*functions)->version()), 2) << (*functions)->version();
  EXPECT_EQ((*functions)->failure("ncclReduce", ncclInvalidArgument).message().find("ncclReduce: invalid argument"), 0U);
}

}  // namespace
}  // namespace sheaf::cuda
