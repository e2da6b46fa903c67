#include "runtime/data/idx.h"

#include "runtime/data/element_count.h"
#include "runtime/base/file.h"
#include "runtime/data/foreign_file.h"
#include "runtime/data/inflate.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace sheaf {

namespace {

constexpr size_t kMostIdxDims = 8;

/// The file's content, unpacked or as it is, read from front to back.
class Stream {
 public:
  explicit Stream(std::string_view bytes) : rest_(bytes) {
    if (bytes.starts_with("\x1f\x8b")) inflater_.emplace(bytes, Inflater::gzip);
  }

  Result<void> read(std::span<std::byte> bytes) {
    if (inflater_) return inflater_->read(bytes);
    if (bytes.size() > rest_.size()) return Error("the file ends too early");
    std::copy_n(reinterpret_cast<const std::byte*>(rest_.data()), bytes.size(), bytes.data());
    rest_.remove_prefix(bytes.size());
    return {};
  }

  /// The most bytes that can still come.
  uint64_t most() const { return inflater_ ? Inflater::most(rest_.size()) : rest_.size(); }

  Result<void> finish() {
    if (inflater_) return inflater_->finish();
    if (!rest_.empty()) return Error("the file goes on for " + std::to_string(rest_.size()) + " bytes");
    return {};
  }

 private:
  std::string_view rest_;
  std::optional<Inflater> inflater_;
};

struct IdxHeader {
  DType dtype = DType::uint8;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;  ///< of all elements
};

/// None: the bytes are not those of an IDX file.
Result<std::optional<IdxHeader>> read_idx_header(Stream& stream) {
  unsigned char magic[4];
  if (auto done = stream.read(std::as_writable_bytes(std::span(magic))); !done)
    return Error("not an IDX file: " + done.error().message());
  if (magic[0] != 0 || magic[1] != 0 || magic[3] == 0) return std::optional<IdxHeader>();
  const auto dtype = magic[2] == 0x08   ? std::optional(DType::uint8)
                     : magic[2] == 0x0C ? std::optional(DType::int32)
                     : magic[2] == 0x0D ? std::optional(DType::float32)
                                        : std::nullopt;
  if (!dtype)
    return Error("an IDX file of element type " + std::to_string(magic[2]) +
                 "; 8 (uint8), 12 (int32) and 13 (float32) can be read");
  if (magic[3] > kMostIdxDims) return Error("an IDX file of " + std::to_string(magic[3]) + " dimensions");
  IdxHeader header{*dtype, {}, 0};
  for (int i = 0; i < magic[3]; ++i) {
    unsigned char dim[4];
    SHEAF_TRY(stream.read(std::as_writable_bytes(std::span(dim))));
    header.shape.push_back(int64_t{dim[0]} << 24 | dim[1] << 16 | dim[2] << 8 | dim[3]);
  }
  SHEAF_ASSIGN(const auto count, count_elements(header.shape, size_of(*dtype)));
  header.bytes = count * size_of(*dtype);
  return std::optional(std::move(header));
}

Error too_much_for(const IdxHeader& header) {
  return Error("its header says " + shape_text(header.shape) + ", which is more than the file can hold");
}

/// Of a file that is packed. None: the bytes are not those of an IDX file.
Result<std::optional<HostTensor>> unpack_idx(std::string_view bytes) {
  Stream stream(bytes);
  SHEAF_ASSIGN(const auto header, read_idx_header(stream));
  if (!header) return std::optional<HostTensor>();
  // Before memory is taken for what a header claims.
  if (header->bytes > stream.most()) return too_much_for(*header);
  SHEAF_ASSIGN(auto tensor, make_tensor(header->dtype, header->shape));
  SHEAF_TRY(stream.read(tensor.bytes));
  SHEAF_TRY(stream.finish());
  // IDX is big-endian.
  const size_t size = size_of(header->dtype);
  if (size > 1)
    for (auto at = tensor.bytes.begin(); at != tensor.bytes.end(); at += static_cast<std::ptrdiff_t>(size))
      std::reverse(at, at + static_cast<std::ptrdiff_t>(size));
  return std::optional(std::move(tensor));
}

}  // namespace

Result<std::optional<StoredArray>> open_idx(const std::string& file) {
  SHEAF_ASSIGN(auto input, InputFile::open(file));
  std::string first(std::min<uint64_t>(input.size(), 4 + 4 * kMostIdxDims), '\0');
  SHEAF_TRY(input.read_at(0, std::as_writable_bytes(std::span(first))));
  if (first.starts_with("\x1f\x8b")) return std::optional<StoredArray>();
  Stream stream(first);
  auto header = read_idx_header(stream);
  if (!header) return Error({file, 0, 0}, header.error().message());
  if (!*header) return foreign_file(file, "an IDX file");
  const uint64_t data_at = 4 + 4 * (*header)->shape.size(), found = input.size() - data_at;
  if ((*header)->bytes > found) return Error({file, 0, 0}, too_much_for(**header).message());
  if ((*header)->bytes < found)
    return Error({file, 0, 0}, "the file goes on for " + std::to_string(found - (*header)->bytes) + " bytes");
  return std::optional(StoredArray{std::make_shared<const InputFile>(std::move(input)), data_at, (*header)->dtype,
                                   (*header)->shape, StoredArray::big_endian, std::string(name_of((*header)->dtype))});
}

Result<HostTensor> load_idx(const std::string& file) {
  SHEAF_ASSIGN(const auto array, open_idx(file));
  if (array) {
    SHEAF_ASSIGN(auto tensor, array->read_all());
    return HostTensor(std::move(tensor));
  }
  SHEAF_ASSIGN(const auto bytes, read_file(file, physical_memory()));
  auto tensor = unpack_idx(bytes);
  if (!tensor) return Error({file, 0, 0}, tensor.error().message());
  if (!*tensor) return foreign_file(file, "an IDX file");
  return **std::move(tensor);
}

}  // namespace sheaf
