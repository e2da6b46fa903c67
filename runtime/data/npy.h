// NumPy's array files (numpy.lib.format, versions 1.0 to 3.0) and archives of them.
#pragma once

#include "runtime/data/stored_array.h"

#include <optional>
#include <string>
#include <string_view>

namespace sheaf {

/// The array in `bytes`, the content of a .npy file; C or Fortran order, little-endian f4, f2, f8 (becomes
/// float32), i8, i4 and u1. Errors (without place; the caller knows the file): anything else, a header that
/// is malformed, fewer or more bytes than the shape needs.
Result<FileTensor> parse_npy(std::string_view bytes);

/// The array in FILE.npy; only the header is read; none: it is in Fortran order. Errors, located at the file: those of
/// parse_npy().
Result<std::optional<StoredArray>> open_npy(const std::string& file);

/// Reads FILE.npy. Errors are located at the file.
Result<FileTensor> load_npy(const std::string& file);

/// Reads array `key` (numpy's name, without .npy) of FILE.npz. Errors, located at the file: not a zip
/// archive, no such array (lists those there are), and parse_npy's.
Result<FileTensor> load_npz(const std::string& file, const std::string& key);

}  // namespace sheaf
