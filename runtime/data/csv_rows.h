// Rows of a table: some of its columns.
#pragma once

#include "runtime/data/row_source.h"
#include "runtime/data/source.h"

namespace sheaf {

/// The names in FILE's first line; none if it holds only numbers. Errors, located at the file: it can't be read.
Result<std::vector<std::string>> csv_header(const std::string& file);

/// `FILE.csv:COLUMNS`, or .tsv, where tabs separate. COLUMNS: names of the first line, or numbers from 1, separated by commas,
/// and FIRST..LAST for all from one to another. A first line of only numbers is a row: then columns have only numbers. The
/// shape is [batch, columns], or [batch] for one column. The table is first read through, to check every number; then rows are
/// read from the file as they are needed. Errors, located at line and column: a field that isn't a number of the dtype, a
/// record with too few or too many fields.
Result<std::unique_ptr<RowSource>> open_csv(const DataSource& source, const std::string& text, const SourceRequest& request);

}  // namespace sheaf
