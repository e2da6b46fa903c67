#include "frontend/model.h"

#include "frontend/declarations.h"
#include "frontend/expand.h"
#include "frontend/full_names.h"
#include "frontend/init_rules.h"
#include "frontend/names.h"
#include "frontend/share.h"
#include "frontend/training_section.h"
#include "runtime/base/file.h"

#include <filesystem>
#include <regex>

namespace sheaf::frontend {
namespace {

using NodeKind = LocatedNode::Kind;

void check_version(const LocatedNode& root, Problems& problems) {
  const LocatedMember* version = root.find("sheaf");
  if (!version) {
    problems.add(root.place, "the model needs the format's version: \"sheaf\": \"1.0\"");
  } else if (version->value.kind != NodeKind::string || version->value.string.size() > 20 ||
             !std::regex_match(version->value.string, std::regex("[0-9]+\\.[0-9]+"))) {
    refuse({&version->value, nullptr, {}, {}}, "the format's version", "a string such as \"1.0\"", problems);
  } else if (!version->value.string.starts_with("1.")) {
    problems.add(version->value.place,
                 "format version " + version->value.string + " is not known: this program reads versions 1.x");
  }
}

// Nothing is substituted outside modules: a "$name" there, however deep, is a mistake.
void refuse_parameters(const LocatedNode& node, Problems& problems) {
  resolve(node, nullptr, problems);
  for (const LocatedNode& item : node.items) refuse_parameters(item, problems);
  for (const LocatedMember& member : node.members) refuse_parameters(member.value, problems);
}

void read_name(const LocatedNode& root, Model& model, Problems& problems) {
  model.name = std::filesystem::path(model.file).stem().string();
  const LocatedMember* name = root.find("name");
  if (!name) return;
  if (name->value.kind != NodeKind::string || name->value.string.empty()) {
    return refuse({&name->value, nullptr, {}, {}}, "the model's 'name'", "a string, not empty", problems);
  }
  if (has_control_character(name->value.string))
    problems.add(name->value.place, "the model's name contains a control character");
  model.name = name->value.string;
}

void read_layers(const LocatedNode& root, Expander& expander, Model& model, Problems& problems) {
  const LocatedMember* layers = root.find("layers");
  if (!layers) problems.add(root.place, "the model needs 'layers'");
  if (layers && (layers->value.kind != NodeKind::array || layers->value.items.empty())) {
    refuse({&layers->value, nullptr, {}, {}}, "'layers'", "a list of at least one layer", problems);
  }
  if (layers) refuse_parameters(layers->value, problems);
  std::vector<std::string> names;
  for (const InputDecl& input : model.inputs) names.push_back(input.name);
  model.graph = expander.expand_model(root, names);
  expander.check_unused_modules();
}

Model read_model(const LocatedNode& root, std::string file, Problems& problems) {
  Model model;
  model.file = std::move(file);
  if (root.kind != NodeKind::object) {
    refuse({&root, nullptr, {}, {}}, "a model", "an object", problems);
    return model;
  }
  check_fields(root, {"$schema", "sheaf", "name", "inputs", "modules", "layers", "outputs", "init", "training"}, "the model",
               problems);
  if (const LocatedMember* schema = root.find("$schema"); schema && schema->value.kind != NodeKind::string) {
    refuse({&schema->value, nullptr, {}, {}}, "'$schema'", "a string", problems);
  }
  check_version(root, problems);
  read_name(root, model, problems);
  const LocatedMember* inputs = root.find("inputs");
  if (!inputs) problems.add(root.place, "the model needs 'inputs': name → {\"shape\", \"dtype\"}");
  if (inputs) model.inputs = read_declarations(inputs->value, "input", {}, problems);
  const LocatedMember* modules = root.find("modules");
  Expander expander(modules ? &modules->value : nullptr, problems);
  read_layers(root, expander, model, problems);
  if (const LocatedMember* init = root.find("init")) model.init = read_init_rules(init->value, problems);
  bool known = expander.complete();
  if (known) {
    check_lengths(model, problems);
    if (problems.empty()) check_full_names(model.graph, problems);
    tie_parameters(model.graph, expander.shares(), problems);
    check_init_shapes(model.graph, model.init, problems);
  }
  if (const LocatedMember* training = root.find("training")) {
    model.training = read_training(training->value, model, known, problems);
  }
  std::vector<InputDecl> declared = model.inputs;
  if (model.training) declared.insert(declared.end(), model.training->targets.begin(), model.training->targets.end());
  model.lengths = lengths_in(declared);
  return model;
}

}  // namespace

int output_count(const Layer& layer) {
  if (layer.body) return static_cast<int>(layer.body->outputs.size());
  const LayerType* type = find_layer_type(layer.type);
  const int outputs = type ? outputs_of(*type, layer.arguments) : 1;
  return outputs == any_number ? layer.values : outputs;
}

Result<Model> parse_model(std::string file, std::string text) {
  Problems problems(file, text);
  auto root = parse_located_json(text, problems);
  if (!root) return problems.take();
  Model model = read_model(*root, std::move(file), problems);
  if (!problems.empty()) return problems.take();
  model.text = std::move(text);
  return model;
}

Result<Model> load_model(const std::string& file) {
  // One byte beyond the limit is enough for the parser to refuse; a device file never ends.
  SHEAF_ASSIGN(auto text, read_stream(file, ModelFileLimits{}.bytes));
  return parse_model(file, std::move(text));
}

}  // namespace sheaf::frontend
