#include "runtime/data/array_rows.h"

#include "runtime/data/convert.h"
#include "runtime/data/idx.h"
#include "runtime/data/npy.h"
#include "runtime/data/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <variant>

#include <zlib.h>

namespace sheaf {
namespace {

/// An array whose elements are all in memory, or all in a file.
using Elements = std::variant<FileTensor, StoredArray>;

/// Kept in memory if it is small.
Result<Elements> kept_or_open(StoredArray array) {
  uint64_t bytes = array.element_bytes();
  for (const int64_t size : array.shape) bytes *= static_cast<uint64_t>(size);
  if (bytes > kKeptArrayBytes) return Elements(std::move(array));
  SHEAF_ASSIGN(auto loaded, array.read_all());
  return Elements(std::move(loaded));
}

/// A reader of what a source names: none if it can only be read as a whole.
Result<Elements> open_elements(const DataSource& source) {
  std::optional<StoredArray> array;
  switch (source.kind) {
    case DataSource::npy: {
      SHEAF_ASSIGN(array, open_npy(source.file));
      break;
    }
    case DataSource::idx: {
      SHEAF_ASSIGN(array, open_idx(source.file));
      break;
    }
    case DataSource::safetensors: {
      SHEAF_ASSIGN(const auto opened, SafetensorsFile::open(source.file));
      SHEAF_ASSIGN(array, opened.array(source.key));
      break;
    }
    default: {
      SHEAF_ASSIGN(auto loaded, load_npz(source.file, source.key));
      return Elements(std::move(loaded));
    }
  }
  if (!array && source.kind == DataSource::idx) {
    SHEAF_ASSIGN(auto loaded, load_idx(source.file));
    const std::string stored(name_of(loaded.dtype));
    return Elements(FileTensor{std::move(loaded), stored});
  }
  if (!array) {
    SHEAF_ASSIGN(auto loaded, load_npy(source.file));
    return Elements(std::move(loaded));
  }
  return kept_or_open(std::move(*array));
}

/// float32 for each byte.
std::array<float, 256> byte_values(float divisor) {
  std::array<float, 256> values{};
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / divisor;
  return values;
}

class ArrayRows : public RowSource {
 public:
  /// Of elements of type `stored`, which become `request.dtype`; bytes are divided by `divisor` where they become floating-point.
  ArrayRows(Elements elements, DType stored, std::vector<int64_t> shape, DType dtype, int batch_dim, float divisor)
      : RowSource(dtype, std::move(shape), batch_dim),
        elements_(std::move(elements)),
        stored_(stored),
        bytes_(byte_values(divisor)) {}

  Result<void> read(std::span<const int64_t> rows, int64_t, const RowTarget& target) const override {
    if (stored_ == dtype()) return gather(rows, target);
    const size_t count = rows.size();
    SHEAF_ASSIGN(auto piece, make_tensor(stored_, batch_shape(static_cast<int64_t>(count))));
    SHEAF_TRY(gather(rows, {piece.bytes.data(), static_cast<int64_t>(count), 0}));
    SHEAF_ASSIGN(const auto converted, converted_piece(std::move(piece)));
    // Runs of rows go to their places in the batch.
    const size_t row_bytes = layout().row_elements * size_of(dtype());
    for (size_t run = 0; run < layout().outer && row_bytes > 0; ++run) {
      std::memcpy(target.batch + (run * static_cast<size_t>(target.rows) + static_cast<size_t>(target.first)) * row_bytes,
                  converted.bytes.data() + run * count * row_bytes, count * row_bytes);
    }
    return {};
  }

