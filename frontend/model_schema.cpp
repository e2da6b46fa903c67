#include "frontend/model_schema.h"

#include "frontend/argument_schema.h"
#include "frontend/declarations.h"
#include "frontend/expand.h"
#include "frontend/names.h"
#include "frontend/signatures.h"

namespace sheaf::frontend {
namespace {

Json ref(const std::string& name) { return {{"$ref", "#/$defs/" + name}}; }

Json object_schema(Json properties, std::vector<std::string> required) {
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

Json list_schema(Json item, size_t least) {
  Json schema = {{"type", "array"}, {"items", std::move(item)}};
  if (least > 0) schema["minItems"] = least;
  return schema;
}

/// The fields of every layer; `parameters` is the pattern of its own parameters' names.
Json layer_properties(const std::string& parameters) {
  Json share = {{"type", "object"}, {"additionalProperties", or_parameter({{"type", "string"}})}};
  if (parameters.empty()) share["maxProperties"] = 0;
  if (!parameters.empty()) share["propertyNames"] = {{"pattern", "^(" + parameters + ")$"}};
  Json layer = {{"type", "string"}};
  share = Json{{"anyOf", {layer, share}}};
  return {{"name", or_parameter(ref("layer_name"))},
          {"type", {{"type", "string"}}},
          {"inputs", or_parameter(list_schema(or_parameter({{"type", "string"}}), 0))},
          {"device", or_parameter(ref("device"))},
          {"share", or_parameter(share)},
          {"trainable", or_parameter({{"type", "boolean"}, {"default", true}})},
          {"checkpoint", or_parameter({{"type", "boolean"}, {"default", false}})}};
}

std::vector<std::string> add_arguments(Json& properties, const std::vector<Argument>& arguments, int rank, bool in_layer) {
  std::vector<std::string> required;
  for (const Argument& argument : arguments) {
    properties[argument.name] = argument_schema(argument, rank, in_layer);
    if (!argument.fallback) required.push_back(argument.name);
  }
  return required;
}

Json leaf_schema(const LayerType& type) {
  Json properties = layer_properties(type.parameter_names);
  auto required = add_arguments(properties, type.arguments, type.spatial_rank, true);
  Json schema = object_schema(std::move(properties), std::move(required));
  schema["description"] = type.summary;
  return schema;
}

Json container_schema(const char* field, Json content, const std::vector<Argument>& arguments) {
  Json properties = layer_properties("");
  properties[field] = std::move(content);
  add_arguments(properties, arguments, 0, true);
  return object_schema(std::move(properties), {field});
}

Json type_case(const std::string& type) {
  return {{"if", {{"properties", {{"type", {{"const", type}}}}}}}, {"then", ref(type)}};
}

Json layer_schema() {
  Json cases = Json::array();
  for (const std::string& type : known_type_names()) cases.push_back(type_case(type));
  cases.push_back({{"if", {{"properties", {{"type", {{"enum", known_type_names()}}}}}}}, {"else", ref("module_call")}});
  return {{"type", "object"}, {"required", {"type"}}, {"properties", {{"type", {{"type", "string"}}}}}, {"allOf", cases}};
}

/// A layer whose type is a module or a parameter: its further fields are that module's parameters.
Json module_call_schema() {
  Json properties = layer_properties("");
  for (const char* taken : {"outputs", "output", "layers", "module"}) properties[taken] = false;
  return {{"type", "object"}, {"properties", properties}};
}

Json module_schema() {
  Json taken = {"outputs", "output", "layers", "module"};
  for (const std::string& field : layer_fields()) taken.push_back(field);
  Json params = {{"type", "object"},
                 {"maxProperties", Expander::most_parameters},
                 {"propertyNames", {{"allOf", {ref("name"), {{"not", {{"enum", taken}}}}}}}}};
  Json inputs = list_schema(ref("name"), 1);
  inputs["uniqueItems"] = true;
  inputs["maxItems"] = most_declarations;
  return object_schema({{"params", params},
                        {"inputs", inputs},
                        {"outputs", or_parameter(list_schema(or_parameter({{"type", "string"}}), 0))},
                        {"layers", ref("layers")}},
                       {"layers"});
}

Json declarations_schema() {
  Json size = {{"anyOf",
                {{{"type", "integer"}, {"minimum", 1}, {"maximum", largest_integer}},
                 {{"const", "batch"}},
                 {{"type", "string"}, {"pattern", length_pattern}}}}};
  Json shape = list_schema(size, 0);
  shape.update({{"maxItems", most_dimensions}, {"contains", {{"const", "batch"}}}, {"minContains", 0}, {"maxContains", 1}});
  Json dtype = {{"enum", {"float32", "int64", "int32", "uint8", "bool", "float16", "bfloat16"}}, {"default", "float32"}};
  return {{"type", "object"},
          {"minProperties", 1},
          {"maxProperties", most_declarations},
          {"propertyNames", ref("name")},
          {"additionalProperties", object_schema({{"shape", shape}, {"dtype", dtype}}, {"shape"})}};
}

Json signature_schema(const std::vector<Signature>& table, const Json& further) {
  Json names = Json::array(), cases = Json::array();
  for (const Signature& row : table) {
    names.push_back(row.name);
    Json properties = further;
    properties["type"] = true;
    if (const size_t count = row.inputs.size(); count > 0) {
      Json names = Json::array();
      for (const LossInput& input : row.inputs)
        names.push_back({{"type", "string"}, {"title", input.name}, {"role", input.target ? "target" : "output"}});
      properties["inputs"] = {{"type", "array"}, {"prefixItems", names}, {"minItems", count}, {"maxItems", count}};
    }
    auto required = add_arguments(properties, row.arguments, 0, false);
    cases.push_back({{"if", {{"properties", {{"type", {{"const", row.name}}}}}}},
                     {"then", object_schema(std::move(properties), std::move(required))}});
  }
  return {{"type", "object"}, {"required", {"type"}}, {"properties", {{"type", {{"enum", names}}}}}, {"allOf", cases}};
}

Json schedule_schema() {
  Json schema = signature_schema(schedules(), Json::object());
  for (Json& row : schema["allOf"]) {
    if (row["if"]["properties"]["type"]["const"] != "SequentialLR") continue;
    row["then"]["properties"]["schedulers"] = list_schema(ref("schedule"), 1);
    row["then"]["required"].push_back("schedulers");
  }
  return schema;
}

Json init_schema() {
  Json types = Json::array();
  std::string names;
  for (const LayerType& row : layer_types()) {
    if (row.parameter_names.empty()) continue;
    types.push_back(row.name);
    names += (names.empty() ? "" : "|") + row.parameter_names;
  }
  return list_schema({{"type", "object"},
                      {"required", {"types"}},
                      {"minProperties", 2},
                      {"properties", {{"types", list_schema({{"enum", types}}, 1)}}},
                      {"propertyNames", {{"pattern", "^(types|" + names + ")$"}}},
                      {"additionalProperties", ref("distribution")}},
                     0);
}

Json parameter_group_schema() {
  Json types = Json::array();
  for (const LayerType& row : layer_types())
    if (!row.parameter_names.empty()) types.push_back(row.name);
  Json not_below_zero = {{"type", "number"}, {"minimum", 0}};
  Json group = object_schema({{"parameters", list_schema({{"type", "string"}}, 1)},
                              {"types", list_schema({{"enum", types}}, 1)},
                              {"lr", not_below_zero},
                              {"weight_decay", not_below_zero}},
                             {});
  auto one_of = [](const char* a, const char* b) { return Json{{"anyOf", {{{"required", {a}}}, {{"required", {b}}}}}}; };
  group["allOf"] = {one_of("parameters", "types"), one_of("lr", "weight_decay")};
  return group;
}

Json loss_scale_schema() {
  Json properties = Json::object();
  add_arguments(properties, loss_scale_arguments(), 0, false);
  Json fixed = properties["init_scale"];
  fixed.erase("default");
  return {{"anyOf", {fixed, object_schema(std::move(properties), {})}}};
}

Json training_schema() {
  return object_schema(
      {{"targets", ref("declarations")},
       {"loss", signature_schema(losses(), Json::object())},
       {"optimizer", signature_schema(optimizers(), {{"parameter_groups", list_schema(ref("parameter_group"), 0)}})},
       {"schedule", ref("schedule")},
       {"clip_grad_norm", {{"type", "number"}, {"exclusiveMinimum", 0}}},
       {"loss_scale", loss_scale_schema()},
       {"metrics", list_schema({{"enum", metrics()}}, 0)}},
      {"loss", "optimizer"});
}

Json definitions() {
  Json defs = {{"name", {{"type", "string"}, {"pattern", name_pattern}}},
               {"layer_name", {{"type", "string"}, {"pattern", layer_name_pattern}}},
               {"device", {{"type", "string"}, {"pattern", "^(cpu|" + std::string(cuda_pattern) + ")$"}}},
               {"parameter", {{"type", "string"}, {"pattern", "^\\$"}, {"description", "a parameter of the module around it"}}},
               {"schedule", schedule_schema()},
               {"parameter_group", parameter_group_schema()},
               {"no_parameter",
                {{"description", "outside modules no string begins with $"},
                 {"not", ref("parameter")},
                 {"items", ref("no_parameter")},
                 {"additionalProperties", ref("no_parameter")}}},
               {"declarations", declarations_schema()},
               {"layers", list_schema(or_parameter(ref("layer")), 1)},
               {"layer", layer_schema()},
               {"module", module_schema()},
               {"module_call", module_call_schema()},
               {"distribution", signature_schema(distributions(), Json::object())}};
  Json wrapped = {{"allOf",
                   {ref("layer"),
                    {{"not", {{"required", {"inputs"}}}}},
                    {{"properties", {{"type", {{"not", {{"const", "DataParallel"}}}}}}}}}}};
  defs["Sequential"] = container_schema("layers", or_parameter(ref("layers")), {});
  defs["DataParallel"] = container_schema("module", or_parameter(wrapped), data_parallel_arguments());
  for (const LayerType& type : layer_types()) defs[type.name] = leaf_schema(type);
  return defs;
}

}  // namespace

Json model_schema() {
  Json outputs = list_schema({{"type", "string"}}, 0);
  outputs["uniqueItems"] = true;
  Json module_names = {{"allOf", {ref("name"), {{"not", {{"enum", known_type_names()}}}}}}};
  Json schema = object_schema(
      {{"$schema", {{"type", "string"}}},
       {"sheaf",
        {{"type", "string"}, {"pattern", "^1\\.[0-9]+$"}, {"maxLength", 20}, {"description", "version of the format"}}},
       {"name", {{"type", "string"}, {"minLength", 1}}},
       {"inputs", ref("declarations")},
       {"modules", {{"type", "object"}, {"propertyNames", module_names}, {"additionalProperties", ref("module")}}},
       {"layers", {{"allOf", {ref("layers"), ref("no_parameter")}}}},
       {"outputs", outputs},
       {"init", init_schema()},
       {"training", training_schema()}},
      {"sheaf", "inputs", "layers"});
  Json head = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "sheaf model file, format 1.0"}};
  head.update(schema);
  head["$defs"] = definitions();
  return head;
}

std::string model_schema_text() { return model_schema().dump(1) + "\n"; }

}  // namespace sheaf::frontend
