#include "runtime/training/loss_section.h"

#include <algorithm>

namespace sheaf {
namespace {

std::vector<double> numbers(const Json& json) {
  std::vector<double> list;
  if (!json.is_array()) return list;
  for (const Json& number : json) list.push_back(number.is_number() ? number.get<double>() : 0);
  return list;
}

std::string text(const Json& json) { return json.is_string() ? json.get<std::string>() : ""; }

}  // namespace

const Json& member_of(const Json& object, const char* name) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

Result<LossSection> loss_section(const Plan& plan) {
  const auto refuse = [&](const std::string& why) { return Error({plan.file, 0, 0}, why); };
  if (plan.train.steps.empty() || !plan.training.is_object()) {
    return refuse("the plan has no train program: its model has no \"training\" section")
        .note("add one to the model file (targets, loss, optimizer) and compile it again");
  }
  const Json& loss = member_of(plan.training, "loss");
  const Json& inputs = member_of(loss, "inputs");
  const Json& arguments = member_of(loss, "arguments");
  LossSection section;
  section.type = text(member_of(loss, "type"));
  const Value* target = nullptr;
  bool found = false;
  for (const Json& input : inputs.is_array() ? inputs : Json::array()) {
    const std::string name = text(input);
    for (size_t i = 0; i < plan.infer.outputs.size() && !found; ++i) {
      if (plan.infer.outputs[i].name != name) continue;
      found = true;
      section.output = name;
      section.output_index = i;
    }
    for (const Value& value : plan.train.values) {
      if (value.role == Value::target && value.name == name) target = &value;
    }
  }
  if (!found || !target) return refuse("training.loss: its inputs are not an output of the model and a target");
  section.target = target->name;
  section.sum = text(member_of(arguments, "reduction")) == "sum";
  if (const Json& ignored = member_of(arguments, "ignore_index"); ignored.is_number_integer())
    section.ignore_index = ignored.get<int64_t>();
  if (const Json& smoothing = member_of(arguments, "label_smoothing"); smoothing.is_number())
    section.label_smoothing = smoothing.get<double>();
  section.weight = numbers(member_of(arguments, "weight"));
  section.pos_weight = numbers(member_of(arguments, "pos_weight"));
  section.by_batch = text(member_of(arguments, "reduction")) == "batchmean";
  section.arguments = arguments;
  const Json& asked = member_of(plan.training, "metrics");
  for (const MetricRow& row : metric_rows()) {
    if (std::ranges::any_of(asked, [&](const Json& name) { return text(name) == row.name; }))
      section.metrics.push_back(row.metric);
  }

  const bool integer = target->dtype == DType::int64 || target->dtype == DType::int32 || target->dtype == DType::uint8;
  section.classes = integer && (section.type == "CrossEntropyLoss" || section.type == "NLLLoss");
  section.probabilities = !integer && section.type == "CrossEntropyLoss";
  if (!section.classes && !section.probabilities) return section;
  const auto& shape = plan.infer.values[static_cast<size_t>(plan.infer.outputs[section.output_index].value)].shape;
  section.class_dim = shape.size() > 1 ? 1 : 0;
  if (shape.empty() || !shape[static_cast<size_t>(section.class_dim)].is_static())
    return refuse("training.loss: output '" + section.output + "' has no fixed number of classes");
  section.class_count = shape[static_cast<size_t>(section.class_dim)].constant;
  if (!section.weight.empty() && std::ssize(section.weight) != section.class_count)
    return refuse("training.loss: 'weight' has another number of entries than output '" + section.output + "' has classes");
  return section;
}

std::vector<Metric> all_metrics(const LossSection& loss) {
  std::vector<Metric> metrics;
  for (const MetricRow& row : metric_rows()) {
    if (std::ranges::find(row.losses, loss.type) != row.losses.end()) metrics.push_back(row.metric);
  }
  return metrics;
}

std::string call_text(const Json& object) {
  if (!object.is_object()) return "none";
  std::string text, type;
  for (const auto& [name, value] : object.items()) {
    if (name == "type") {
      type = value.is_string() ? value.get<std::string>() : value.dump();
    } else {
      text += (text.empty() ? "" : ", ") + name + "=" +
              (value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  }
  return type + "(" + text + ")";
}

}  // namespace sheaf
