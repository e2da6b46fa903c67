// An array stored in a file, uncompressed and row-major, so that any part of it can be read separately.
#pragma once

#include "runtime/base/file.h"
#include "runtime/data/file_tensor.h"

#include <memory>

namespace sheaf {

struct StoredArray {
  enum Encoding {
    plain,       ///< elements of `dtype`, little-endian
    float64,     ///< read as float32
    big_endian,  ///< elements of `dtype`, big-endian
  };
  std::shared_ptr<const InputFile> file;
  uint64_t offset = 0;  ///< of the first element, in bytes
  DType dtype = DType::float32;
  std::vector<int64_t> shape;
  Encoding encoding = plain;
  std::string stored;  ///< the element type in the file: the dtype's name, or "float64"

  size_t element_bytes() const { return encoding == float64 ? sizeof(double) : size_of(dtype); }
  /// Fills `to` with elements from number `first` on. Errors, located at the file: it ends before, or can't be read.
  Result<void> read(uint64_t first, std::span<std::byte> to) const;
  /// All of it. Also an error: too little memory.
  Result<FileTensor> read_all() const;
};

}  // namespace sheaf
