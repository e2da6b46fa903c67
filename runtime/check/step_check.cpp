#include "runtime/check/step_check.h"

#include "runtime/base/printable.h"

#include <algorithm>

namespace sheaf {

namespace {

bool contains(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_floating(DType dtype) { return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16; }

}  // namespace

bool StepCheck::inputs(size_t count) {
  if (step_.inputs.size() != count)
    fail("'" + to_string(step_.op) + "' takes " + std::to_string(count) + " inputs, not " +
         std::to_string(step_.inputs.size()));
  return !failed();
}

bool StepCheck::outputs(size_t count) {
  if (step_.outputs.size() != count)
    fail("'" + to_string(step_.op) + "' has " + std::to_string(count) + " outputs, not " +
         std::to_string(step_.outputs.size()));
  return !failed();
}

void StepCheck::attributes(std::initializer_list<std::string_view> required, std::initializer_list<std::string_view> optional) {
  for (const auto& item : step_.attributes.items())
    if (!contains(required, item.key()) && !contains(optional, item.key()))
      fail("'" + to_string(step_.op) + "' has no attribute " + in_quotes(item.key()));
  for (const std::string_view name : required)
    if (!step_.attributes.contains(name)) fail("the attribute '" + std::string(name) + "' is missing");
}

const Json* StepCheck::attribute(const char* name) {
  const auto found = step_.attributes.find(name);
  if (found != step_.attributes.end()) return &*found;
  fail(std::string("the attribute '") + name + "' is missing");
  return nullptr;
}

namespace {

/// The integer, if `json` is one within the bounds.
std::optional<int64_t> integer_in(const Json& json, int64_t lowest, int64_t highest) {
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  const auto value = json.get<int64_t>();
  if (value < lowest || value > highest) return std::nullopt;
  return value;
}

}  // namespace

int64_t StepCheck::integer(const char* name, int64_t lowest, int64_t highest) {
  if (const Json* json = attribute(name)) {
    if (const auto value = integer_in(*json, lowest, highest)) return *value;
    fail(std::string("'") + name + "' must be an integer from " + std::to_string(lowest) + " to " + std::to_string(highest));
  }
  return lowest;
}

std::vector<int64_t> StepCheck::integers(const char* name, size_t count, int64_t lowest, int64_t highest) {
  std::vector<int64_t> list(count, lowest);
  const Json* json = attribute(name);
  if (!json) return list;
  bool good = json->is_array() && json->size() == count;
  for (size_t i = 0; good && i < count; ++i) {
    const auto value = integer_in((*json)[i], lowest, highest);
    good = value.has_value();
    list[i] = value.value_or(lowest);
  }
  if (!good)
    fail(std::string("'") + name + "' must be a list of " + std::to_string(count) + " integers from " + std::to_string(lowest) +
         " to " + std::to_string(highest));
  return list;
}

bool StepCheck::boolean(const char* name) {
  const Json* json = attribute(name);
  if (json && json->is_boolean()) return json->get<bool>();
  fail(std::string("'") + name + "' must be true or false");
  return false;
}

std::string StepCheck::text(const char* name) {
  const Json* json = attribute(name);
  if (json && json->is_string()) return json->get<std::string>();
  fail(std::string("'") + name + "' must be a string");
  return "";
}

size_t StepCheck::dim(size_t rank) {
  const auto limit = static_cast<int64_t>(rank);
  if (limit == 0) {
    fail("a value without dimensions has no 'dim'");
    return 0;
  }
  const int64_t dim = integer("dim", -limit, limit - 1);
  return static_cast<size_t>(dim < 0 ? dim + limit : dim);
}

void StepCheck::floating(const Value& value, bool workspace) {
  if (workspace && (value.dtype != DType::uint8 || value.shape != Shape{Extent(1)}))
    fail("'" + value.name + "' is a workspace, which is uint8 of shape [1]");
  if (!workspace && !is_floating(value.dtype))
    fail("'" + to_string(step_.op) + "' works on floating-point numbers; '" + value.name + "' is " +
         std::string(name_of(value.dtype)));
}

void StepCheck::rank(const Value& value, size_t rank) {
  if (value.shape.size() != rank)
    fail("'" + value.name + "' has shape " + to_string(value.shape) + "; expected " + std::to_string(rank) + " dimensions");
}

void StepCheck::shape(const Value& value, const Shape& expected) {
  if (value.shape != expected)
    fail("'" + value.name + "' has shape " + to_string(value.shape) + "; expected " + to_string(expected));
}

void StepCheck::extent(const Json& json, const std::string& what) {
  if (!json.is_string()) return fail(what + " must be a size written as a string");
  const Result<Extent> extent = parse_extent(json.get_ref<const std::string&>());
  if (!extent) return fail(what + ": " + extent.error().message());
  if (const auto problem = problem_of(*extent, scope_, step_.place)) fail(what + ": " + *problem);
}

}  // namespace sheaf
