#include "runtime/plan/serialize.h"

#include "runtime/plan/base64.h"
#include "runtime/plan/kernel_signature.h"
#include "runtime/plan/names.h"
#include "runtime/base/sha256.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sheaf {

namespace {

Json json_of(const std::vector<Extent>& shape) {
  Json json = Json::array();
  for (const Extent& extent : shape) json.push_back(to_string(extent));
  return json;
}

Json json_of(const Location& location) {
  return {{"file", location.file}, {"line", location.line}, {"column", location.column}};
}

Json json_of(const Region& region) {
  Json json = {{"name", region.name}};
  if (region.device_ids) json["device_ids"] = *region.device_ids;
  if (region.output_device) json["output_device"] = *region.output_device;
  json["dim"] = region.dim;
  json["location"] = json_of(region.location);
  return json;
}

Json json_of(const Parameter& parameter) {
  Json json = {{"name", parameter.name}, {"dtype", std::string(name_of(parameter.dtype))}, {"shape", parameter.shape}};
  if (parameter.buffer) json["buffer"] = true;
  if (parameter.constant) json["constant"] = true;
  if (parameter.transient) json["transient"] = true;
  if (!parameter.aliases.empty()) json["aliases"] = parameter.aliases;
  json["init"] = parameter.init;
  return json;
}

Json json_of(const Kernel& kernel, const KernelSignatures& signatures) {
  Json json = {{"name", kernel.name}, {"description", kernel.description}, {"extents", kernel.extents}};
  if (kernel.elementwise) json["elementwise"] = true;
  if (kernel.gpu_block) json["gpu"] = {{"block", kernel.gpu_block}, {"items", kernel.gpu_items}};
  for (const KernelArithmetic& term : kernel.arithmetic)
    json["arithmetic"].push_back({{"each", term.each}, {"instructions", term.instructions}, {"operand", term.operand}});
  const auto found = signatures.find(kernel.name);
  json["signatures"] = found == signatures.end() ? Json::array() : Json(found->second);
  return json;
}

Json json_of(const Symbol& symbol) {
  Json json = {{"name", symbol.name}, {"kind", std::string(name_of(symbol.kind))}};
  const bool length = symbol.kind == Symbol::length;
  if (symbol.kind != Symbol::batch && !length) json["region"] = symbol.region;
  if (symbol.kind == Symbol::chunk || symbol.kind == Symbol::offset || (length && symbol.of != Extent()))
    json["of"] = to_string(symbol.of);
  return json;
}

bool states_purpose(const Value& value) {
  return value.role == Value::temporary && value.purpose != Value::Purpose::activations;
}

Json json_of(const Value& value) {
  Json json = {{"name", value.name},
               {"dtype", std::string(name_of(value.dtype))},
               {"shape", json_of(value.shape)},
               {"place", to_string(value.place)},
               {"role", std::string(name_of(value.role))}};
  if (!value.source.empty()) json["source"] = value.source;
  if (value.layout.kind != ValueLayout::whole) json["layout"] = to_string(value.layout);
  if (states_purpose(value)) json["purpose"] = std::string(name_of(value.purpose));
  return json;
}

Json json_of(const Step& step) {
  Json json = {{"op", op_name(step)}};
  if (!step.kernel.empty()) json["kernel"] = step.kernel;
  json["inputs"] = step.inputs;
  json["roles"] = step.roles;
  json["outputs"] = step.outputs;
  if (!step.attributes.empty()) json["attributes"] = step.attributes;
  json["place"] = to_string(step.place);
  json["layer"] = step.layer;
  if (step.location.line) json["location"] = json_of(step.location);
  if (!step.fused.empty()) json["fused"] = step.fused;
  if (!step.reason.empty()) json["reason"] = step.reason;
  if (!step.notes.empty()) json["notes"] = step.notes;
  if (step.once) json["once"] = true;
  if (step.phase != Phase::forward) json["phase"] = std::string(name_of(step.phase));
  return json;
}

Json json_of(const Output& output) { return {{"name", output.name}, {"value", output.value}}; }
Json json_of(const Update& update) { return {{"name", update.name}, {"value", update.value}}; }

template <typename T>
Json list_of(const std::vector<T>& items) {
  Json json = Json::array();
  for (const T& item : items) json.push_back(json_of(item));
  return json;
}

Json json_of(const Program& program) {
  Json json = {{"symbols", list_of(program.symbols)},
               {"values", list_of(program.values)},
               {"steps", list_of(program.steps)},
               {"outputs", list_of(program.outputs)}};
  if (!program.updates.empty()) json["updates"] = list_of(program.updates);
  return json;
}

/// One element of a list a line, and a line for each field down to `depth`: readable, and good to diff.
void lay_out(const Json& json, int depth, const std::string& indent, std::string& text) {
  const auto compact = [](const Json& part) { return part.dump(-1, ' ', false, Json::error_handler_t::replace); };
  const bool list = json.is_array() && !json.empty() && json.front().is_object();
  if (!list && (depth == 0 || !json.is_object() || json.empty())) {
    text += compact(json);
    return;
  }
  text += list ? "[" : "{";
  const char* separator = "\n";
  for (const auto& item : json.items()) {
    text += separator + indent + "  ";
    separator = ",\n";
    if (list) {
      text += compact(item.value());
    } else {
      text += compact(Json(item.key())) + ": ";
      lay_out(item.value(), depth - 1, indent + "  ", text);
    }
  }
  text += "\n" + indent + (list ? "]" : "}");
}

bool holds_program(const Program& program) { return !program.symbols.empty() || !program.steps.empty(); }

bool states_layouts(const Program& program) {
  return std::any_of(program.values.begin(), program.values.end(),
                     [](const Value& value) { return value.layout.kind != ValueLayout::whole; });
}

bool states_parts(const Program& program) {
  return std::any_of(program.values.begin(), program.values.end(), states_purpose) ||
         std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) { return step.phase != Phase::forward; });
}

