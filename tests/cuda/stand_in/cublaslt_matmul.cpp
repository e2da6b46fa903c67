// The stand-in cuBLASLt: its heuristics, and its product with all that must hold of it.
#include "tests/cuda/stand_in/cublaslt.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace stand_in {
namespace {

std::optional<LtProblem> problem_of(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, const char* call) {
  const auto found = lt().descs.find(desc, call);
  const auto of = [&](cublasLtMatrixLayout_t layout) { return lt().layouts.find(layout, call); };
  const auto fa = of(a), fb = of(b), fc = of(c), fd = of(d);
  if (!found || !fa || !fb || !fc || !fd) return std::nullopt;
  const LtProblem problem{*found, *fa, *fb, *fc, *fd};
  if (const std::string why = misfit(problem); !why.empty()) {
    fault(std::string(call) + ": " + why);
    return std::nullopt;
  }
  return problem;
}

/// Whether all columns and matrices begin at multiples of `alignment` if the first one does.
bool keeps(const LtLayout& layout, uint32_t alignment) {
  const size_t bytes = element_bytes(layout.type);
  return size_t(layout.leading) * bytes % alignment == 0 && size_t(layout.stride) * bytes % alignment == 0;
}

/// By their order: one whose sums' order depends on threads, where the preference allows that; four parts of k with room for
/// them; one that works in place.
std::vector<LtAlgorithm> algorithms(const LtProblem& p, const LtPreference& preference, int device) {
  LtAlgorithm base;
  base.alignment =
      std::min({preference.alignment_a, preference.alignment_b, preference.alignment_c, preference.alignment_d, uint32_t{16}});
  for (const LtLayout* layout : {&p.a, &p.b, &p.c, &p.d}) {
    if (!keeps(*layout, base.alignment)) return {};
  }
  base.product = number_of(p);
  base.device = device;
  std::vector<LtAlgorithm> found;
  const auto add = [&](int32_t id, int32_t parts, uint32_t scheme, uint64_t workspace) {
    if ((scheme & preference.schemes) != scheme || workspace > preference.workspace) return;
    LtAlgorithm& one = found.emplace_back(base);
    one.id = id;
    one.parts = parts;
    one.scheme = scheme;
    one.workspace = workspace;
  };
  const uint64_t parts = 4 * p.m() * p.n() * uint64_t(p.d.batch) * 4;
  if (p.k() >= 8) {
    add(99, 4, CUBLASLT_REDUCTION_SCHEME_INPLACE, 4096);
    add(98, 4, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, 4096);
    add(66, 4, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, parts);
  }
  add(21, 1, CUBLASLT_REDUCTION_SCHEME_NONE, 0);
  return found;
}

struct Memory {
  std::string name;
  const char* data;
  size_t bytes;
  uint32_t alignment;
  bool writes = false;
};

bool overlap(const Memory& one, const Memory& two) {
  return one.data < two.data + two.bytes && two.data < one.data + one.bytes;
}

/// The first rule that is broken; empty: none is.
std::string broken(const LtProblem& p, const LtAddresses& at, const LtAlgorithm& algorithm, float beta, const void* workspace,
                   size_t workspace_bytes, int device) {
  if (algorithm.mark != LtAlgorithm::kMark) return "no algorithm of its own heuristics";
  if (algorithm.product != number_of(p) || algorithm.device != device) return "the algorithm of another product or device";
  if (workspace_bytes < algorithm.workspace)
    return "a workspace of " + std::to_string(workspace_bytes) + " bytes, where its algorithm takes " +
           std::to_string(algorithm.workspace);
  std::vector<Memory> all = {{"A", at.a, extent_bytes(p.a), algorithm.alignment},
                             {"B", at.b, extent_bytes(p.b), algorithm.alignment},
                             {"D", at.d, extent_bytes(p.d), algorithm.alignment, true}};
  if (beta != 0) all.push_back({"C", at.c, extent_bytes(p.c), algorithm.alignment});
  if (p.has_bias())
    all.push_back({"the bias", at.bias, p.bias_elements() * element_bytes(p.d.type), algorithm.alignment,
                   !(p.desc.epilogue & CUBLASLT_EPILOGUE_BIAS)});
  if (algorithm.workspace != 0)
    all.push_back({"the workspace", static_cast<const char*>(workspace), workspace_bytes, 256, true});
  for (const Memory& one : all) {
    if (reinterpret_cast<uintptr_t>(one.data) % one.alignment != 0)
      return one.name + " is not aligned to " + std::to_string(one.alignment) + " bytes";
    if (device_of(one.data, one.bytes) != device)
      return one.name + " is no " + std::to_string(one.bytes) + " bytes of the device's memory";
  }
  for (const Memory& one : all) {
    for (const Memory& two : all) {
      const bool in_place = one.name == "D" && two.name == "C" && one.data == two.data;
      if (&one != &two && one.writes && !in_place && overlap(one, two)) return one.name + " and " + two.name + " overlap";
    }
  }
  return "";
}

}  // namespace
}  // namespace stand_in

