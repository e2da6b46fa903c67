#include "tools/train/open_rows.h"

#include "runtime/base/extent_product.h"
#include "runtime/training/host_loss.h"
#include "tools/cli/random_ranges.h"
#include "tools/cli/report.h"

#include <algorithm>

namespace sheaf {
namespace {

constexpr int64_t kCheckedElements = 1 << 18;

/// All rows of an input of the loss, few enough at a time not to matter to memory.
Result<void> check_all(const LossSection& loss, size_t input, const std::string& option, const RowSource& source) {
  if (loss.class_count > 0 && source.below() && *source.below() <= loss.class_count) return {};
  int64_t of_a_row = 1;
  for (const int64_t size : source.batch_shape(1)) of_a_row *= size;
  const int64_t at_a_time = std::max<int64_t>(1, kCheckedElements / std::max<int64_t>(of_a_row, 1));
  for (int64_t first = 0; first < source.rows(); first += at_a_time) {
    SHEAF_ASSIGN(const auto rows, read_rows(source, first, std::min(at_a_time, source.rows() - first)));
    SHEAF_TRY(check_input(loss, input, option, rows, source.batch_dim(), first));
  }
  return {};
}

}  // namespace

Result<Dataset> open_rows(const Model& model, const LossSection& loss, const std::string& option,
                          const std::map<std::string, std::string>& sources, uint64_t seed, const LengthNumbers& lengths) {
  std::vector<ValueInfo> values = training_values(model.plan());
  for (ValueInfo& value : values)
    for (Extent& size : value.shape) size = substituted(size, lengths);
  auto data = Dataset::open(values, sources, seed, random_ranges(*model.plan()), report_warning);
  if (!data) return data.error().note("in " + option);
  if (auto ok = data->require_rows(); !ok) return ok.error().note("in " + option);
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t k = 0; k < loss.inputs.size(); ++k) {
      if (loss.inputs[k].output || values[i].name != loss.inputs[k].name || !needs_check(loss, k)) continue;
      SHEAF_TRY(check_all(loss, k, option + " " + sources.at(values[i].name), data->source(i)));
    }
  }
  return data;
}

}  // namespace sheaf