  Result<uint32_t> fingerprint() const override {
    uLong sum = 0;
    const auto add = [&](std::span<const std::byte> bytes) {
      if (!bytes.empty()) sum = crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    };
    if (const auto* kept = std::get_if<FileTensor>(&elements_)) {
      add(kept->bytes);
      return static_cast<uint32_t>(sum);
    }
    const auto& array = std::get<StoredArray>(elements_);
    const uint64_t count = element_count();
    constexpr uint64_t kSamples = 64, kSampleElements = 1 << 16;
    std::vector<std::byte> sample(std::min(count, kSampleElements) * size_of(stored_));
    for (uint64_t i = 0; i < kSamples; ++i) {
      SHEAF_TRY(array.read((count - std::min(count, kSampleElements)) * i / (kSamples - 1), sample));
      add(sample);
    }
    add(std::as_bytes(std::span(&count, 1)));
    return static_cast<uint32_t>(sum);
  }

  ByteNumbers numbers() const override {
    return stored_ == DType::uint8 && dtype() == DType::float32 ? ByteNumbers(bytes_.begin(), bytes_.end()) : ByteNumbers();
  }

  std::optional<int64_t> below() const override { return stored_ == DType::uint8 ? std::optional<int64_t>(256) : std::nullopt; }

  /// Every element can be converted, so that reading can't fail in that later. Errors: the one that can't be.
  Result<void> check_conversion() const {
    if (stored_ == dtype()) return {};
    SHEAF_ASSIGN(auto nothing, make_tensor(stored_, {0}));
    SHEAF_TRY(convert(std::move(nothing), dtype()));  // the types
    const bool always = is_floating(stored_) || stored_ == DType::boolean ||
                        (stored_ == DType::uint8 && dtype() != DType::boolean) ||
                        (stored_ == DType::int32 && dtype() == DType::int64);
    constexpr uint64_t kAtATime = 1 << 20;
    for (uint64_t first = 0, count = always ? 0 : element_count(); first < count; first += kAtATime) {
      SHEAF_ASSIGN(auto piece, make_tensor(stored_, {static_cast<int64_t>(std::min(kAtATime, count - first))}));
      SHEAF_TRY(copy(first, piece.bytes));
      SHEAF_TRY(convert(std::move(piece), dtype()));
    }
    return {};
  }

 private:
  uint64_t element_count() const {
    uint64_t count = 1;
    for (const int64_t size : shape()) count *= static_cast<uint64_t>(size);
    return count;
  }

  /// Elements of the stored type from number `first` on.
  Result<void> copy(uint64_t first, std::span<std::byte> to) const {
    if (const auto* array = std::get_if<StoredArray>(&elements_)) return array->read(first, to);
    if (!to.empty()) std::memcpy(to.data(), std::get<FileTensor>(elements_).bytes.data() + first * size_of(stored_), to.size());
    return {};
  }

  /// Rows of the stored type; those that follow one another are copied at once.
  Result<void> gather(std::span<const int64_t> rows, const RowTarget& target) const {
    const size_t elements = layout().row_elements, row_bytes = elements * size_of(stored_);
    if (row_bytes == 0) return {};
    for (size_t run = 0; run < layout().outer; ++run) {
      const uint64_t run_first = static_cast<uint64_t>(run) * static_cast<uint64_t>(this->rows());
      for (size_t i = 0, next; i < rows.size(); i = next) {
        for (next = i + 1; next < rows.size() && rows[next] == rows[next - 1] + 1;) ++next;
        const size_t place = run * static_cast<size_t>(target.rows) + static_cast<size_t>(target.first) + i;
        SHEAF_TRY(copy((run_first + static_cast<uint64_t>(rows[i])) * elements,
                       {target.batch + place * row_bytes, (next - i) * row_bytes}));
      }
    }
    return {};
  }

  Result<HostTensor> converted_piece(HostTensor piece) const {
    if (stored_ != DType::uint8 || !is_floating(dtype())) return convert(std::move(piece), dtype());
    SHEAF_ASSIGN(auto numbers, make_tensor(DType::float32, piece.shape));
    std::ranges::transform(piece.as<uint8_t>(), numbers.as<float>().begin(), [&](uint8_t byte) { return bytes_[byte]; });
    return convert(std::move(numbers), dtype());
  }

