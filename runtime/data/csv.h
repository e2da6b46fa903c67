// Tables of comma-separated values (RFC 4180).
#pragma once

#include "runtime/base/file.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// A field of a record: its text without quotes and blanks around it, and where it begins in its line, in characters from 1.
struct CsvField {
  std::string text;
  int column = 0;
};

/// The fields of one record, its line's end left out. Error, without a file: a quote that doesn't end.
Result<std::vector<CsvField>> parse_record(std::string_view record, char separator);

/// A record's place in its file.
struct CsvRecord {
  uint64_t offset = 0;
  std::string_view text;  ///< without its line's end
  int line = 0;           ///< from 1
};

/// Calls `take` with each record of `file` that isn't blank, which reads it once, a piece at a time. Quoted fields may hold line ends.
/// Errors: those of reading and of `take`; a record of more than 16 MiB.
Result<void> for_each_record(const InputFile& file, const std::function<Result<void>(const CsvRecord&)>& take);

}  // namespace sheaf
