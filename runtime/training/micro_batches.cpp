#include "runtime/training/micro_batches.h"

#include "runtime/bind/chunk.h"

#include <cmath>
#include <cstring>

namespace sheaf {

Result<MicroBatches> MicroBatches::bind(ModelState& model, std::shared_ptr<const DeviceSet> devices, int64_t rows,
                                        int64_t parts, const BindOptions& options, std::span<const ValueInfo> inputs,
                                        StepSettings& settings, const Plan* sized) {
  const Plan& plan = model.plan;
  if (plan.accumulate.steps.empty()) {
    return Error({plan.file, 0, 0}, "plan '" + plan.name + "' has no programs for micro-batches")
        .note("it was made by an older compiler: compile the model again");
  }
  MicroBatches made(model);
  made.settings_ = &settings;
  made.rows_ = rows;
  made.sizes_ = chunk_sizes(rows, parts);
  for (const int64_t size : made.sizes_) {
    if (made.parts_.contains(size)) continue;
    auto bound = StepProgram::bind(model, &Plan::accumulate, devices, size, options, inputs, settings, sized);
    if (!bound) return bound.error().note("of a micro-batch of " + std::to_string(size) + (size == 1 ? " row" : " rows"));
    made.parts_.emplace(size, std::move(*bound));
  }
  SHEAF_ASSIGN(auto update, StepProgram::bind(model, &Plan::update, devices, rows, options, {}, settings, sized));
  made.update_ = std::make_unique<StepProgram>(std::move(update));
  SHEAF_TRY(made.prepare(model, inputs));
  return made;
}

Result<void> MicroBatches::prepare(ModelState& model, std::span<const ValueInfo> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    Cut cut;
    const std::vector<int64_t>& shape = largest().shape(i);
    cut.rows = inputs[i].batch_dim >= 0;
    if (cut.rows) {
      const auto dim = static_cast<size_t>(inputs[i].batch_dim);
      cut.row_bytes = size_of(largest().dtype(i));
      for (size_t d = 0; d < shape.size(); ++d) {
        if (d < dim) cut.outer *= static_cast<size_t>(shape[d]);
        if (d > dim) cut.row_bytes *= static_cast<size_t>(shape[d]);
      }
      if (cut.outer > 1) cut.part.resize(cut.outer * cut.row_bytes * static_cast<size_t>(sizes_.front()));
    }
    cuts_.push_back(std::move(cut));
  }
  taken_.resize(inputs.size());
  const auto lock = model.store->lock();
  for (const Update& update : model.plan->accumulate.updates) {
    SHEAF_ASSIGN(auto variable, model.store->variable(update.name));
    if (model.store->nodes()[variable].kind == VariableStore::Kind::state) continue;
    if (auto ok = kept_.add(variable); !ok)
      return ok.error().note("needed to put '" + update.name + "' back where a loss isn't finite");
  }
  return {};
}

void MicroBatches::take(std::span<const void* const> given, int64_t part, int64_t first, int64_t rows) {
  settings_->micro_batch = part;
  settings_->first_row = first;
  for (size_t i = 0; i < given.size(); ++i) {
    Cut& cut = cuts_[i];
    const auto* from = static_cast<const char*>(given[i]);
    if (from && cut.rows) from += static_cast<size_t>(first) * cut.row_bytes;
    taken_[i] = from;
    if (!from || cut.part.empty()) continue;
    const size_t run = static_cast<size_t>(rows) * cut.row_bytes;
    for (size_t o = 0; o < cut.outer; ++o)
      std::memcpy(cut.part.data() + o * run, from + o * static_cast<size_t>(rows_) * cut.row_bytes, run);
    taken_[i] = cut.part.data();
  }
}

std::vector<Run> MicroBatches::rows_read(size_t index) const {
  if (!cuts_[index].rows) return {largest().rows_read(index)};
  std::vector<Run> all;
  int64_t first = 0;
  for (const int64_t size : sizes_) {
    const Run& run = parts_.at(size).rows_read(index);
    if (run.count > 0) all.push_back({first + run.begin, run.count});
    first += size;
  }
  return all;
}

Result<float> MicroBatches::run(std::span<const void* const> given, const RunOptions& options) {
  SHEAF_TRY(kept_.keep());
  int64_t first = 0;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    take(given, static_cast<int64_t>(i), first, sizes_[i]);
    auto loss = parts_.at(sizes_[i]).run(taken_, options);
    if (!loss || !std::isfinite(*loss)) {
      SHEAF_TRY(kept_.restore());
      return loss;
    }
    first += sizes_[i];
  }
  auto loss = update_->run({}, options);
  if (loss && std::isfinite(*loss)) return loss;
  SHEAF_TRY(kept_.restore());
  return loss;
}

Result<std::string> MicroBatches::first_not_finite(std::span<const void* const> given) {
  int64_t first = 0;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    take(given, static_cast<int64_t>(i), first, sizes_[i]);
    auto found = parts_.at(sizes_[i]).first_not_finite(taken_);
    if (!found || !found->empty()) return found;
    first += sizes_[i];
  }
  return update_->first_not_finite({});
}

}  // namespace sheaf