  Elements elements_;
  DType stored_;
  std::array<float, 256> bytes_;  ///< what bytes become
};

std::string expected_text(const SourceRequest& request) {
  return std::string(name_of(request.dtype)) + " " + shape_text(request.shape);
}

bool fits(const std::vector<int64_t>& shape, const SourceRequest& request) {
  return std::ranges::equal(shape, request.shape, [](int64_t size, int64_t wanted) { return wanted == -1 || wanted == size; });
}

}  // namespace

int batch_dim_of(const SourceRequest& request) {
  const auto batch = std::ranges::find(request.shape, -1);
  return batch == request.shape.end() ? -1 : static_cast<int>(batch - request.shape.begin());
}

std::unique_ptr<RowSource> rows_of_tensor(HostTensor tensor, int batch_dim) {
  const DType dtype = tensor.dtype;
  std::vector<int64_t> shape = tensor.shape;
  return std::make_unique<ArrayRows>(FileTensor{std::move(tensor), std::string(name_of(dtype))}, dtype, std::move(shape), dtype,
                                     batch_dim, 1.0F);
}

Result<std::unique_ptr<RowSource>> open_bytes(const std::string& file, const SourceRequest& request) {
  SHEAF_ASSIGN(auto input, InputFile::open(file));
  const auto size = static_cast<int64_t>(input.size());
  SHEAF_ASSIGN(
      auto elements,
      kept_or_open(
          {std::make_shared<const InputFile>(std::move(input)), 0, DType::uint8, {size}, StoredArray::plain, "uint8"}));
  auto rows =
      std::make_unique<ArrayRows>(std::move(elements), DType::uint8, std::vector<int64_t>{size}, request.dtype, 0, 1.0F);
  if (auto ok = rows->check_conversion(); !ok) return Error({file, 0, 0}, ok.error().message());
  return std::unique_ptr<RowSource>(std::move(rows));
}

Result<std::vector<int64_t>> shape_of_array(const DataSource& source) {
  SHEAF_ASSIGN(const auto elements, open_elements(source));
  return std::visit([](const auto& array) { return array.shape; }, elements);
}

Result<std::unique_ptr<RowSource>> open_array(const DataSource& source, const std::string& text, const SourceRequest& request) {
  const auto refuse = [&](const std::string& message) { return Error(text + ": " + message); };
  SHEAF_ASSIGN(auto elements, open_elements(source));
  const auto [dtype, shape, stored] =
      std::visit([](const auto& array) { return std::tuple(array.dtype, array.shape, array.stored); }, elements);
  const std::string both =
      "'" + request.name + "' is declared as " + expected_text(request) + ", the data is " + stored + " " + shape_text(shape);

  // An IDX file's bytes in two or more dimensions are an image.
  std::vector<int64_t> read_as = shape;
  const bool bytes = dtype == DType::uint8 && is_floating(request.dtype);
  const bool image = source.kind == DataSource::idx && bytes && shape.size() >= 2;
  if (source.kind == DataSource::idx && shape.size() == 3 && request.shape.size() == 4 && request.shape[1] == 1)
    read_as.insert(read_as.begin() + 1, 1);
  if (source.kind != DataSource::idx && bytes && request.note) {
    request.note({Severity::note,
                  {text, 0, 0},
                  "'" + request.name +
                      "' takes the bytes as the numbers 0 to 255; divide images by 255 where "
                      "the model expects numbers up to 1, as those of an IDX file are",
                  {},
                  {}});
  }
  if (!fits(read_as, request)) return refuse(both);
  auto rows = std::make_unique<ArrayRows>(std::move(elements), dtype, std::move(read_as), request.dtype, batch_dim_of(request),
                                          image ? 255.0F : 1.0F);
  if (auto ok = rows->check_conversion(); !ok) return refuse(both + ": " + ok.error().message());
  return std::unique_ptr<RowSource>(std::move(rows));
}

}  // namespace sheaf
