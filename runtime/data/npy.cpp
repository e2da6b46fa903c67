#include "runtime/data/npy.h"

#include "runtime/base/printable.h"
#include "runtime/data/element_count.h"
#include "runtime/base/file.h"
#include "runtime/base/suggest.h"
#include "runtime/data/zip.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace sheaf {

namespace {

constexpr size_t kLargestHeader = 1 << 20;
constexpr size_t kLargestRank = 32;  // numpy's

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// Reads the dictionary of Python literals that a header is, e.g.
/// {'descr': '<f4', 'fortran_order': False, 'shape': (30, 5), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  std::optional<Header> parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':')) return std::nullopt;
      bool fresh = false;
      if (*key == "descr") {
        const auto descr = string();
        if (!descr) return std::nullopt;
        header.descr = *descr;
        fresh = !std::exchange(has_descr, true);
      } else if (*key == "fortran_order") {
        header.fortran_order = take_word("True");
        if (!header.fortran_order && !take_word("False")) return std::nullopt;
        fresh = !std::exchange(has_order, true);
      } else if (*key == "shape") {
        if (!shape(header.shape)) return std::nullopt;
        fresh = !std::exchange(has_shape, true);
      }
      if (!fresh) return std::nullopt;
      if (!take(',') && !peek('}')) return std::nullopt;
    }
    skip();
    if (!rest_.empty() || !has_descr || !has_order || !has_shape) return std::nullopt;
    return header;
  }

 private:
  void skip() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }
  bool peek(char c) {
    skip();
    return rest_.starts_with(c);
  }
  bool take(char c) {
    if (!peek(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> string() {
    skip();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return std::nullopt;
    const size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool shape(std::vector<int64_t>& dims) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip();
      int64_t dim = 0;
      const auto [end, status] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), dim);
      if (status != std::errc() || dim < 0 || dims.size() == kLargestRank) return false;
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      dims.push_back(dim);
      if (!take(',') && !peek(')')) return false;
    }
    return true;
  }

  std::string_view rest_;
};

/// Copies `count` elements of `size` bytes, from column-major to row-major order.
void copy_transposed(const char* from, std::byte* to, std::span<const int64_t> shape, size_t count, size_t size) {
  std::vector<size_t> strides(shape.size());
  size_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    strides[i] = stride;
    stride *= static_cast<size_t>(shape[i]);
  }
  std::vector<int64_t> index(shape.size(), 0);
  size_t source = 0;
  for (size_t element = 0; element < count; ++element) {
    std::memcpy(to + element * size, from + source * size, size);
    for (size_t i = shape.size(); i-- > 0;) {
      source += strides[i];
      if (++index[i] < shape[i]) break;
      source -= strides[i] * static_cast<size_t>(shape[i]);
      index[i] = 0;
    }
  }
}

struct ElementType {
  std::string_view descr;
  size_t bytes;
  DType dtype;
  std::string_view name;
};

constexpr ElementType kElementTypes[] = {
    {"<f4", 4, DType::float32, "float32"}, {"<f8", 8, DType::float32, "float64"}, {"<f2", 2, DType::float16, "float16"},
    {"<i8", 8, DType::int64, "int64"},     {"<i4", 4, DType::int32, "int32"},     {"|u1", 1, DType::uint8, "uint8"},
    {"|b1", 1, DType::boolean, "bool"},
};

/// What a header says.
struct Layout {
  const ElementType* type = nullptr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
  uint64_t count = 0;  ///< elements
  size_t data_at = 0;  ///< bytes before the first of them
};

