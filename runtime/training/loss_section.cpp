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

double number_of(const Json& object, const char* name, double otherwise) {
  const Json& found = member_of(object, name);
  return found.is_number() ? found.get<double>() : otherwise;
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
  const auto is_data = [&](const std::string& name) {
    return std::ranges::any_of(plan.train.values, [&](const Value& value) {
      return (value.role == Value::target || value.role == Value::input) && value.name == name;
    });
  };
  for (const Json& input : inputs.is_array() ? inputs : Json::array()) {
    LossInput& taken = section.inputs.emplace_back(LossInput{text(input), std::nullopt});
    const auto output = std::ranges::find(plan.infer.outputs, taken.name, &Output::name);
    if (output != plan.infer.outputs.end()) taken.output = static_cast<size_t>(output - plan.infer.outputs.begin());
    else if (!is_data(taken.name))
      return refuse("training.loss: '" + taken.name + "' is no output of the model, target or input");
  }
  const ElementLoss* element = section.element();
  section.sequences = section.type == "CTCLoss";
  if (section.inputs.size() != (element             ? element->inputs
                                : section.sequences ? 4
                                                    : 2) ||
      std::ranges::none_of(section.inputs, [](const LossInput& input) { return input.output.has_value(); }))
    return refuse("training.loss: its inputs are not outputs of the model and targets");
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

  const bool margins = element && element->of_classes();
  if (section.type != "CrossEntropyLoss" && !section.sequences && section.type != "NLLLoss" && !margins) return section;
  const auto value_of = [&](const LossInput& input) -> const Value& {
    if (input.output) return plan.infer.values[static_cast<size_t>(plan.infer.outputs[*input.output].value)];
    return *std::ranges::find_if(plan.train.values, [&](const Value& value) {
      return (value.role == Value::target || value.role == Value::input) && value.name == input.name;
    });
  };
  if (section.sequences) {
    const auto size = [&](size_t input, size_t dim) {
      const auto& shape = value_of(section.inputs[input]).shape;
      return shape.size() > dim && shape[dim].is_static() ? shape[dim].constant : 0;
    };
    section.longest = {size(0, 0), size(1, 1)};
    return section;
  }
  const DType target = value_of(section.inputs[1]).dtype;
  const bool integer = target == DType::int64 || target == DType::int32 || target == DType::uint8;
  section.classes = integer && !margins;
  section.probabilities = !integer && section.type == "CrossEntropyLoss";
  if (!section.classes && !section.probabilities && !margins) return section;
  const auto& shape = value_of(section.inputs[0]).shape;
  section.class_dim = shape.size() > 1 ? 1 : 0;
  if (shape.empty() || !shape[static_cast<size_t>(section.class_dim)].is_static())
    return refuse("training.loss: '" + section.inputs[0].name + "' has no fixed number of classes");
  section.class_count = shape[static_cast<size_t>(section.class_dim)].constant;
  if (!section.weight.empty() && std::ssize(section.weight) != section.class_count)
    return refuse("training.loss: 'weight' has another number of entries than '" + section.inputs[0].name + "' has classes");
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
