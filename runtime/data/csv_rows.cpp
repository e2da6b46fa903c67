#include "runtime/data/csv_rows.h"

#include "runtime/base/printable.h"
#include "runtime/base/suggest.h"
#include "runtime/data/array_rows.h"
#include "runtime/data/convert.h"
#include "runtime/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <zlib.h>

namespace sheaf {
namespace {

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(value) : std::nullopt;
}

/// A field as an element of `numbers`, which is of float32 or int64. False: it is no such number.
bool store(const std::string& text, HostTensor& numbers, size_t at) {
  if (numbers.dtype == DType::float32) {
    const auto value = whole_number<double>(text);
    if (value) narrow({&*value, 1}, numbers.as<float>().subspan(at, 1));
    return value.has_value();
  }
  const auto value = whole_number<int64_t>(text);
  if (value) numbers.as<int64_t>()[at] = *value;
  return value.has_value();
}

/// Which fields of a record, of how many.
struct Columns {
  std::vector<size_t> chosen;
  size_t all = 0;
  char separator = ',';
};

class CsvRows : public RowSource {
 public:
  CsvRows(std::shared_ptr<const InputFile> file, Columns columns, std::vector<uint64_t> offsets, DType dtype,
          std::vector<int64_t> shape)
      : RowSource(dtype, std::move(shape), 0),
        file_(std::move(file)),
        columns_(std::move(columns)),
        offsets_(std::move(offsets)) {}

  Result<void> read(std::span<const int64_t> rows, int64_t, const RowTarget& target) const override {
    SHEAF_ASSIGN(auto numbers, make_tensor(is_floating(dtype()) ? DType::float32 : DType::int64,
                                           {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns_.chosen.size())}));
    std::string record;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<size_t>(rows[i]);
      record.resize(offsets_[row + 1] - offsets_[row]);
      SHEAF_TRY(file_->read_at(offsets_[row], std::as_writable_bytes(std::span(record))));
      while (record.ends_with('\n') || record.ends_with('\r')) record.pop_back();
      const auto fields = parse_record(record, columns_.separator);
      bool sound = fields && fields->size() == columns_.all;
      for (size_t c = 0; sound && c < columns_.chosen.size(); ++c)
        sound = store((*fields)[columns_.chosen[c]].text, numbers, i * columns_.chosen.size() + c);
      if (!sound)
        return Error({file_->name(), 0, 0}, "row " + std::to_string(row) + " (from 0) was changed while the file was in use");
    }
    SHEAF_ASSIGN(const auto converted, convert(std::move(numbers), dtype()));
    const size_t row_bytes = columns_.chosen.size() * size_of(dtype());
    if (!converted.bytes.empty())
      std::memcpy(target.batch + static_cast<size_t>(target.first) * row_bytes, converted.bytes.data(), converted.bytes.size());
    return {};
  }

  Result<uint32_t> fingerprint() const override {
    uLong sum = 0;
    std::vector<std::byte> piece(1 << 20);
    for (uint64_t at = 0; at < file_->size(); at += piece.size()) {
      const auto some = std::span(piece).first(std::min<uint64_t>(piece.size(), file_->size() - at));
      SHEAF_TRY(file_->read_at(at, some));
      sum = crc32_z(sum, reinterpret_cast<const Bytef*>(some.data()), some.size());
    }
    return static_cast<uint32_t>(sum);
  }

 private:
  std::shared_ptr<const InputFile> file_;
  Columns columns_;
  std::vector<uint64_t> offsets_;  ///< of each record, and where the last one ends
};

/// The columns that `wanted` names, of a table whose first line has `names`, or none.
Result<std::vector<size_t>> choose_columns(const std::string& wanted, const std::vector<std::string>& names, size_t all) {
  const auto find = [&](const std::string& name) -> Result<size_t> {
    if (const auto found = std::ranges::find(names, name); found != names.end())
      return static_cast<size_t>(found - names.begin());
    const auto number = whole_number<size_t>(name);
    if (number && *number >= 1 && *number <= all) return *number - 1;
    const auto near = nearest(name, names);
    Error error("there is no column '" + name + "'" + (near ? "; did you mean '" + *near + "'?" : ""));
    if (names.empty()) return error.note("its first line is no line of names; columns are 1 to " + std::to_string(all));
    return error.note("its columns are " + quoted_list(names));
  };
  std::vector<size_t> chosen;
  for (size_t begin = 0; begin <= wanted.size();) {
    const size_t end = std::min(wanted.find(',', begin), wanted.size());
    const std::string name = wanted.substr(begin, end - begin);
    begin = end + 1;
    const size_t dots = name.find("..");
    if (dots == std::string::npos || std::ranges::find(names, name) != names.end()) {
      SHEAF_ASSIGN(const size_t column, find(name));
      chosen.push_back(column);
      continue;
    }
    SHEAF_ASSIGN(const size_t first, find(name.substr(0, dots)));
    SHEAF_ASSIGN(const size_t last, find(name.substr(dots + 2)));
    if (first > last) return Error("'" + name + "': the first column stands behind the last");
    for (size_t column = first; column <= last; ++column) chosen.push_back(column);
  }
  return chosen;
}

