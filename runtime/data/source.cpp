#include "runtime/data/source.h"

#include "runtime/base/philox.h"
#include "runtime/base/suggest.h"
#include "runtime/data/array_rows.h"
#include "runtime/data/convert.h"
#include "runtime/data/csv_rows.h"
#include "runtime/data/images/augmentation.h"
#include "runtime/data/image_rows.h"
#include "runtime/data/random.h"
#include "runtime/data/safetensors.h"
#include "runtime/data/text_rows.h"
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

/// Where DIR ends in DIR[,OPTION…]: at the last comma, or the end, before which there is a folder; else at the first comma.
size_t end_of_folder(std::string_view text) {
  for (size_t end = text.size();; end = text.rfind(',', end - 1)) {
    std::error_code ignored;
    if (end == std::string_view::npos) return std::min(text.find(','), text.size());
    if (std::filesystem::is_directory(text.substr(0, end), ignored)) return end;
    if (end == 0) return 0;
  }
}

DataSource taken_apart(const std::string& text);

/// text:FILE[,next] and tokens:SOURCE[,next].
DataSource text_taken_apart(const std::string& text) {
  constexpr std::string_view kNext = ",next";
  const bool bytes = text.starts_with("text:");
  std::string rest = text.substr(bytes ? 5 : 7);
  std::vector<std::string> options;
  if (rest.ends_with(kNext)) {
    rest.resize(rest.size() - kNext.size());
    options.emplace_back(kNext.substr(1));
  }
  if (bytes) return {DataSource::text, rest, "", 0, options};
  return {DataSource::tokens, taken_apart(rest).file, rest, 0, options};
}

DataSource folder_taken_apart(DataSource::Kind kind, const std::string& text) {
  const size_t end = end_of_folder(text);
  DataSource source{kind, text.substr(0, end), "", 0, {}};
  for (size_t begin = end; begin < text.size();) {
    const size_t next = std::min(text.find(',', begin + 1), text.size());
    source.options.push_back(text.substr(begin + 1, next - begin - 1));
    begin = next;
  }
  return source;
}

/// `text` split into its parts, except for the rows of `random:ROWS`; nothing is checked.
DataSource taken_apart(const std::string& text) {
  if (text.starts_with("random:")) return {DataSource::random, "", "", 0, {}};
  if (text.starts_with("text:") || text.starts_with("tokens:")) return text_taken_apart(text);
  if (text.starts_with("images:")) return folder_taken_apart(DataSource::images, text.substr(7));
  if (text.starts_with("classes:")) return folder_taken_apart(DataSource::classes, text.substr(8));
  for (const auto& [kind, extension] : {std::pair{DataSource::npz, ".npz"}, std::pair{DataSource::safetensors, ".safetensors"},
                                        std::pair{DataSource::csv, ".csv"}, std::pair{DataSource::csv, ".tsv"}}) {
    if (const size_t colon = find_key(text, extension); colon != std::string::npos)
      return {kind, text.substr(0, colon), text.substr(colon + 1), 0, {}};
    if (text.ends_with(extension)) return {kind, text, "", 0, {}};
  }
  return {text.ends_with(".npy") ? DataSource::npy : DataSource::idx, text, "", 0, {}};
}

Error missing_key(const DataSource& source) {
  Error error({source.file, 0, 0}, "which of its tensors? Write " + source.file + ":KEY");
  std::vector<std::string> keys;
  if (source.kind == DataSource::csv) {
    error.diagnostics[0].message =
        "which of its columns? Write " + source.file + ":COLUMNS, such as " + source.file + ":age,height";
    if (const auto names = csv_header(source.file)) keys = *names;
  } else if (source.kind == DataSource::npz) {
    if (const auto zip = ZipFile::open(source.file)) keys = zip->names();
    for (std::string& key : keys)
      if (key.ends_with(".npy")) key.resize(key.size() - 4);
  } else if (const auto opened = SafetensorsFile::open(source.file)) {
    for (const auto& [name, entry] : opened->entries()) keys.push_back(name);
  }
  for (size_t i = 0; i < std::min<size_t>(keys.size(), 20); ++i) error.note("it holds '" + keys[i] + "'");
  return error;
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
  if (source.kind == DataSource::npz || source.kind == DataSource::safetensors || source.kind == DataSource::csv)
    return source.key.empty() ? Result<DataSource>(missing_key(source)) : Result<DataSource>(source);
  if (source.kind == DataSource::images || source.kind == DataSource::classes) {
    if (source.file.empty()) return Error("'" + text + "': which folder?");
    if (source.kind == DataSource::classes && !source.options.empty())
      return Error("'" + text + "': classes:DIR has no options, and there is no folder of that name");
    if (auto options = parse_image_options(source.options); !options) return options.error();
    return source;
  }
  if (source.kind == DataSource::text)
    return source.file.empty() ? Result<DataSource>(Error("'" + text + "': which file?")) : Result<DataSource>(source);
  if (source.kind == DataSource::tokens) {
    SHEAF_ASSIGN(const auto array, parse_source(source.key));
    if (array.kind > DataSource::idx)
      return Error("'" + text + "': tokens are those of an array: tokens:FILE.npy, tokens:FILE.npz:KEY, …");
    return source;
  }
  if (text.empty()) return Error("an empty name of a data file");
  const size_t colon = text.find(':');
  if (const auto near = nearest(text.substr(0, colon), {"random", "images", "classes", "text", "tokens"});
      colon != std::string::npos && near) {
    std::error_code ignored;
    if (!std::filesystem::exists(text, ignored))
      return Error("'" + text + "' is no file; did you mean '" + *near + text.substr(colon) + "'?");
  }
  return source;
}

std::string file_of_source(const std::string& text) { return taken_apart(text).file; }

Result<std::unique_ptr<RowSource>> open_source(const std::string& text, const SourceRequest& request) {
  SHEAF_ASSIGN(const auto source, parse_source(text));
  if (source.kind == DataSource::csv) return open_csv(source, text, request);
  if (source.kind == DataSource::text || source.kind == DataSource::tokens) return open_text(source, text, request);
  if (source.kind == DataSource::images) return open_images(source, text, request);
  if (source.kind == DataSource::classes) return open_classes(source, text, request);
  if (source.kind != DataSource::random) return open_array(source, text, request);
  auto made = make_random(request, source.rows);
  if (!made) return Error(text + ": '" + request.name + "' " + made.error().message());
  return rows_of_tensor(*std::move(made), batch_dim_of(request));
}

Result<std::optional<std::vector<int64_t>>> stored_shape(const std::string& text) {
  SHEAF_ASSIGN(const auto source, parse_source(text));
  if (source.kind > DataSource::idx) return std::optional<std::vector<int64_t>>();
  SHEAF_ASSIGN(auto shape, shape_of_array(source));
  return std::optional(std::move(shape));
}

Result<HostTensor> load_source(const std::string& text, const SourceRequest& request) {
  SHEAF_ASSIGN(const auto source, open_source(text, request));
  return read_rows(*source, 0, source->rows());
}

}  // namespace sheaf
