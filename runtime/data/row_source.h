// Rows of an input or a target, read as they are needed: the opened form of every SOURCE of the command line.
#pragma once

#include "runtime/base/bytes.h"
#include "sheaf/tensor.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sheaf {

/// The layout of rows in a dense tensor: `outer` runs of rows, of `row_elements` elements a row and run.
struct RowLayout {
  size_t outer = 1, row_elements = 1;

  /// Rows are along dimension `batch_dim`; -1: the whole tensor is one row.
  static RowLayout of(std::span<const int64_t> shape, int batch_dim);
};

/// The destination of rows: places `first`, `first` + 1, … of a dense batch of `rows` rows.
struct RowTarget {
  std::byte* batch = nullptr;
  int64_t rows = 0, first = 0;
};

class RowSource {
 public:
  virtual ~RowSource() = default;

  DType dtype() const { return dtype_; }
  /// The shape of all rows together.
  const std::vector<int64_t>& shape() const { return shape_; }
  /// The dimension of rows; -1: none, the tensor belongs to every batch.
  int batch_dim() const { return batch_dim_; }
  /// 1 without a dimension of rows.
  int64_t rows() const { return batch_dim_ < 0 ? 1 : shape_[static_cast<size_t>(batch_dim_)]; }
  const RowLayout& layout() const { return layout_; }
  /// The shape of a batch of `rows` rows.
  std::vector<int64_t> batch_shape(int64_t rows) const;

  /// Reads rows number rows[0], rows[1], …, each below rows(), for epoch number `epoch` (from 0): random draws for
  /// a row depend only on the seed, the epoch and its number. Any number of threads may read at once. Errors: at the file.
  virtual Result<void> read(std::span<const int64_t> rows, int64_t epoch, const RowTarget& target) const = 0;

  /// A CRC-32 by which a resumed run recognises its data: of the content, or of samples of large data. Errors: as read().
  virtual Result<uint32_t> fingerprint() const = 0;

  /// A fair number of rows for one of several threads; 0: reading is so cheap that one thread is enough.
  virtual int64_t rows_for_a_thread() const { return 0; }

  /// What its bytes stand for, if its elements are float32 and made from bytes; else empty.
  virtual ByteNumbers numbers() const { return {}; }
  /// From here on its elements are those bytes, in uint8. For sources with numbers().
  void give_bytes() { dtype_ = DType::uint8; }

  /// An upper bound of integers from 0, exclusive, if known without reading them; none: unknown.
  virtual std::optional<int64_t> below() const { return std::nullopt; }

 protected:
  RowSource(DType dtype, std::vector<int64_t> shape, int batch_dim)
      : dtype_(dtype), shape_(std::move(shape)), batch_dim_(batch_dim), layout_(RowLayout::of(shape_, batch_dim_)) {}

 private:
  DType dtype_;
  std::vector<int64_t> shape_;
  int batch_dim_;
  RowLayout layout_;
};

/// Rows `first` to `first` + `count` - 1 of epoch 0 as a tensor. Errors: those of read(); too little memory.
Result<HostTensor> read_rows(const RowSource& source, int64_t first, int64_t count);

}  // namespace sheaf