using namespace stand_in;

extern "C" {

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t wanted, int room,
                                              cublasLtMatmulHeuristicResult_t results[], int* count) {
  const Lock lock(machine());
  const auto found = lt().handles.find(handle, __func__);
  const auto preference = lt().preferences.find(wanted, __func__);
  const auto problem = problem_of(desc, a, b, c, d, __func__);
  *count = 0;
  if (!found || !preference || !problem || room < 1) return CUBLAS_STATUS_INVALID_VALUE;
  if (refuses(problem->desc.epilogue)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto add = [&](cublasStatus_t state, const LtAlgorithm& algorithm) {
    if (*count == room) return;
    cublasLtMatmulHeuristicResult_t& result = results[(*count)++];
    result = {};
    result.state = state;
    result.workspaceSize = algorithm.workspace;
    std::memcpy(&result.algo, &algorithm, sizeof algorithm);
  };
  const auto all = algorithms(*problem, *preference, found->device);
  if (all.empty()) return CUBLAS_STATUS_NOT_SUPPORTED;
  LtAlgorithm none;
  none.mark = 0;
  add(CUBLAS_STATUS_NOT_SUPPORTED, none);  // lists may hold such
  for (const LtAlgorithm& algorithm : all) add(CUBLAS_STATUS_SUCCESS, algorithm);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, size_t workspace_bytes, cudaStream_t to) {
  const Lock lock(machine());
  const auto found = lt().handles.find(handle, __func__);
  const auto stream = find_stream(reinterpret_cast<CUstream>(to), __func__);
  const auto problem = problem_of(desc, a_layout, b_layout, c_layout, d_layout, __func__);
  if (!found || !stream || !problem) return CUBLAS_STATUS_INVALID_VALUE;
  if (!alpha || !beta || !algo) return fault("cublasLtMatmul: a null"), CUBLAS_STATUS_INVALID_VALUE;
  if (found->device != stream->device || found->device != current_device()) {
    fault("cublasLtMatmul: handle, stream and current context are of different devices");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  LtAlgorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof algorithm);
  float scale = 0, add = 0;
  std::memcpy(&scale, alpha, sizeof scale);
  std::memcpy(&add, beta, sizeof add);
  const LtAddresses at{static_cast<const char*>(a), static_cast<const char*>(b), static_cast<const char*>(c),
                       static_cast<char*>(d), static_cast<char*>(problem->desc.bias)};
  if (const std::string why = broken(*problem, at, algorithm, add, workspace, workspace_bytes, found->device); !why.empty()) {
    fault("cublasLtMatmul: " + why);
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  put(*stream, [=, problem = *problem] {
    // What it leaves in its workspace is nobody's.
    if (algorithm.workspace != 0) std::memset(workspace, 0xff, algorithm.workspace);
    compute(problem, at, scale, add);
    return true;
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