/// The names that a table's first line is made of; none if it is nothing but numbers.
std::vector<std::string> names_of(const std::vector<CsvField>& first) {
  std::vector<std::string> names;
  if (std::ranges::all_of(first, [](const CsvField& field) { return whole_number<double>(field.text).has_value(); }))
    return names;
  std::ranges::transform(first, std::back_inserter(names), &CsvField::text);
  return names;
}

char separator_of(const std::string& file) { return file.ends_with(".tsv") ? '\t' : ','; }

/// The pass over the whole table: which columns, where records begin, and that each number is one.
class TableCheck {
 public:
  TableCheck(const DataSource& source, const SourceRequest& request) : source_(source), request_(request) {
    columns.separator = separator_of(source.file);
  }

  Columns columns;
  std::vector<uint64_t> offsets;

  Result<void> take(const CsvRecord& record) {
    auto fields = parse_record(record.text, columns.separator);
    const auto refuse = [&](int column, const std::string& what) {
      Error error({source_.file, record.line, column}, what);
      error.diagnostics[0].source_line = std::string(record.text.substr(0, 200));
      return error;
    };
    if (!fields) return refuse(0, fields.error().message());
    if (columns.all == 0) {
      columns.all = fields->size();
      const std::vector<std::string> names = names_of(*fields);
      auto chosen = choose_columns(source_.key, names, columns.all);
      if (!chosen) {
        chosen.error().diagnostics[0].location = {source_.file, 0, 0};
        return chosen.error();
      }
      columns.chosen = std::move(*chosen);
      SHEAF_ASSIGN(number_, make_tensor(is_floating(request_.dtype) ? DType::float32 : DType::int64, {1}));
      if (!names.empty()) return {};
    }
    if (fields->size() != columns.all)
      return refuse(0,
                    "a record of " + std::to_string(fields->size()) + " fields; the first has " + std::to_string(columns.all));
    for (const size_t column : columns.chosen) {
      const CsvField& field = (*fields)[column];
      const bool number = store(field.text, number_, 0);
      if (number && convert(number_, request_.dtype)) continue;
      return refuse(field.column, (field.text.empty() ? "an empty field" : in_quotes(field.text)) + "; '" + request_.name +
                                      "' takes " + std::string(name_of(request_.dtype)) + " numbers")
          .note(field.text.empty() ? "fill in what is missing, or leave such rows out: pandas has fillna() and dropna()"
                                   : "what stands for a number has to become one first: pandas.factorize() numbers names");
    }
    offsets.push_back(record.offset);
    return {};
  }

 private:
  const DataSource& source_;
  const SourceRequest& request_;
  HostTensor number_;
};

}  // namespace

Result<std::vector<std::string>> csv_header(const std::string& file) {
  SHEAF_ASSIGN(const auto input, InputFile::open(file));
  std::string first(std::min<uint64_t>(input.size(), 1 << 16), '\0');
  SHEAF_TRY(input.read_at(0, std::as_writable_bytes(std::span(first))));
  std::string_view line(first.data(), std::min(first.find('\n'), first.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  SHEAF_ASSIGN(const auto fields, parse_record(line, separator_of(file)));
  return names_of(fields);
}

Result<std::unique_ptr<RowSource>> open_csv(const DataSource& source, const std::string& text, const SourceRequest& request) {
  SHEAF_ASSIGN(auto input, InputFile::open(source.file));
  TableCheck table(source, request);
  SHEAF_TRY(for_each_record(input, [&](const CsvRecord& record) { return table.take(record); }));
  const auto count = static_cast<int64_t>(table.columns.chosen.size());
  const auto rows = static_cast<int64_t>(table.offsets.size());
  const bool one = request.shape.size() == 1 && request.shape[0] == -1 && count == 1;
  const bool many = request.shape.size() == 2 && request.shape[0] == -1 && request.shape[1] == count;
  if (!one && !many)
    return Error(text + ": '" + request.name + "' is declared as " + std::string(name_of(request.dtype)) + " " +
                 shape_text(request.shape) + "; " + std::to_string(count) + (count == 1 ? " column is" : " columns are") +
                 " named");
  table.offsets.push_back(input.size());
  std::vector<int64_t> shape = request.shape;
  shape[0] = rows;
  return std::unique_ptr<RowSource>(std::make_unique<CsvRows>(std::make_shared<const InputFile>(std::move(input)),
                                                              std::move(table.columns), std::move(table.offsets), request.dtype,
                                                              std::move(shape)));
}

}  // namespace sheaf
