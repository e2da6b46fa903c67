// A stand-in libcublasLt.so.13: handles, descriptions, layouts, preferences. Includes cublasLt.h, so that its functions have the real
// ones' names and types.
#include "tests/cuda/stand_in/cublaslt.h"

#include <cstring>

namespace stand_in {
namespace {

uint32_t refused = 0;

/// Where an attribute is and its size; null: this stand-in doesn't have it.
struct Place {
  void* data = nullptr;
  size_t bytes = 0;
};
template <typename T>
Place at(T& member) {
  return {&member, sizeof member};
}

Place place(LtDesc& desc, int attribute) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return at(desc.compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return at(desc.scale);
    case CUBLASLT_MATMUL_DESC_TRANSA: return at(desc.transpose_a);
    case CUBLASLT_MATMUL_DESC_TRANSB: return at(desc.transpose_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return at(desc.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return at(desc.bias);
    default: return {};
  }
}
Place place(LtLayout& layout, int attribute) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return at(layout.type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return at(layout.order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return at(layout.rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return at(layout.columns);
    case CUBLASLT_MATRIX_LAYOUT_LD: return at(layout.leading);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return at(layout.batch);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return at(layout.stride);
    default: return {};
  }
}
Place place(LtPreference& preference, int attribute) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return at(preference.workspace);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return at(preference.schemes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return at(preference.alignment_a);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return at(preference.alignment_b);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return at(preference.alignment_c);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return at(preference.alignment_d);
    default: return {};
  }
}
Place place(LtAlgorithm& algorithm, int attribute) {
  switch (attribute) {
    case CUBLASLT_ALGO_CONFIG_ID: return at(algorithm.id);
    case CUBLASLT_ALGO_CONFIG_TILE_ID: return at(algorithm.tile);
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM: return at(algorithm.parts);
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME: return at(algorithm.scheme);
    default: return {};
  }
}

bool fits(const Place& place, const void* buffer, size_t bytes, int attribute, const char* call) {
  if (place.data && place.bytes == bytes && buffer) return true;
  fault(std::string(call) + ": attribute " + std::to_string(attribute) + " of " + std::to_string(bytes) + " bytes");
  return false;
}

template <typename T>
cublasStatus_t set(const std::shared_ptr<T>& object, int attribute, const void* from, size_t bytes, const char* call) {
  if (!object) return CUBLAS_STATUS_INVALID_VALUE;
  const Place to = place(*object, attribute);
  if (!fits(to, from, bytes, attribute, call)) return CUBLAS_STATUS_INVALID_VALUE;
  return std::memcpy(to.data, from, bytes), CUBLAS_STATUS_SUCCESS;
}
template <typename T>
cublasStatus_t get(T* object, int attribute, void* to, size_t bytes, size_t* written, const char* call) {
  if (!object) return CUBLAS_STATUS_INVALID_VALUE;
  const Place from = place(*object, attribute);
  if (!fits(from, to, bytes, attribute, call)) return CUBLAS_STATUS_INVALID_VALUE;
  if (written) *written = bytes;
  return std::memcpy(to, from.data, bytes), CUBLAS_STATUS_SUCCESS;
}

template <typename Handle, typename T>
cublasStatus_t made(Handle* handle, Handles<T>& handles, T object) {
  *handle = reinterpret_cast<Handle>(handles.make(std::make_shared<T>(object)));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t ended(bool there) { return there ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE; }

}  // namespace

LtObjects& lt() {
  static auto& objects = *new LtObjects;
  return objects;
}
void refuse_epilogues(uint32_t epilogues) { refused = epilogues; }
bool refuses(uint32_t epilogue) { return (epilogue & refused) != 0; }

}  // namespace stand_in

using namespace stand_in;

extern "C" {

size_t cublasLtGetVersion() { return 130002; }
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS           ? "CUBLAS_STATUS_SUCCESS"
         : status == CUBLAS_STATUS_NOT_INITIALIZED ? "CUBLAS_STATUS_NOT_INITIALIZED"
         : status == CUBLAS_STATUS_INVALID_VALUE   ? "CUBLAS_STATUS_INVALID_VALUE"
         : status == CUBLAS_STATUS_NOT_SUPPORTED   ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                   : "CUBLAS_STATUS_OF_SOME_KIND";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  const Lock lock(machine());
  if (current_device() < 0) {
    fault("cublasLtCreate: no context is current");
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  return made(handle, lt().handles, {current_device()});
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  const Lock lock(machine());
  const auto found = lt().handles.find(handle, "cublasLtDestroy");
  if (found && found->device != current_device()) fault("cublasLtDestroy: the context of the handle is not current");
  return ended(found && lt().handles.destroy(handle, "cublasLtDestroy"));
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType_t scale) {
  const Lock lock(machine());
  LtDesc wanted;
  wanted.compute = compute;
  wanted.scale = scale;
  return made(desc, lt().descs, wanted);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  const Lock lock(machine());
  return ended(lt().descs.destroy(desc, "cublasLtMatmulDescDestroy"));
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void* from, size_t bytes) {
  const Lock lock(machine());
  return set(lt().descs.find(desc, __func__), attribute, from, bytes, __func__);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, void* to,
                                              size_t bytes, size_t* written) {
  const Lock lock(machine());
  return get(lt().descs.find(desc, __func__).get(), attribute, to, bytes, written, __func__);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows, uint64_t columns,
                                          int64_t leading) {
  const Lock lock(machine());
  if (rows == 0 || columns == 0 || leading < static_cast<int64_t>(rows)) {
    fault("cublasLtMatrixLayoutCreate: rows that are longer than the way to the next column, or none");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  LtLayout wanted;
  wanted.type = type;
  wanted.rows = rows;
  wanted.columns = columns;
  wanted.leading = leading;
  return made(layout, lt().layouts, wanted);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  const Lock lock(machine());
  return ended(lt().layouts.destroy(layout, "cublasLtMatrixLayoutDestroy"));
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* from, size_t bytes) {
  const Lock lock(machine());
  return set(lt().layouts.find(layout, __func__), attribute, from, bytes, __func__);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
                                                void* to, size_t bytes, size_t* written) {
  const Lock lock(machine());
  return get(lt().layouts.find(layout, __func__).get(), attribute, to, bytes, written, __func__);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  const Lock lock(machine());
  return made(preference, lt().preferences, {});
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  const Lock lock(machine());
  return ended(lt().preferences.destroy(preference, "cublasLtMatmulPreferenceDestroy"));
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* from,
                                                    size_t bytes) {
  const Lock lock(machine());
  return set(lt().preferences.find(preference, __func__), attribute, from, bytes, __func__);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* to, size_t bytes,
                                                    size_t* written) {
  LtAlgorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof algorithm);
  return get(&algorithm, attribute, to, bytes, written, __func__);
}

}  // extern "C"
