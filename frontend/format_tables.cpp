#include "frontend/layer_table.h"
#include "frontend/model_schema.h"
#include "frontend/refused_types.h"
#include "frontend/signatures.h"

namespace sheaf::frontend {
namespace {

using Kind = ArgumentType::Kind;

// "`kernel_size`", "`stride` = 1", "`proj_size` = 0 only"; arguments without effect are left out.
std::string arguments_text(const std::vector<Argument>& arguments) {
  std::string text;
  for (const Argument& argument : arguments) {
    if (argument.type.kind == Kind::ignored) continue;
    text += (text.empty() ? "`" : ", `") + argument.name + "`";
    if (argument.fallback) text += " = " + argument.fallback->dump();
    if (argument.type.kind == Kind::fixed || argument.type.choices.size() == 1) text += " only";
  }
  return text.empty() ? "–" : text;
}

std::string inputs_text(const LayerType& type) {
  if (type.most_inputs == any_number) return std::to_string(type.least_inputs) + " or more";
  if (type.least_inputs == type.most_inputs) return std::to_string(type.least_inputs);
  const bool several = type.most_inputs - type.least_inputs > type.inputs_step;
  return std::to_string(type.least_inputs) + (several ? " to " : " or ") + std::to_string(type.most_inputs);
}

std::string outputs_text(const LayerType& type) {
  return type.outputs == any_number ? "1 or more" : std::to_string(type.outputs);
}

std::string signature_table(const char* title, const std::vector<Signature>& rows) {
  std::string text = "\n| " + std::string(title) + " | arguments |\n|---|---|\n";
  for (const Signature& row : rows) text += "| `" + row.name + "` | " + arguments_text(row.arguments) + " |\n";
  return text;
}

/// "`input`, `target`"; inputs that are targets by default are in italics.
std::string loss_table() {
  std::string text = "\n| loss | inputs: outputs of the model, and *targets* | arguments |\n|---|---|---|\n";
  for (const Signature& row : losses()) {
    text += "| `" + row.name + "` | ";
    for (const LossInput& input : row.inputs)
      text += (&input == row.inputs.data() ? "" : ", ") + (input.target ? "*" + input.name + "*" : input.name);
    text += " | " + arguments_text(row.arguments) + " |\n";
  }
  return text;
}

/// Those with one reason share a row.
std::string refused_table() {
  std::string text = "\n| torch.nn has it, model files don't | why |\n|---|---|\n", names;
  const std::vector<RefusedType>& rows = refused_types();
  for (size_t i = 0; i < rows.size(); ++i) {
    names += (names.empty() ? "`" : ", `") + rows[i].name + "`";
    if (i + 1 < rows.size() && rows[i + 1].why == rows[i].why) continue;
    text += "| " + names + " | " + rows[i].why + " |\n";
    names.clear();
  }
  return text;
}

}  // namespace

std::string format_tables() {
  std::string text = "| layer | inputs | outputs | what it does | arguments |\n|---|---|---|---|---|\n";
  for (const LayerType& type : layer_types()) {
    text += "| `" + type.name + "` | " + inputs_text(type) + " | " + outputs_text(type) + " | " + type.summary + " | " +
            arguments_text(type.arguments) + " |\n";
  }
  return text + loss_table() + signature_table("optimizer", optimizers()) + signature_table("schedule", schedules()) +
         signature_table("distribution", distributions()) + refused_table();
}

}  // namespace sheaf::frontend
