// Rows that are sequences of one long text, for language models.
#pragma once

#include "runtime/data/row_source.h"
#include "runtime/data/source.h"

namespace sheaf {

/// `text:FILE[,next]`, whose tokens are FILE's bytes, and `tokens:SOURCE[,next]`, whose tokens are those of a one-dimensional
/// array: [batch, T] or [T, batch], integers. Row i has tokens i * T to i * T + T - 1; with `next` each token's successor, the
/// target. Both have the same number of rows: a rest shorter than T + 1 tokens is left out. Errors, located at the file: fewer
/// tokens than that; another shape or dtype; those of open_source().
Result<std::unique_ptr<RowSource>> open_text(const DataSource& source, const std::string& text, const SourceRequest& request);

}  // namespace sheaf
