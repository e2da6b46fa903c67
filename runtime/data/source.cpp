#include "runtime/data/source.h"

#include "runtime/base/philox.h"
#include "runtime/base/suggest.h"
#include "runtime/data/convert.h"
#include "runtime/data/idx.h"
#include "runtime/data/npy.h"
#include "runtime/data/random.h"
#include "runtime/data/safetensors.h"
#include "runtime/data/zip.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

namespace sheaf {

namespace {

constexpr int64_t kMostRows = int64_t{1} << 40;

/// The position of the colon in FILE`extension`:KEY; npos if there is none. Both FILE and KEY may hold such
/// text themselves: the first reading for which the file exists is taken, else the first.
size_t find_key(const std::string& source, std::string_view extension) {
  size_t first = std::string::npos;
  const std::string separator = std::string(extension) + ":";
  for (size_t at = source.find(separator); at != std::string::npos; at = source.find(separator, at + 1)) {
    const size_t colon = at + extension.size();
    std::error_code ignored;
    if (std::filesystem::exists(source.substr(0, colon), ignored)) return colon;
    if (first == std::string::npos) first = colon;
  }
  return first;
}

/// `text` taken apart, but for the rows of `random:ROWS`; nothing is checked.
DataSource taken_apart(const std::string& text) {
  if (text.starts_with("random:")) return {DataSource::random, "", "", 0};
  for (const auto& [kind, extension] :
       {std::pair{DataSource::npz, ".npz"}, std::pair{DataSource::safetensors, ".safetensors"}}) {
    if (const size_t colon = find_key(text, extension); colon != std::string::npos)
      return {kind, text.substr(0, colon), text.substr(colon + 1), 0};
    if (text.ends_with(extension)) return {kind, text, "", 0};
  }
  return {text.ends_with(".npy") ? DataSource::npy : DataSource::idx, text, "", 0};
}

Error missing_key(const DataSource& source) {
  Error error({source.file, 0, 0}, "which of its tensors? Write " + source.file + ":KEY");
  std::vector<std::string> keys;
  if (source.kind == DataSource::npz) {
    if (const auto zip = ZipFile::open(source.file)) keys = zip->names();
    for (std::string& key : keys)
      if (key.ends_with(".npy")) key.resize(key.size() - 4);
  } else if (const auto opened = SafetensorsFile::open(source.file)) {
    for (const auto& [name, entry] : opened->entries()) keys.push_back(name);
  }
  for (size_t i = 0; i < std::min<size_t>(keys.size(), 20); ++i) error.note("it holds '" + keys[i] + "'");
  return error;
}

std::string found_text(const FileTensor& tensor) { return tensor.stored + " " + shape_text(tensor.shape); }

std::string expected_text(const SourceRequest& request) {
  return std::string(name_of(request.dtype)) + " " + shape_text(request.shape);
}

bool fits(const HostTensor& tensor, const SourceRequest& request) {
  if (tensor.shape.size() != request.shape.size()) return false;
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    if (request.shape[i] != -1 && request.shape[i] != tensor.shape[i]) return false;
  return true;
}

Result<HostTensor> make_random(const SourceRequest& request, int64_t rows) {
  std::vector<int64_t> shape = request.shape;
  const auto batch = std::find(shape.begin(), shape.end(), -1);
  if (batch == shape.end() && rows != 1) return Error("has no batch dimension: expected random:1");
  if (batch != shape.end()) *batch = rows;
  const bool floating = is_floating(request.dtype);
  Result<HostTensor> made = make_tensor(floating ? DType::float32 : DType::int64, std::move(shape));
  if (!made) return made;
  const uint64_t stream = stream_of(request.name);
  if (floating) {
    const auto fill = request.random.probabilities ? fill_uniform : fill_normal;
    fill(made->as<float>(), request.seed, stream);
  } else {
    int64_t bound = request.random.below > 0 ? request.random.below : 2;
    if (request.dtype == DType::boolean) bound = 2;
    if (request.dtype == DType::uint8) bound = std::min<int64_t>(bound, 256);
    if (request.dtype == DType::int32) bound = std::min<int64_t>(bound, INT32_MAX);
    fill_integers(made->as<int64_t>(), bound, request.seed, stream);
  }
  return convert(*std::move(made), request.dtype);
}

/// IDX images: bytes to float32 / 255, a channel dimension where one is declared.
Result<HostTensor> as_image(HostTensor tensor, const SourceRequest& request) {
  const std::vector<int64_t>& wanted = request.shape;
  if (tensor.shape.size() == 3 && wanted.size() == 4 && wanted[1] == 1) tensor.shape.insert(tensor.shape.begin() + 1, 1);
  if (tensor.dtype != DType::uint8 || tensor.shape.size() < 2 || !is_floating(request.dtype)) return tensor;
  Result<HostTensor> image = make_tensor(DType::float32, tensor.shape);
  if (!image) return image;
  const auto from = tensor.as<uint8_t>();
  const auto to = image->as<float>();
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i]) / 255.0f;
  return image;
}