int minor_version(const Plan& plan, bool trains) {
  const Program* all[] = {&plan.infer,      &plan.infer_graph,      &plan.train,  &plan.train_graph,
                          &plan.accumulate, &plan.accumulate_graph, &plan.update, &plan.update_graph};
  if (holds_program(plan.forward)) return 6;
  if (std::any_of(std::begin(all), std::end(all), [](const Program* program) { return states_parts(*program); })) return 5;
  if (!plan.kernels.empty()) return 4;
  if (std::any_of(std::begin(all), std::end(all), [](const Program* program) { return states_layouts(*program); })) return 2;
  if (holds_program(plan.accumulate)) return 2;
  return trains ? 1 : 0;
}

}  // namespace

std::string serialize(const Plan& plan) {
  Json objects = Json::array();
  for (const auto& [level, bytes] : plan.objects)
    objects.push_back(
        {{"level", level}, level == kPtxObject ? std::pair("text", Json(bytes)) : std::pair("data", Json(to_base64(bytes)))});

  const bool trains = holds_program(plan.train);
  Json programs = {{"infer", json_of(plan.infer)}}, graphs = {{"infer", json_of(plan.infer_graph)}};
  const auto add = [](Json& to, const char* name, const Program& program) {
    if (holds_program(program)) to[name] = json_of(program);
  };
  add(programs, "train", plan.train);
  add(programs, "accumulate", plan.accumulate);
  add(programs, "update", plan.update);
  add(programs, "forward", plan.forward);
  add(programs, "backward", plan.backward);
  add(graphs, "train", plan.train_graph);
  add(graphs, "accumulate", plan.accumulate_graph);
  add(graphs, "update", plan.update_graph);
  add(graphs, "forward", plan.forward_graph);
  add(graphs, "backward", plan.backward_graph);

  Json document = {{"format", "sheaf-plan"},
                   {"version", std::to_string(kPlanMajor) + "." + std::to_string(minor_version(plan, trains))},
                   {"producer", plan.producer},
                   {"requires", plan.requires_}};
  Json content = {{"name", plan.name},
                  {"precision", plan.precision},
                  {"regions", list_of(plan.regions)},
                  {"parameters", list_of(plan.parameters)}};
  if (!plan.state.empty()) content["state"] = list_of(plan.state);
  const KernelSignatures signatures = kernel_signatures(plan);
  content["kernels"] = Json::array();
  for (const Kernel& kernel : plan.kernels) content["kernels"].push_back(json_of(kernel, signatures));
  content["programs"] = std::move(programs);
  content["graphs"] = std::move(graphs);
  content["training"] = plan.training;
  content["ir"] = plan.ir;
  if (!plan.train_ir.empty()) content["train_ir"] = plan.train_ir;
  if (!plan.accumulate_ir.empty()) content["accumulate_ir"] = plan.accumulate_ir;
  if (!plan.forward_ir.empty()) content["forward_ir"] = plan.forward_ir;
  if (!plan.backward_ir.empty()) content["backward_ir"] = plan.backward_ir;
  content["objects"] = std::move(objects);
  Json hashed = document;
  for (const auto& item : content.items()) hashed[item.key()] = item.value();
  // The digest is near the top, but is computed over all the rest: see verify_digest in runtime/check/plan_header.h.
  document["sha256"] = sha256(hashed.dump(-1, ' ', false, Json::error_handler_t::replace));
  for (const auto& item : content.items()) document[item.key()] = item.value();

  std::string text;
  lay_out(document, 3, "", text);
  return text + "\n";
}

}  // namespace sheaf
