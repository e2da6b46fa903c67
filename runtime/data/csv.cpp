#include "runtime/data/csv.h"

#include <algorithm>

namespace sheaf {
namespace {

constexpr size_t kPieceBytes = 1 << 20, kLongestRecord = 16 << 20;

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<std::vector<CsvField>> parse_record(std::string_view record, char separator) {
  std::vector<CsvField> fields;
  size_t at = 0;
  for (;;) {
    size_t begin = at;
    while (begin < record.size() && record[begin] == ' ') ++begin;
    CsvField field{"", static_cast<int>(begin) + 1};
    if (begin < record.size() && record[begin] == '"') {
      size_t i = begin + 1;
      for (;; ++i) {
        if (i >= record.size())
          return Error("a quote that doesn't end").note("it begins in column " + std::to_string(begin + 1));
        if (record[i] == '"' && !(i + 1 < record.size() && record[i + 1] == '"')) break;
        if (record[i] == '"') ++i;
        field.text += record[i];
      }
      at = std::min(record.find(separator, i), record.size());
    } else {
      at = std::min(record.find(separator, at), record.size());
      field.text = without_blanks(record.substr(begin, at - std::min(at, begin)));
    }
    fields.push_back(std::move(field));
    if (at == record.size()) return fields;
    ++at;
  }
}

Result<void> for_each_record(const InputFile& file, const std::function<Result<void>(const CsvRecord&)>& take) {
  std::string held;        // from the record at hand on
  uint64_t held_from = 0;  // its offset in the file
  size_t begin = 0, at = 0;
  bool quoted = false;
  int line = 1, record_line = 1;
  const auto give = [&](size_t end) -> Result<void> {
    std::string_view text(held.data() + begin, end - begin);
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (!without_blanks(text).empty()) {
      SHEAF_TRY(take({held_from + begin, text, record_line}));
    }
    return {};
  };
  for (uint64_t read = 0; read < file.size();) {
    held.erase(0, begin);
    held_from += begin;
    at -= begin;
    begin = 0;
    const size_t more = std::min<uint64_t>(kPieceBytes, file.size() - read), had = held.size();
    if (had > kLongestRecord)
      return Error({file.name(), record_line, 0}, "a record of more than 16 MiB; does a quote not end?");
    held.resize(had + more);
    SHEAF_TRY(file.read_at(read, std::as_writable_bytes(std::span(held)).subspan(had)));
    read += more;
    for (; at < held.size(); ++at) {
      if (held[at] == '"') quoted = !quoted;
      if (held[at] != '\n') continue;
      ++line;
      if (quoted) continue;
      SHEAF_TRY(give(at));
      begin = at + 1;
      record_line = line;
    }
  }
  return give(held.size());
}

}  // namespace sheaf
