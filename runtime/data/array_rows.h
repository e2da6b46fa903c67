// Rows of arrays: in memory, or in a file from which each batch takes what it needs.
#pragma once

#include "runtime/data/row_source.h"
#include "runtime/data/source.h"
#include "runtime/data/stored_array.h"

namespace sheaf {

/// Up to this size an array in a file is read completely and kept, in the file's own element type.
inline constexpr uint64_t kKeptArrayBytes = uint64_t{32} << 20;

/// `tensor` unchanged, with rows along `batch_dim` (-1: none).
std::unique_ptr<RowSource> rows_of_tensor(HostTensor tensor, int batch_dim);

/// The array named by `source`, which isn't random; see open_source().
Result<std::unique_ptr<RowSource>> open_array(const DataSource& source, const std::string& text, const SourceRequest& request);

/// Its shape. Errors: the file can't be read.
Result<std::vector<int64_t>> shape_of_array(const DataSource& source);

/// FILE's bytes, each a row. Errors: as open_array().
Result<std::unique_ptr<RowSource>> open_bytes(const std::string& file, const SourceRequest& request);

/// The batch dimension of a request's shape; -1: there is none.
int batch_dim_of(const SourceRequest& request);

}  // namespace sheaf
