// Tensors in files: safetensors, NumPy's npy and npz, IDX. Errors are located at the file.
#pragma once

#include "runtime/base/error.h"
#include "sheaf/tensor.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

struct SafetensorsContent {
  std::vector<NamedTensor> tensors;  ///< by name
  std::map<std::string, std::string> metadata;
};

/// All of a safetensors file (https://github.com/huggingface/safetensors): F32, F64 (becomes float32), F16, BF16, I64, I32 and
/// U8. Errors: a malformed header or one above 100 MB; tensors that overlap or leave holes; another dtype; too little memory.
Result<SafetensorsContent> read_safetensors(const std::string& file);

/// Writes `tensors` in this order, completely or not at all. Errors: a name twice or "__metadata__"; the file can't be written.
Result<void> write_safetensors(const std::string& file, std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata = {});

/// A NumPy array (.npy): C or Fortran order, little-endian f4, f2, f8 (becomes float32), i8, i4 and u1. Errors: anything else,
/// a malformed header, fewer or more bytes than the shape needs.
Result<HostTensor> read_npy(const std::string& file);

/// Array `key` of a .npz archive. Errors: not a zip archive; no such array (lists those there are); those of read_npy().
Result<HostTensor> read_npz(const std::string& file, const std::string& key);

/// An IDX file (http://yann.lecun.com/exdb/mnist), gzip'ed or not, of unsigned bytes, 32-bit integers or 32-bit floats.
Result<HostTensor> read_idx(const std::string& file);

}  // namespace sheaf