Result<FileTensor> load(const DataSource& source) {
  switch (source.kind) {
    case DataSource::npy: return load_npy(source.file);
    case DataSource::npz: return load_npz(source.file, source.key);
    case DataSource::idx: {
      Result<HostTensor> tensor = load_idx(source.file);
      if (!tensor) return tensor.error();
      const std::string stored(name_of(tensor->dtype));
      return FileTensor{*std::move(tensor), stored};
    }
    case DataSource::safetensors: break;
    case DataSource::random: break;
  }
  SHEAF_ASSIGN(const auto opened, SafetensorsFile::open(source.file));
  return opened.read(source.key);
}

}  // namespace

Result<DataSource> parse_source(const std::string& text) {
  DataSource source = taken_apart(text);
  if (source.kind == DataSource::random) {
    const char* begin = text.data() + 7;
    const char* end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(begin, end, source.rows);
    if (status != std::errc() || stop != end || begin == end || source.rows < 0 || source.rows > kMostRows)
      return Error("'" + text + "': expected random:ROWS with a number of rows from 0 to 2^40");
    return source;
  }
  if (source.kind == DataSource::npz || source.kind == DataSource::safetensors)
    return source.key.empty() ? Result<DataSource>(missing_key(source)) : Result<DataSource>(source);
  if (text.empty()) return Error("an empty name of a data file");
  if (const size_t colon = text.find(':'); colon != std::string::npos && nearest(text.substr(0, colon), {"random"})) {
    std::error_code ignored;
    if (!std::filesystem::exists(text, ignored))
      return Error("'" + text + "' is no file; did you mean 'random" + text.substr(colon) + "'?");
  }
  return source;
}

std::string file_of_source(const std::string& text) { return taken_apart(text).file; }

Result<HostTensor> load_source(const std::string& text, const SourceRequest& request) {
  SHEAF_ASSIGN(const auto source, parse_source(text));
  const auto refuse = [&](const std::string& message) { return Error(text + ": " + message); };
  if (source.kind == DataSource::random) {
    Result<HostTensor> made = make_random(request, source.rows);
    if (!made) return refuse("'" + request.name + "' " + made.error().message());
    return made;
  }

  SHEAF_ASSIGN(auto read, load(source));
  const std::string found = found_text(read);
  Result<HostTensor> tensor = static_cast<HostTensor&&>(read);
  if (source.kind == DataSource::idx) {
    tensor = as_image(*std::move(tensor), request);
    if (!tensor) return refuse(tensor.error().message());
  } else if (tensor->dtype == DType::uint8 && is_floating(request.dtype) && request.note) {
    request.note({Severity::note,
                  {text, 0, 0},
                  "'" + request.name +
                      "' takes the bytes as the numbers 0 to 255; divide images by 255 where "
                      "the model expects numbers up to 1, as those of an IDX file are",
                  {},
                  {}});
  }
  const std::string both = "'" + request.name + "' is declared as " + expected_text(request) + ", the data is " + found;
  if (!fits(*tensor, request)) return refuse(both);
  tensor = convert(*std::move(tensor), request.dtype);
  if (!tensor) return refuse(both + ": " + tensor.error().message());
  return tensor;
}

}  // namespace sheaf
