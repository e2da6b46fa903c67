#include "runtime/data/safetensors.h"

#include "runtime/base/printable.h"
#include "runtime/data/element_count.h"
#include "runtime/base/suggest.h"
#include "runtime/data/foreign_file.h"
#include "runtime/plan/json_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>

namespace sheaf {

static_assert(std::endian::native == std::endian::little, "the data of tensor files is read as it stands");

namespace {

constexpr uint64_t kLargestSafetensorsHeader = 100'000'000;  // the reference implementation's limit

struct SafetensorsType {
  std::string_view name;
  size_t bytes;
  std::optional<DType> dtype;  ///< what sheaf reads it as; none: files may have it, but it isn't read
};

constexpr std::array<SafetensorsType, 17> kSafetensorsTypes = {{
    {"F32", 4, DType::float32},
    {"F16", 2, DType::float16},
    {"BF16", 2, DType::bfloat16},
    {"I64", 8, DType::int64},
    {"I32", 4, DType::int32},
    {"U8", 1, DType::uint8},
    {"F64", 8, {}},
    {"I16", 2, {}},
    {"I8", 1, {}},
    {"U16", 2, {}},
    {"U32", 4, {}},
    {"U64", 8, {}},
    {"BOOL", 1, DType::boolean},
    {"F8_E5M2", 1, {}},
    {"F8_E4M3", 1, {}},
    {"F8_E8M0", 1, {}},
    {"C64", 8, {}},
}};

const SafetensorsType* find_type(std::string_view name) {
  const auto found =
      std::find_if(kSafetensorsTypes.begin(), kSafetensorsTypes.end(), [&](const auto& type) { return type.name == name; });
  return found == kSafetensorsTypes.end() ? nullptr : &*found;
}

std::string_view type_name(DType dtype) {
  return std::find_if(kSafetensorsTypes.begin(), kSafetensorsTypes.end(), [&](const auto& type) { return type.dtype == dtype; })
      ->name;
}

/// Sizes and offsets: integers below 2^60.
std::optional<uint64_t> size_in(const nlohmann::json& json) {
  if (!json.is_number_unsigned()) return std::nullopt;
  const auto value = json.get<uint64_t>();
  return value < uint64_t{1} << 60 ? std::optional(value) : std::nullopt;
}

/// One tensor's entry, or what is wrong with it.
Result<SafetensorsFile::Entry> entry_in(const nlohmann::json& json) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets"))
    return Error("expected an object with dtype, shape and data_offsets");
  const auto& dtype = json["dtype"];
  const auto& shape = json["shape"];
  const auto& offsets = json["data_offsets"];
  if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2)
    return Error("dtype, shape or data_offsets is of a wrong type");
  SafetensorsFile::Entry entry{dtype.get<std::string>(), {}, 0, 0};
  for (const auto& dim : shape) {
    const auto size = size_in(dim);
    if (!size) return Error("a dimension that is not a size");
    entry.shape.push_back(static_cast<int64_t>(*size));
  }
  const auto begin = size_in(offsets[0]);
  const auto end = size_in(offsets[1]);
  if (!begin || !end || *begin > *end) return Error("data_offsets are no range");
  entry.begin = *begin;
  entry.end = *end;
  // Types of a later version of the format are none of our business until they are asked for.
  const SafetensorsType* type = find_type(entry.dtype);
  if (!type) return entry;
  SHEAF_ASSIGN(const auto count, count_elements(entry.shape, type->bytes));
  if (count * type->bytes != entry.end - entry.begin)
    return Error(entry.dtype + " of shape " + shape_text(entry.shape) + " has " + std::to_string(count * type->bytes) +
                 " bytes, data_offsets span " + std::to_string(entry.end - entry.begin));
  return entry;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open(const std::string& file) {
  Result<InputFile> input = InputFile::open(file);
  return input ? read_header(*std::move(input)) : Result<SafetensorsFile>(input.error());
}

Result<SafetensorsFile> SafetensorsFile::open(const Folder& folder, const std::string& name) {
  Result<InputFile> input = InputFile::open(folder, name);
  return input ? read_header(*std::move(input)) : Result<SafetensorsFile>(input.error());
}

Result<SafetensorsFile> SafetensorsFile::read_header(InputFile input) {
  const std::string file = input.name();
  const auto refuse = [&](const std::string& message) { return Error({file, 0, 0}, "not a safetensors file: " + message); };
  SafetensorsFile opened(std::move(input));
  const uint64_t size = opened.file_->size();
  uint64_t header_size = 0;
  if (size < 8) return refuse("it has only " + std::to_string(size) + " bytes");
  SHEAF_TRY(opened.file_->read_at(0, std::as_writable_bytes(std::span(&header_size, 1))));
  if (header_size > kLargestSafetensorsHeader) return foreign_file(file, "a safetensors file");
  if (header_size > size - 8) return refuse("it ends within its header");
  std::string header(header_size, '\0');
  SHEAF_TRY(opened.file_->read_at(8, std::as_writable_bytes(std::span(header))));
  if (!header.starts_with('{')) return refuse("its header is not a JSON object");
  const Result<nlohmann::json> parsed = parse_sorted_json(file, header, {4, 20'000'000, 1'000'000});
  if (!parsed) return refuse("its header: " + parsed.error().message());
  opened.data_ = 8 + header_size;

  std::vector<std::pair<const std::string*, const Entry*>> order;
  for (const auto& item : parsed->items()) {
    if (item.key() == "__metadata__") {
      if (!item.value().is_object()) return refuse("__metadata__ is not an object");
      for (const auto& entry : item.value().items()) {
        if (!entry.value().is_string()) return refuse("__metadata__ holds something other than strings");
        opened.metadata_[entry.key()] = entry.value().get<std::string>();
      }
      continue;
    }
    Result<Entry> entry = entry_in(item.value());
    if (!entry) return refuse("tensor '" + item.key().substr(0, 200) + "': " + entry.error().message());
    const auto& added = *opened.entries_.emplace(item.key(), *std::move(entry)).first;
    order.emplace_back(&added.first, &added.second);
  }

  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  uint64_t filled = 0;
  for (const auto& [name, entry] : order) {
    if (entry->begin != filled)
      return refuse("tensor '" + name->substr(0, 200) + "' starts at byte " + std::to_string(entry->begin) + " of the data, " +
                    (entry->begin < filled ? "within another one" : "behind a hole") + " that ends at " +
                    std::to_string(std::max(filled, entry->begin)));
    filled = entry->end;
  }
  if (filled != size - opened.data_)
    return refuse("its tensors have " + std::to_string(filled) + " bytes, it holds " + std::to_string(size - opened.data_));
  return opened;
}

Result<StoredArray> SafetensorsFile::array(const std::string& tensor) const {
  const auto found = entries_.find(tensor);
  if (found == entries_.end()) {
    std::vector<std::string> known_names;
    for (const auto& [known, entry] : entries_) known_names.push_back(known);
    const auto near = nearest(tensor, known_names);
    Error error({name(), 0, 0}, "there is no tensor '" + tensor + "'" + (near ? "; did you mean '" + *near + "'?" : ""));
    std::string names;
    size_t shown = 0;
    for (const std::string& known : known_names) {
      if (++shown > 20) break;
      names += (names.empty() ? "" : ", ") + known;
    }
    if (shown > 20) names += ", …";
    return error.note(names.empty() ? "the file holds no tensors" : "the file holds " + names);
  }
  const Entry& entry = found->second;
  const SafetensorsType* type = find_type(entry.dtype);
  const bool wide = type && type->name == "F64";
  if (!type || (!type->dtype && !wide))
    return Error({name(), 0, 0}, "tensor '" + tensor + "' is of type " + in_quotes(entry.dtype) +
                                     "; F32, F64, F16, BF16, I64, I32 and U8 can be read");
  const DType dtype = wide ? DType::float32 : *type->dtype;
  return StoredArray{file_,
                     data_ + entry.begin,
                     dtype,
                     entry.shape,
                     wide ? StoredArray::float64 : StoredArray::plain,
                     wide ? "float64" : std::string(name_of(dtype))};
}

Result<FileTensor> SafetensorsFile::read(const std::string& tensor) const {
  SHEAF_ASSIGN(const auto stored, array(tensor));
  auto read = stored.read_all();
  if (!read) read.error().diagnostics[0].message = "tensor '" + tensor + "': " + read.error().message();
  return read;
}

Result<void> write_safetensors(const std::string& file, std::span<const std::pair<std::string, const HostTensor*>> tensors,
                               const std::map<std::string, std::string>& metadata) {
  std::vector<TensorView> views;
  for (const auto& [name, tensor] : tensors) views.push_back({name, tensor->dtype, tensor->shape, tensor->bytes.data()});
  return write_safetensors(file, views, metadata);
}

namespace {

/// The header, from a file's beginning: its size, then text.
Result<std::string> header_of(const std::string& file, std::span<const TensorView> tensors,
                              const std::map<std::string, std::string>& metadata) {
  // Text made by hand: an object with very many keys would cost nlohmann's ordered one dearly.
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  std::string header = "{";
  if (!metadata.empty())
    header += "\"__metadata__\":" + nlohmann::json(metadata).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::set<std::string> names;
  uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second)
      return Error({file, 0, 0}, "can't be written: a second tensor '" + tensor.name + "'");
    const Result<uint64_t> count = count_elements(tensor.shape, size_of(tensor.dtype));
    if (!count) return Error({file, 0, 0}, "can't be written: tensor '" + tensor.name + "': " + count.error().message());
    const uint64_t bytes = *count * size_of(tensor.dtype), end = offset + bytes;
    header += (header.size() > 1 ? "," : "") + quoted(tensor.name) + ":{\"dtype\":\"" + std::string(type_name(tensor.dtype)) +
              "\",\"shape\":" + nlohmann::json(tensor.shape).dump() + ",\"data_offsets\":[" + std::to_string(offset) + "," +
              std::to_string(end) + "]}";
    offset = end;
  }
  header += "}";
  // The data starts at a multiple of 8, as the reference implementation has it.
  header.append((8 - header.size() % 8) % 8, ' ');
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + header;
}

std::vector<std::string_view> pieces_of(const std::string& header, std::span<const TensorView> tensors) {
  std::vector<std::string_view> pieces = {header};
  for (const TensorView& tensor : tensors) {
    const size_t bytes = *count_elements(tensor.shape, size_of(tensor.dtype)) * size_of(tensor.dtype);
    if (bytes > 0) pieces.emplace_back(static_cast<const char*>(tensor.data), bytes);
  }
  return pieces;
}

}  // namespace

Result<void> write_safetensors(const std::string& file, std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata) {
  const auto header = header_of(file, tensors, metadata);
  return header ? write_file_atomically(file, pieces_of(*header, tensors)) : Result<void>(header.error());
}

Result<void> write_safetensors(const Folder& folder, const std::string& name, std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata) {
  const auto header = header_of(folder.path_of(name), tensors, metadata);
  return header ? write_file_atomically(folder, name, pieces_of(*header, tensors)) : Result<void>(header.error());
}

}  // namespace sheaf
