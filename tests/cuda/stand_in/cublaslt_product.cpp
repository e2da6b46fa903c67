// The stand-in cuBLASLt's arithmetic.
#include "tests/cuda/stand_in/cublaslt.h"
#include "tests/cuda/stand_in/numbers.h"

#include <cmath>
#include <cstring>

namespace stand_in {
namespace {

double load(const char* memory, uint32_t type, uint64_t index) {
  if (type == CUDA_R_32F) {
    float value;
    std::memcpy(&value, memory + index * 4, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, memory + index * 2, 2);
  return type == CUDA_R_16BF ? from_bfloat16(bits) : from_float16(bits);
}

void store(char* memory, uint32_t type, uint64_t index, double value) {
  const auto rounded = static_cast<float>(value);
  if (type == CUDA_R_32F) {
    std::memcpy(memory + index * 4, &rounded, 4);
    return;
  }
  const uint16_t bits = type == CUDA_R_16BF ? to_bfloat16(rounded) : to_float16(rounded);
  std::memcpy(memory + index * 2, &bits, 2);
}

/// Element (i, j) of op(matrix `which` of the batch).
struct Operand {
  const char* memory;
  const LtLayout& layout;
  bool transposed, tf32;
  double operator()(uint64_t which, uint64_t i, uint64_t j) const {
    if (transposed) std::swap(i, j);
    const double value = load(memory, layout.type, which * uint64_t(layout.stride) + i + j * uint64_t(layout.leading));
    return tf32 ? to_tf32(static_cast<float>(value)) : value;
  }
};

double activate(uint32_t epilogue, double x) {
  if (epilogue & CUBLASLT_EPILOGUE_RELU) return x > 0 ? x : 0;
  if (epilogue & CUBLASLT_EPILOGUE_GELU)
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
  return x;
}

}  // namespace

size_t element_bytes(uint32_t type) { return type == CUDA_R_32F ? 4 : 2; }

size_t extent_bytes(const LtLayout& layout) {
  const uint64_t one = (layout.columns - 1) * uint64_t(layout.leading) + layout.rows;
  return (one + uint64_t(layout.batch - 1) * uint64_t(layout.stride)) * element_bytes(layout.type);
}

std::string misfit(const LtProblem& p) {
  const bool at = p.desc.transpose_a == CUBLAS_OP_T, bt = p.desc.transpose_b == CUBLAS_OP_T;
  const auto is_float = [](uint32_t type) { return type == CUDA_R_32F || type == CUDA_R_16BF || type == CUDA_R_16F; };
  if (p.desc.compute != CUBLAS_COMPUTE_32F && p.desc.compute != CUBLAS_COMPUTE_32F_FAST_TF32) return "the compute type";
  if (p.desc.scale != CUDA_R_32F || !is_float(p.a.type) || p.a.type != p.b.type || p.c.type != p.d.type) return "the types";
  if (p.d.type != CUDA_R_32F && p.d.type != p.a.type) return "the result's type";
  if ((at ? p.a.columns : p.a.rows) != p.m() || (bt ? p.b.rows : p.b.columns) != p.n() ||
      (bt ? p.b.columns : p.b.rows) != p.k() || p.c.rows != p.d.rows || p.c.columns != p.d.columns)
    return "the matrices' sizes";
  for (const LtLayout* layout : {&p.a, &p.b, &p.c, &p.d}) {
    if (layout->batch != p.d.batch || layout->batch < 1 || layout->stride < 0) return "the batches' sizes";
    if (layout->order != CUBLASLT_ORDER_COL) return "an order";
  }
  if (p.d.batch > 1 && uint64_t(p.d.stride) < (p.d.columns - 1) * uint64_t(p.d.leading) + p.d.rows)
    return "results of a batch that overlap";
  return "";
}

uint64_t number_of(const LtProblem& p) {
  uint64_t number = 14695981039346656037U;
  const auto add = [&](uint64_t value) { number = (number ^ value) * 1099511628211U; };
  for (const int32_t value : {p.desc.compute, p.desc.transpose_a, p.desc.transpose_b, int32_t(p.desc.epilogue)}) add(value);
  for (const LtLayout* layout : {&p.a, &p.b, &p.c, &p.d}) {
    for (const uint64_t value : {uint64_t(layout->type), layout->rows, layout->columns, uint64_t(layout->leading),
                                 uint64_t(layout->batch), uint64_t(layout->stride)})
      add(value);
  }
  return number;
}

void compute(const LtProblem& p, const LtAddresses& at, float alpha, float beta) {
  const bool tf32 = p.desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const Operand a{at.a, p.a, p.desc.transpose_a == CUBLAS_OP_T, tf32}, b{at.b, p.b, p.desc.transpose_b == CUBLAS_OP_T, tf32};
  const Operand c{at.c, p.c, false, false};
  for (uint64_t which = 0; which < uint64_t(p.d.batch); ++which) {
    for (uint64_t j = 0; j < p.n(); ++j) {
      for (uint64_t i = 0; i < p.m(); ++i) {
        double sum = 0;
        for (uint64_t l = 0; l < p.k(); ++l) sum += a(which, i, l) * b(which, l, j);
        sum *= alpha;
        if (beta != 0) sum += beta * c(which, i, j);
        if (p.desc.epilogue & CUBLASLT_EPILOGUE_BIAS) sum += load(at.bias, p.d.type, i);
        store(at.d, p.d.type, which * uint64_t(p.d.stride) + i + j * uint64_t(p.d.leading), activate(p.desc.epilogue, sum));
      }
    }
  }
  const bool of_a = p.desc.epilogue & CUBLASLT_EPILOGUE_BGRADA, of_b = p.desc.epilogue & CUBLASLT_EPILOGUE_BGRADB;
  for (uint64_t i = 0; (of_a || of_b) && i < p.bias_elements(); ++i) {
    double sum = 0;
    for (uint64_t l = 0; l < p.k(); ++l) sum += of_a ? a(0, i, l) : b(0, l, i);
    store(at.bias, p.d.type, i, sum);
  }
}

}  // namespace stand_in
