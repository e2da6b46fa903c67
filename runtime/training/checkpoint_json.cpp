#include "runtime/training/checkpoint_json.h"

#include <cmath>

namespace sheaf {
namespace {

constexpr int64_t kLargest = int64_t{1} << 53;
constexpr int kVersion = 3;

nlohmann::json json_of(const EpochRecord& record) {
  nlohmann::json json = {
      {"steps", record.steps},           {"seconds", record.seconds}, {"data_wait_seconds", record.data_wait_seconds},
      {"train_loss", record.train_loss}, {"lr", record.lr},           {"rows", record.rows}};
  if (record.evaluation) {
    const Evaluation& found = *record.evaluation;
    json["eval_rows"] = found.rows;
    json["eval_seconds"] = found.seconds;
    if (found.loss) json["eval_loss"] = *found.loss;
    for (const auto& [metric, value] : found.metrics) json["eval_" + row_of(metric).name] = value;
  }
  return json;
}

/// Reads fields of an object and keeps the first thing that is wrong with them.
class Fields {
 public:
  explicit Fields(const nlohmann::json& json, std::string path = "") : json_(json), path_(std::move(path)) {
    if (!json.is_object()) refuse("", "an object");
  }

  int64_t integer(const char* name, int64_t least = 0, int64_t most = kLargest) {
    const nlohmann::json* value = find(name);
    if (!value) return least;
    const bool fits = value->is_number_unsigned() ? value->get<uint64_t>() <= static_cast<uint64_t>(most)
                                                  : value->is_number_integer() && value->get<int64_t>() <= most;
    if (fits && value->get<int64_t>() >= least) return value->get<int64_t>();
    refuse(name, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    return least;
  }
  uint64_t natural(const char* name) {
    const nlohmann::json* value = find(name);
    if (value && value->is_number_unsigned()) return value->get<uint64_t>();
    if (value) refuse(name, "an integer from 0 to 2^64 - 1");
    return 0;
  }
  double number(const char* name) {
    const nlohmann::json* value = find(name);
    if (value && value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
    if (value) refuse(name, "a number");
    return 0;
  }
  /// JSON has no NaN and no infinity: null.
  double number_or_nan(const char* name) {
    const nlohmann::json* value = find(name);
    return value && value->is_null() ? std::nan("") : number(name);
  }
  std::optional<double> optional_number(const char* name) {
    if (!json_.is_object() || !json_.contains(name)) return std::nullopt;
    return number_or_nan(name);
  }
  std::string text(const char* name) {
    const nlohmann::json* value = find(name);
    if (value && value->is_string() && value->get_ref<const std::string&>().size() < 10'000) return value->get<std::string>();
    if (value) refuse(name, "a text");
    return "";
  }
  bool boolean(const char* name) {
    const nlohmann::json* value = find(name);
    if (value && value->is_boolean()) return value->get<bool>();
    if (value) refuse(name, "true or false");
    return false;
  }
  /// An array of at most `most` entries; empty if it is none.
  const nlohmann::json& array(const char* name, size_t most) {
    static const nlohmann::json none = nlohmann::json::array();
    const nlohmann::json* value = find(name);
    if (value && value->is_array() && value->size() <= most) return *value;
    if (value) refuse(name, "a list of at most " + std::to_string(most) + " entries");
    return none;
  }
  bool has(const char* name) const { return json_.is_object() && json_.contains(name); }
  void refuse(const std::string& name, const std::string& expected) {
    if (error_.empty()) error_ = "'" + path_ + name + "' is not " + expected;
  }
  void adopt(const Fields& inner) {
    if (error_.empty()) error_ = inner.error_;
  }
  const std::string& error() const { return error_; }

 private:
  const nlohmann::json* find(const char* name) {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(name);
    if (found != json_.end()) return &*found;
    if (error_.empty()) error_ = "'" + path_ + name + "' is missing";
    return nullptr;
  }
  const nlohmann::json& json_;
  std::string path_, error_;
};

EpochRecord epoch_of(Fields& fields) {
  EpochRecord record;
  record.steps = fields.integer("steps");
  record.seconds = fields.number("seconds");
  record.data_wait_seconds = fields.number("data_wait_seconds");
  record.train_loss = fields.number("train_loss");
  record.lr = fields.number("lr");
  record.rows = fields.integer("rows");
  if (fields.has("eval_rows")) {
    Evaluation& found = record.evaluation.emplace();
    found.loss = fields.optional_number("eval_loss");
    for (const MetricRow& row : metric_rows()) {
      const auto value = fields.optional_number(("eval_" + row.name).c_str());
      if (value) found.metrics.emplace_back(row.metric, *value);
    }
    found.rows = fields.integer("eval_rows");
    found.seconds = fields.number("eval_seconds");
  }
  return record;
}

LossCurve curve_of(Fields& fields) {
  std::vector<double> points;
  for (const nlohmann::json& point : fields.array("curve", LossCurve::kMostPoints - 1)) {
    if (!point.is_number()) fields.refuse("curve", "a list of numbers");
    points.push_back(point.is_number() ? point.get<double>() : 0);
  }
  const int64_t stride = fields.integer("curve_stride", 1);
  const double sum = fields.number("curve_sum");
  return LossCurve::restored(std::move(points), stride, sum, fields.integer("curve_count", 0, stride - 1));
}

}  // namespace

nlohmann::json json_of(const SavedProgress& saved) {
  nlohmann::json json = {{"version", kVersion},           {"plan", saved.plan},      {"model", saved.model},
                         {"seed", saved.progress.seed},   {"lr", saved.progress.lr}, {"step", saved.progress.steps},
                         {"epoch", saved.progress.epochs}};
  if (const Plateau& plateau = saved.progress.plateau; plateau.best)
    json["plateau"] = {{"best", *plateau.best},
                       {"bad_epochs", plateau.bad_epochs},
                       {"cooldown", plateau.cooldown},
                       {"reductions", plateau.reductions}};
  return json;
}

nlohmann::json json_of(const Checkpoint& checkpoint) {
  const RunIdentity& run = checkpoint.identity;
  const LoopState& state = checkpoint.state;
  nlohmann::json epochs = nlohmann::json::array();
  for (const EpochRecord& record : state.epochs.records()) epochs.push_back(json_of(record));
  nlohmann::json json =
      json_of(SavedProgress{run.plan, run.model, {state.step, state.epoch, checkpoint.lr, run.seed, state.plateau}});
  json.update({{"rows", run.rows},
               {"data", run.data},
               {"batch_size", run.batch_size},
               {"micro_batches", run.micro_batches},
               {"shuffle", run.shuffle},
               {"drop_last", run.drop_last},
               {"devices", run.devices},
               {"numerics", run.numerics},
               {"cpu", run.cpu},
               {"position", state.position},
               {"epoch_loss_sum", state.loss_sum},
               {"epoch_rows", state.rows},
               {"epoch_seconds", state.seconds},
               {"epoch_data_wait_seconds", state.data_wait_seconds},
               {"epochs", epochs},
               {"epochs_stride", state.epochs.stride()},
               {"epochs_seconds", state.epochs.seconds()},
               {"epochs_data_wait_seconds", state.epochs.data_wait_seconds()},
               {"best_by", state.best.by},
               {"best_epoch", state.best.epoch},
               {"best_value", state.best.value},
               {"curve", state.curve.points()},
               {"curve_stride", state.curve.stride()},
               {"curve_sum", state.curve.open_sum()},
               {"curve_count", state.curve.open_count()}});
  if (run.shards > 0) json["shards"] = run.shards;
  if (!run.choices.empty()) json["choices"] = run.choices;
  return json;
}

Result<SavedProgress> progress_of(const nlohmann::json& json) {
  Fields fields(json);
  const int64_t version = fields.integer("version", 0);
  if (fields.error().empty() && version != kVersion)
    return Error("it is of version " + std::to_string(version) + "; this program reads version " + std::to_string(kVersion));
  SavedProgress saved;
  saved.plan = fields.text("plan");
  saved.model = fields.text("model");
  saved.progress.seed = fields.natural("seed");
  saved.progress.lr = fields.number("lr");
  saved.progress.steps = fields.integer("step");
  saved.progress.epochs = fields.integer("epoch");
  if (fields.has("plateau")) {
    Fields plateau(json["plateau"], "plateau.");
    saved.progress.plateau.best = plateau.number("best");
    saved.progress.plateau.bad_epochs = plateau.integer("bad_epochs");
    saved.progress.plateau.cooldown = plateau.integer("cooldown");
    saved.progress.plateau.reductions = plateau.integer("reductions");
    fields.adopt(plateau);
  }
  if (!fields.error().empty()) return Error(fields.error());
  return saved;
}

Result<Checkpoint> checkpoint_of(const nlohmann::json& json) {
  SHEAF_ASSIGN(auto saved, progress_of(json));
  Fields fields(json);
  if (!fields.has("rows")) return Error("'rows' is missing: it is a Trainer's own, not a run's");
  if (saved.progress.seed > INT64_MAX) return Error("'seed' is not an integer from 0 to 2^63 - 1");
  Checkpoint checkpoint;
  RunIdentity& run = checkpoint.identity;
  run.plan = std::move(saved.plan);
  run.model = std::move(saved.model);
  run.seed = saved.progress.seed;
  checkpoint.lr = saved.progress.lr;
  run.rows = fields.integer("rows", 1);
  run.data = static_cast<uint32_t>(fields.integer("data", 0, UINT32_MAX));
  run.batch_size = fields.integer("batch_size", 1);
  run.micro_batches = fields.integer("micro_batches", 1);
  if (fields.has("choices")) run.choices = fields.text("choices");
  if (fields.has("shards")) run.shards = fields.integer("shards", 1);
  run.shuffle = fields.boolean("shuffle");
  run.drop_last = fields.boolean("drop_last");
  for (const nlohmann::json& device : fields.array("devices", 1024)) {
    if (!device.is_string()) fields.refuse("devices", "a list of texts");
    run.devices.push_back(device.is_string() ? device.get<std::string>() : "");
  }
  run.numerics = fields.text("numerics");
  run.cpu = fields.text("cpu");

  LoopState& state = checkpoint.state;
  state.step = saved.progress.steps;
  state.epoch = saved.progress.epochs;
  state.plateau = saved.progress.plateau;
  state.position = fields.integer("position");
  state.loss_sum = fields.number("epoch_loss_sum");
  state.rows = fields.integer("epoch_rows");
  state.seconds = fields.number("epoch_seconds");
  state.data_wait_seconds = fields.number("epoch_data_wait_seconds");
  std::vector<EpochRecord> epochs;
  for (const nlohmann::json& epoch : fields.array("epochs", EpochHistory::kMostRecords)) {
    Fields inner(epoch, "epochs." + std::to_string(epochs.size()) + ".");
    epochs.push_back(epoch_of(inner));
    fields.adopt(inner);
  }
  const int64_t stride = fields.integer("epochs_stride", 1);
  const bool all_epochs = EpochHistory::restore(state.epochs, std::move(epochs), state.epoch, stride,
                                                fields.number("epochs_seconds"), fields.number("epochs_data_wait_seconds"));
  state.curve = curve_of(fields);
  state.best.by = fields.text("best_by");
  state.best.epoch = fields.integer("best_epoch", 0, state.epoch);
  state.best.value = fields.number("best_value");
  if (!fields.error().empty()) return Error(fields.error());

  // Its position follows from the number of steps.
  const int64_t per_epoch = batches_per_epoch(run.rows, run.batch_size, run.drop_last);
  if (state.position > per_epoch || state.step / per_epoch < state.epoch ||
      state.step - state.epoch * per_epoch != state.position || !all_epochs)
    return Error("its step, epoch and position contradict each other");
  if (state.rows != std::min(run.rows, state.position * run.batch_size)) return Error("'epoch_rows' contradicts its position");
  return checkpoint;
}

}  // namespace sheaf
