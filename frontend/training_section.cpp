#include "frontend/training_section.h"

#include "frontend/declarations.h"
#include "frontend/names.h"
#include "frontend/parameter_groups.h"
#include "frontend/signatures.h"
#include "runtime/base/suggest.h"
#include "runtime/plan/metric.h"

#include <algorithm>

namespace sheaf::frontend {
namespace {

using NodeKind = LocatedNode::Kind;

/// "input, target and var".
std::string roles_text(const std::vector<LossInput>& roles) {
  std::string text;
  for (size_t i = 0; i < roles.size(); ++i) text += (i == 0 ? "" : i + 1 == roles.size() ? " and " : ", ") + roles[i].name;
  return text;
}

std::vector<std::string> outputs_and_targets(const Model& model, const Training& training) {
  std::vector<std::string> names = model.graph.output_names;
  for (const InputDecl& target : training.targets) names.push_back(target.name);
  return names;
}

/// True unless the loss takes no targets, by its type or by its "inputs".
bool needs_targets(const LocatedNode& training) {
  const LocatedMember* loss = training.find("loss");
  if (!loss || loss->value.kind != NodeKind::object) return true;
  const LocatedMember* type = loss->value.find("type");
  const auto row = std::ranges::find(losses(), type ? type->value.string : "", &Signature::name);
  return !loss->value.find("inputs") &&
         (row == losses().end() || std::ranges::count(row->inputs, true, &LossInput::target) > 0);
}

/// For a loss without "inputs": the model's outputs and the targets in their order, if there are as many as it takes.
void default_loss_inputs(const LocatedNode& loss, const std::vector<LossInput>& roles, const Model& model, bool outputs_known,
                         Training& training, Problems& problems) {
  const std::vector<std::string>& outputs = model.graph.output_names;
  const auto wanted = static_cast<size_t>(std::ranges::count(roles, true, &LossInput::target));
  if (!outputs_known || (wanted > 0 && training.targets.empty())) return;  // already reported
  if (outputs.size() + wanted == roles.size() && training.targets.size() == wanted) {
    size_t output = 0, target = 0;
    for (const LossInput& role : roles)
      training.loss_inputs.push_back(role.target ? training.targets[target++].name : outputs[output++]);
    return;
  }
  problems.add(loss.place, "the loss needs 'inputs': which outputs and targets are its " + roles_text(roles),
               {"there are " + quoted_list(outputs_and_targets(model, training))});
}

/// "inputs" of the loss, one for each of `roles`: model outputs, targets, or the model's own inputs.
void read_loss_inputs(const LocatedNode& loss, const std::vector<LossInput>& roles, const Model& model, bool outputs_known,
                      Training& training, Problems& problems) {
  const LocatedMember* inputs = loss.find("inputs");
  if (!inputs) return default_loss_inputs(loss, roles, model, outputs_known, training, problems);
  if (inputs->value.kind != NodeKind::array || inputs->value.items.size() != roles.size()) {
    return refuse({&inputs->value, nullptr, {}, {}}, "'inputs' of the loss",
                  "a list of " + std::to_string(roles.size()) + " names: " + roles_text(roles), problems);
  }
  std::vector<std::string> known = outputs_and_targets(model, training);
  for (const InputDecl& input : model.inputs) known.push_back(input.name);
  bool uses_output = false;
  for (const LocatedNode& item : inputs->value.items) {
    if (item.kind != NodeKind::string) {
      refuse({&item, nullptr, {}, {}}, "an input of the loss", "the name of an output or target", problems);
      continue;
    }
    training.loss_inputs.push_back(item.string);
    uses_output |= std::ranges::find(model.graph.output_names, item.string) != model.graph.output_names.end();
    if (!outputs_known || std::ranges::find(known, item.string) != known.end()) continue;
    problems.add(item.place, "the loss takes outputs of the model, targets and inputs; '" + item.string + "' is none of them" +
                                 suggestion(item.string, known));
    uses_output = true;  // already reported above
  }
  if (outputs_known && !uses_output)
    problems.add(inputs->value.place, "the loss takes no output of the model",
                 {"outputs: " + quoted_list(model.graph.output_names)});
}

void read_loss(const LocatedNode& node, const Model& model, bool outputs_known, Training& training, Problems& problems) {
  auto loss = check_signature(losses(), "loss", node, {"inputs"}, problems);
  if (!loss) return;
  training.loss_type = (*loss)["type"].get<std::string>();
  const auto row = std::ranges::find(losses(), training.loss_type, &Signature::name);
  read_loss_inputs(node, row->inputs, model, outputs_known, training, problems);
  loss->erase("type");
  training.loss_arguments = std::move(*loss);
}

/// `graph` null: the layers aren't known.
void read_optimizer(const LocatedNode& node, const Graph* graph, Training& training, Problems& problems) {
  auto optimizer = check_signature(optimizers(), "optimizer", node, {"parameter_groups"}, problems);
  if (!optimizer) return;
  if (optimizer->value("nesterov", false) &&
      ((*optimizer)["momentum"].get<double>() == 0 || (*optimizer)["dampening"].get<double>() != 0)) {
    problems.add(node.find("nesterov")->value.place, "'nesterov' needs a momentum above 0 and no dampening");
  }
  if (const LocatedMember* entry = node.find("parameter_groups")) {
    const auto row = std::ranges::find(optimizers(), (*optimizer)["type"].get<std::string>(), &Signature::name);
    auto groups = read_parameter_groups(entry->value, row->arguments, graph, problems);
    if (groups && !groups->empty()) (*optimizer)["parameter_groups"] = std::move(*groups);
  }
  training.optimizer = std::move(*optimizer);
}

std::optional<Json> read_schedule(const LocatedNode& node, bool whole, Problems& problems);

/// The schedules that take turns: one more than the milestones; the next one begins at each milestone.
bool read_schedulers(const LocatedNode& node, Json& sequence, Problems& problems) {
  const LocatedMember* entry = node.find("schedulers");
  if (!entry || entry->value.kind != NodeKind::array || entry->value.items.empty()) {
    if (!entry) problems.add(node.place, "schedule SequentialLR needs the argument 'schedulers' (a list of schedules)");
    if (entry) refuse({&entry->value, nullptr, {}, {}}, "'schedulers'", "a list of schedules", problems);
    return false;
  }
  bool complete = true;
  Json schedulers = Json::array();
  for (const LocatedNode& item : entry->value.items) {
    auto one = read_schedule(item, false, problems);
    complete &= one.has_value();
    if (one) schedulers.push_back(std::move(*one));
  }
  if (complete && schedulers.size() != sequence["milestones"].size() + 1) {
    problems.add(entry->place, "SequentialLR has " + std::to_string(schedulers.size()) + " schedulers and " +
                                   std::to_string(sequence["milestones"].size()) +
                                   " milestones; each scheduler but the first needs a milestone to begin at");
    complete = false;
  }
  sequence["schedulers"] = std::move(schedulers);
  return complete;
}

/// `whole`: false for a schedule in a sequence; the sequence has the 'interval'.
std::optional<Json> read_schedule(const LocatedNode& node, bool whole, Problems& problems) {
  const LocatedMember* type = node.kind == NodeKind::object ? node.find("type") : nullptr;
  const bool sequence = type && type->value.kind == NodeKind::string && type->value.string == "SequentialLR";
  auto schedule = check_signature(schedules(), "schedule", node,
                                  sequence ? std::vector<std::string>{"schedulers"} : std::vector<std::string>{}, problems);
  if (!schedule) return std::nullopt;
  if (schedule->contains("milestones")) {
    Json& milestones = (*schedule)["milestones"];
    std::sort(milestones.begin(), milestones.end());
  }
  if (schedule->value("cycle_momentum", false)) {
    problems.add(node.find("cycle_momentum")->place,
                 "'cycle_momentum' of OneCycleLR must be false: the momentum is the optimizer's");
    return std::nullopt;
  }
  if (whole) return sequence && !read_schedulers(node, *schedule, problems) ? std::nullopt : std::move(schedule);
  if (sequence || (*schedule)["type"] == "OneCycleLR" || (*schedule)["type"] == "ReduceLROnPlateau") {
    problems.add(type->value.place, "a " + type->value.string + " can't be part of a SequentialLR");
    return std::nullopt;
  }
  if (const LocatedMember* interval = node.find("interval")) {
    problems.add(interval->place, "'interval' belongs to the SequentialLR, whose schedulers advance together");
    return std::nullopt;
  }
  schedule->erase("interval");
  return schedule;
}

void read_metrics(const LocatedNode& node, Training& training, Problems& problems) {
  if (node.kind != NodeKind::array) return refuse({&node, nullptr, {}, {}}, "'metrics'", "a list", problems);
  for (const LocatedNode& item : node.items) {
    if (item.kind != NodeKind::string) {
      refuse({&item, nullptr, {}, {}}, "a metric", "a name", problems);
      continue;
    }
    const auto row = std::ranges::find(metric_rows(), item.string, &MetricRow::name);
    if (row == metric_rows().end()) {
      problems.add(item.place, "unknown metric '" + item.string + "'" + suggestion(item.string, metrics()));
    } else if (!training.loss_type.empty() && std::ranges::find(row->losses, training.loss_type) == row->losses.end()) {
      problems.add(item.place, "'" + item.string + "' can't be computed with " + training.loss_type,
                   {"expected one of the losses " + quoted_list(row->losses)});
    } else {
      training.metrics.push_back(item.string);
    }
  }
}

/// A schedule that follows a metric needs it measured.
void check_monitor(const LocatedMember& entry, const Training& training, Problems& problems) {
  const std::string monitor = training.schedule.value("monitor", "");
  for (const MetricRow& row : metric_rows()) {
    if (monitor != "eval_" + row.name || std::ranges::find(training.metrics, row.name) != training.metrics.end()) continue;
    problems.add(entry.place, "the schedule follows " + monitor + ", which needs \"metrics\": [\"" + row.name + "\"]");
  }
}

/// A number is a constant scale, an object one that adapts.
void read_loss_scale(const LocatedNode& node, Training& training, Problems& problems) {
  const JsonValue value{&node, nullptr, {}, {}};
  if (node.kind == NodeKind::object) {
    CheckedArguments checked = check_arguments(loss_scale_arguments(), 0, value, {}, "'loss_scale'", problems);
    if (checked.complete) training.loss_scale = std::move(checked.values);
  } else if (auto scale = check_argument(
                 mended(loss_scale_arguments().front(), "an object, such as {}, makes it adapt as torch.amp.GradScaler does"),
                 0, value, "'loss_scale'", problems)) {
    training.loss_scale = std::move(*scale);
  }
}

}  // namespace

Training read_training(const LocatedNode& node, const Model& model, bool outputs_known, Problems& problems) {
  Training training;
  training.location = problems.locate(node.place);
  if (node.kind != NodeKind::object) {
    refuse({&node, nullptr, {}, {}}, "'training'", "an object", problems);
    return training;
  }
  check_fields(node, {"targets", "loss", "optimizer", "schedule", "clip_grad_norm", "loss_scale", "metrics"}, "'training'",
               problems);
  for (const char* field : {"targets", "loss", "optimizer"}) {
    if (!node.find(field) && (field != std::string("targets") || needs_targets(node)))
      problems.add(node.place, "'training' needs '" + std::string(field) + "'");
  }
  if (auto* entry = node.find("targets")) training.targets = read_declarations(entry->value, "target", model.inputs, problems);
  for (const InputDecl& target : training.targets) {
    if (std::ranges::find(model.graph.output_names, target.name) == model.graph.output_names.end()) continue;
    problems.add({target.location.line, target.location.column}, "the target name '" + target.name + "' is an output's");
  }
  if (auto* entry = node.find("loss")) read_loss(entry->value, model, outputs_known, training, problems);
  if (auto* entry = node.find("optimizer"))
    read_optimizer(entry->value, outputs_known ? &model.graph : nullptr, training, problems);
  if (auto* entry = node.find("schedule")) {
    if (auto schedule = read_schedule(entry->value, true, problems)) training.schedule = std::move(*schedule);
  }
  if (auto* entry = node.find("metrics")) read_metrics(entry->value, training, problems);
  if (auto* entry = node.find("schedule"); entry && !training.schedule.is_null()) check_monitor(*entry, training, problems);
  if (auto* entry = node.find("clip_grad_norm")) {
    Argument clip = not_negative("clip_grad_norm");
    clip.type.minimum_excluded = true;
    auto norm = check_argument(clip, 0, {&entry->value, nullptr, {}, {}}, "'clip_grad_norm'", problems);
    if (norm) training.clip_grad_norm = norm->get<double>();
  }
  if (auto* entry = node.find("loss_scale")) read_loss_scale(entry->value, training, problems);
  return training;
}

}  // namespace sheaf::frontend
