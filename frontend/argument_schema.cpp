#include "frontend/argument_schema.h"

#include "frontend/declarations.h"

#include <cmath>

namespace sheaf::frontend {
namespace {

using Kind = ArgumentType::Kind;

Json any_of(std::vector<Json> choices) { return {{"anyOf", std::move(choices)}}; }

void add_bound(Json& schema, const char* name, double bound, bool excluded) {
  if (!std::isfinite(bound)) return;
  std::string key = excluded ? "exclusive" + std::string(1, static_cast<char>(std::toupper(name[0]))) + (name + 1) : name;
  if (std::nearbyint(bound) == bound && std::abs(bound) < 1e15) {
    schema[key] = static_cast<int64_t>(bound);
  } else {
    schema[key] = bound;
  }
}

Json integer_schema(const ArgumentType& type) {
  double largest = static_cast<double>(largest_integer);
  Json schema = {{"type", "integer"}};
  add_bound(schema, "minimum", std::max(type.minimum, -largest), type.minimum_excluded);
  add_bound(schema, "maximum", std::min(type.maximum, largest), type.maximum_excluded);
  return type.length ? any_of({schema, {{"type", "string"}, {"pattern", length_pattern}}}) : schema;
}

Json number_schema(const ArgumentType& type) {
  Json schema = {{"type", "number"}};
  add_bound(schema, "minimum", type.minimum, type.minimum_excluded);
  add_bound(schema, "maximum", type.maximum, type.maximum_excluded);
  return schema;
}

Json list_of(Json item, bool in_layer, size_t least, size_t most) {
  Json schema = {{"type", "array"}, {"items", in_layer ? or_parameter(std::move(item)) : std::move(item)}};
  if (least > 0) schema["minItems"] = least;
  if (most > 0) schema["maxItems"] = most;
  return schema;
}

Json spatial_schema(const ArgumentType& type, int rank, bool in_layer, bool nulls) {
  Json item = integer_schema(type);
  if (nulls) item = any_of({item, {{"type", "null"}}});
  size_t count = static_cast<size_t>(rank);
  return any_of({item, list_of(item, in_layer, count, count)});
}

Json device_schema(bool host) {
  Json index = {{"type", "integer"}, {"minimum", host ? -1 : 0}, {"maximum", largest_integer}};
  std::string pattern = host ? "^(cpu|" + std::string(cuda_pattern) + ")$" : "^" + std::string(cuda_pattern) + "$";
  return any_of({index, {{"type", "string"}, {"pattern", pattern}}});
}

Json value_schema(const Argument& argument, int rank, bool in_layer) {
  const ArgumentType& type = argument.type;
  switch (type.kind) {
    case Kind::boolean: return {{"type", "boolean"}};
    case Kind::ignored: return {{"type", {"boolean", "null"}}};
    case Kind::integer: return integer_schema(type);
    case Kind::number: return number_schema(type);
    case Kind::text: return {{"type", "string"}};
    case Kind::choice: return {{"enum", type.choices}};
    case Kind::fixed: return {{"const", *argument.fallback}};
    case Kind::spatial: return spatial_schema(type, rank, in_layer, false);
    case Kind::padding: {
      Json schema = spatial_schema(type, rank, in_layer, false);
      schema["anyOf"].push_back({{"enum", {"same", "valid"}}});
      return schema;
    }
    case Kind::output_size: return spatial_schema(type, rank, in_layer, true);
    case Kind::sizes: return any_of({integer_schema(type), list_of(integer_schema(type), in_layer, 1, 0)});
    case Kind::integers: return list_of(integer_schema(type), in_layer, 1, 0);
    case Kind::factors: return any_of({number_schema(type), list_of(number_schema(type), in_layer, 1, 0)});
    case Kind::shape: {
      Json item = integer_schema(type);
      if (!type.choices.empty()) item = any_of({item, {{"enum", type.choices}}});
      Json schema = list_of(item, in_layer, 0, 0);
      schema["maxItems"] = most_dimensions;
      return schema;
    }
    case Kind::scalar: return {{"type", {"number", "boolean"}}};
    case Kind::tensor: return {{"type", {"number", "boolean", "array"}}};
    case Kind::numbers: return list_of(number_schema(type), in_layer, std::max<size_t>(type.count, 1), type.count);
    case Kind::device_ids: return list_of(device_schema(false), in_layer, 0, 0);
    case Kind::output_device: return device_schema(true);
  }
  return {};
}

}  // namespace

const char* const cuda_pattern = "cuda(:(0|[1-9][0-9]{0,3}))?";

Json or_parameter(Json schema) { return any_of({std::move(schema), {{"$ref", "#/$defs/parameter"}}}); }

Json argument_schema(const Argument& argument, int rank, bool in_layer) {
  Json schema = value_schema(argument, rank, in_layer);
  if (argument.type.nullable) schema = any_of({schema, {{"type", "null"}}});
  if (in_layer) schema = or_parameter(schema);
  if (argument.fallback) schema["default"] = *argument.fallback;
  return schema;
}

}  // namespace sheaf::frontend
