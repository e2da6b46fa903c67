#include "tools/train/load_rows.h"

#include "runtime/training/host_loss.h"
#include "tools/cli/random_ranges.h"
#include "tools/cli/report.h"

namespace sheaf {

Result<Dataset> load_rows(const Model& model, const LossSection& loss, const std::string& option,
                          const std::map<std::string, std::string>& sources, uint64_t seed) {
  const std::vector<ValueInfo> values = training_values(model.plan());
  auto data = Dataset::load(values, sources, seed, random_ranges(*model.plan()), report_warning);
  if (!data) return data.error().note("in " + option);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].name != loss.target) continue;
    SHEAF_TRY(check_targets(loss, option + " " + sources.at(loss.target), data->tensor(i), values[i].batch_dim));
  }
  return data;
}

}  // namespace sheaf
