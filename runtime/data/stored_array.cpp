#include "runtime/data/stored_array.h"

#include <algorithm>

namespace sheaf {

Result<void> StoredArray::read(uint64_t first, std::span<std::byte> to) const {
  if (encoding == float64) {
    // In pieces: what the file has takes twice the memory.
    constexpr size_t kPiece = 8192;
    std::vector<double> wide(std::min(kPiece, to.size() / sizeof(float)));
    const std::span<float> narrow_to(reinterpret_cast<float*>(to.data()), to.size() / sizeof(float));
    for (size_t done = 0; done < narrow_to.size(); done += wide.size()) {
      const std::span<double> piece(wide.data(), std::min(wide.size(), narrow_to.size() - done));
      SHEAF_TRY(file->read_at(offset + (first + done) * sizeof(double), std::as_writable_bytes(piece)));
      narrow(piece, narrow_to.subspan(done, piece.size()));
    }
    return {};
  }
  const size_t size = size_of(dtype);
  SHEAF_TRY(file->read_at(offset + first * size, to));
  if (encoding == big_endian && size > 1)
    for (auto at = to.begin(); at != to.end(); at += static_cast<std::ptrdiff_t>(size))
      std::reverse(at, at + static_cast<std::ptrdiff_t>(size));
  return {};
}

Result<FileTensor> StoredArray::read_all() const {
  auto made = make_tensor(dtype, shape);
  if (!made) return Error({file->name(), 0, 0}, made.error().message());
  FileTensor tensor{*std::move(made), stored};
  SHEAF_TRY(read(0, tensor.bytes));
  return tensor;
}

}  // namespace sheaf