/// `bytes`: the file's first ones, at least kLargestHeader + 12 or all of it. `size`: how many it has.
Result<Layout> parse_layout(std::string_view bytes, uint64_t size) {
  if (bytes.size() < 10 || !bytes.starts_with("\x93NUMPY")) return Error("not a NumPy array");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  const size_t major = byte(6);
  if (major < 1 || major > 3 || byte(7) != 0)
    return Error("NumPy format " + std::to_string(major) + "." + std::to_string(byte(7)) + "; 1.0 to 3.0 can be read");
  size_t start = 10;
  size_t length = byte(8) | byte(9) << 8;
  if (major > 1) {
    start = 12;
    if (bytes.size() < start) return Error("the NumPy array ends within its header");
    length |= byte(10) << 16 | byte(11) << 24;
  }
  if (length > kLargestHeader || length > bytes.size() - start) return Error("the NumPy array ends within its header");
  auto header = HeaderParser(bytes.substr(start, length)).parse();
  if (!header) return Error("the NumPy array's header is malformed");
  const auto type = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                 [&](const ElementType& known) { return known.descr == header->descr; });
  if (type == std::end(kElementTypes))
    return Error("a NumPy array of type " + in_quotes(header->descr) + "; little-endian f4, f8, f2, i8, i4 and u1 can be read");
  SHEAF_ASSIGN(const auto count, count_elements(header->shape, type->bytes));
  const uint64_t found = size - start - length;
  if (found != count * type->bytes)
    return Error("the NumPy array of shape " + shape_text(header->shape) + " needs " + std::to_string(count * type->bytes) +
                 " bytes, " + std::to_string(found) + " are there");
  return Layout{type, header->fortran_order, std::move(header->shape), count, start + length};
}

}  // namespace

Result<FileTensor> parse_npy(std::string_view bytes) {
  SHEAF_ASSIGN(const auto layout, parse_layout(bytes, bytes.size()));
  const std::string_view data = bytes.substr(layout.data_at);
  Result<HostTensor> made = make_tensor(layout.type->dtype, layout.shape);
  if (!made) return made.error();
  FileTensor tensor{*std::move(made), std::string(layout.type->name)};
  if (layout.count == 0) return tensor;

  std::vector<std::byte, AlignedAllocator<std::byte>> wide;  // f8 in row-major order
  std::byte* to = tensor.bytes.data();
  if (layout.type->bytes != size_of(layout.type->dtype)) {
    wide.resize(data.size());
    to = wide.data();
  }
  if (layout.fortran_order) copy_transposed(data.data(), to, layout.shape, layout.count, layout.type->bytes);
  else std::memcpy(to, data.data(), data.size());
  if (!wide.empty()) narrow({reinterpret_cast<const double*>(wide.data()), layout.count}, tensor.as<float>());
  return tensor;
}

Result<std::optional<StoredArray>> open_npy(const std::string& file) {
  SHEAF_ASSIGN(auto input, InputFile::open(file));
  std::string first(std::min<uint64_t>(input.size(), kLargestHeader + 12), '\0');
  SHEAF_TRY(input.read_at(0, std::as_writable_bytes(std::span(first))));
  auto layout = parse_layout(first, input.size());
  if (!layout) return Error({file, 0, 0}, layout.error().message());
  if (layout->fortran_order && layout->shape.size() > 1) return std::optional<StoredArray>();
  const bool wide = layout->type->bytes != size_of(layout->type->dtype);
  return std::optional(StoredArray{std::make_shared<const InputFile>(std::move(input)), layout->data_at, layout->type->dtype,
                                   std::move(layout->shape), wide ? StoredArray::float64 : StoredArray::plain,
                                   std::string(layout->type->name)});
}

Result<FileTensor> load_npy(const std::string& file) {
  SHEAF_ASSIGN(const auto array, open_npy(file));
  if (array) return array->read_all();
  SHEAF_ASSIGN(const auto bytes, read_file(file, physical_memory()));
  Result<FileTensor> tensor = parse_npy(bytes);
  if (!tensor) return Error({file, 0, 0}, tensor.error().message());
  return tensor;
}

Result<FileTensor> load_npz(const std::string& file, const std::string& key) {
  SHEAF_ASSIGN(const auto zip, ZipFile::open(file));
  if (!zip.contains(key + ".npy")) {
    std::string names;
    std::vector<std::string> arrays;
    for (const std::string& name : zip.names()) {
      if (name.ends_with(".npy")) arrays.push_back(name.substr(0, name.size() - 4));
    }
    for (const std::string& array : arrays) {
      if (names.size() > 1000) {
        names += ", …";
        break;
      }
      names += (names.empty() ? "" : ", ") + array;
    }
    const auto near = nearest(key, arrays);
    Error error({file, 0, 0}, "there is no array '" + key + "'" + (near ? "; did you mean '" + *near + "'?" : ""));
    return error.note(names.empty() ? "the file holds no arrays" : "the file holds " + names);
  }
  SHEAF_ASSIGN(const auto bytes, zip.read(key + ".npy"));
  Result<FileTensor> tensor = parse_npy(bytes);
  if (!tensor) return Error({file, 0, 0}, "array '" + key + "': " + tensor.error().message());
  return tensor;
}

}  // namespace sheaf
