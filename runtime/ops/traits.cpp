#include "runtime/ops/traits.h"

#include "runtime/base/printable.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/recurrent.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <array>

namespace sheaf {
namespace {

using Json = nlohmann::ordered_json;

/// By operation; tests/unit/runtime/ops asserts that each has a row.
std::array<const OpTraits*, kOps> table() {
  std::array<const OpTraits*, kOps> rows{};
  for (const auto family : {movements(), linear_ops(), convolutions(), normalizations(), poolings(), recurrent_ops(), counts()})
    for (const OpTraits& row : family) rows[static_cast<size_t>(row.op)] = &row;
  return rows;
}

bool is_integer_in(const Json& json, int64_t least, int64_t most) {
  if (!json.is_number_integer()) return false;
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return false;
  const auto value = json.get<int64_t>();
  return value >= least && value <= most;
}

std::string bounds(const AttributeRow& attribute) {
  return "from " + std::to_string(attribute.least) + " to " + std::to_string(attribute.most);
}

/// How many spatial dimensions the lists are for: what most of them say.
size_t list_length(std::span<const AttributeRow> rows, const Json& attributes) {
  std::array<int, 4> lists{};
  for (const AttributeRow& row : rows) {
    const auto found = attributes.find(row.name);
    if (row.kind == AttributeRow::per_dimension && found != attributes.end() && found->is_array() &&
        found->size() < lists.size())
      ++lists[found->size()];
  }
  return static_cast<size_t>(std::max_element(lists.begin() + 1, lists.end()) - lists.begin());
}

/// `count`: how many entries lists for spatial dimensions have.
Result<void> check_attribute(const AttributeRow& attribute, const Json& value, size_t count) {
  const auto wrong = [&](const std::string& expected) {
    return Error("'" + std::string(attribute.name) + "' must be " + expected);
  };
  switch (attribute.kind) {
    case AttributeRow::integer:
      if (!is_integer_in(value, attribute.least, attribute.most)) return wrong("an integer " + bounds(attribute));
      return {};
    case AttributeRow::per_dimension: {
      const auto fits = [&](const Json& entry) { return is_integer_in(entry, attribute.least, attribute.most); };
      if (!value.is_array() || value.size() != count || !std::all_of(value.begin(), value.end(), fits))
        return wrong("a list of " + std::to_string(count) + " integers " + bounds(attribute));
      return {};
    }
    case AttributeRow::number:
      if (!value.is_number() || !(value.get<double>() >= static_cast<double>(attribute.least)))
        return wrong("a number, at least " + std::to_string(attribute.least));
      return {};
    case AttributeRow::flag: return value.is_boolean() ? Result<void>() : wrong("true or false");
    case AttributeRow::text: return value.is_string() ? Result<void>() : wrong("a string");
    case AttributeRow::activation: return check_activation(value);
  }
  return {};
}

/// A row's roles, with the weights of a recurrent layer spelt out.
struct KnownRole {
  std::string name;
  bool optional;
};
std::vector<KnownRole> known_roles(Op op, const Json& attributes) {
  std::vector<KnownRole> known;
  for (const RoleRow& role : traits(op).roles) {
    if (!role.recurrent_weights) known.push_back({std::string(role.name), role.optional});
    else
      for (RecurrentWeight& weight : recurrent_weights(recurrent_sizes(op, attributes), Extent(1)))
        known.push_back({std::move(weight.role), false});
  }
  return known;
}

}  // namespace

const OpTraits& traits(Op op) {
  static const std::array<const OpTraits*, kOps> rows = table();
  return *rows[static_cast<size_t>(op)];
}

bool is_workspace(const Step& step, const Value& result) {
  return traits(step.op).pass == Pass::training && result.dtype == DType::uint8 && result.shape == workspace_result().shape;
}

Result<void> check_attributes(Op op, const Json& attributes) {
  const auto known = traits(op).attributes;
  for (const auto& item : attributes.items())
    if (std::none_of(known.begin(), known.end(), [&](const AttributeRow& row) { return row.name == item.key(); }))
      return Error("has no attribute " + in_quotes(item.key()));
  const size_t count = list_length(known, attributes);
  for (const AttributeRow& row : known) {
    const auto found = attributes.find(row.name);
    if (found == attributes.end() && row.optional) continue;
    if (found == attributes.end()) return Error("the attribute '" + std::string(row.name) + "' is missing");
    if (auto fits = check_attribute(row, *found, count); !fits) return fits;
  }
  return {};
}

std::vector<std::string> many_roles(std::string_view name, size_t count) {
  std::vector<std::string> roles;
  for (size_t i = 0; i < count; ++i) roles.push_back(std::string(name) + std::to_string(i));
  return roles;
}

Result<void> check_roles(Op op, const Json& attributes, std::span<const std::string> roles) {
  if (const auto rows = traits(op).roles; !rows.empty() && rows.front().many) {
    const std::string name(rows.front().name);
    if (roles.empty()) return Error("needs an operand '" + name + "0'");
    for (size_t i = 0; i < roles.size(); ++i)
      if (roles[i] != name + std::to_string(i))
        return Error("operand " + std::to_string(i) + " must be '" + name + std::to_string(i) + "', not '" +
                     roles[i].substr(0, 80) + "'");
    return {};
  }
  const std::vector<KnownRole> known = known_roles(op, attributes);
  for (size_t i = 0; i < roles.size(); ++i) {
    const std::string& role = roles[i];
    if (std::none_of(known.begin(), known.end(), [&](const KnownRole& row) { return row.name == role; }))
      return Error("has no operand " + in_quotes(role));
    // At most as many as there are known roles: the first repeated or unknown one ends this.
    if (std::find(roles.begin(), roles.begin() + static_cast<std::ptrdiff_t>(i), role) !=
        roles.begin() + static_cast<std::ptrdiff_t>(i))
      return Error("the operand " + in_quotes(role) + " appears twice");
  }
  for (const KnownRole& row : known)
    if (!row.optional && std::find(roles.begin(), roles.end(), row.name) == roles.end())
      return Error("needs an operand '" + row.name + "'");
  if (!known.empty() && roles.front() != known.front().name)
    return Error("'" + known.front().name + "' must be the first operand");
  return {};
}

Result<ResultShapes> result_shapes(const OpShapes& operation) {
  SHEAF_TRY(check_attributes(operation.op, operation.attributes));
  SHEAF_TRY(check_roles(operation.op, operation.attributes, operation.roles));
  return traits(operation.op).shapes(operation);
}

double activation_flops(const Json& attributes) {
  const auto found = attributes.find("activation");
  if (found == attributes.end() || !found->is_object()) return 0;
  const auto kind = activation_from_name(found->value("kind", std::string()));
  return kind ? traits(*kind).flops : 0;
}

double epilogue_flops(const SizedOp& op) {
  return ((op.has("bias") ? 1 : 0) + (op.has("residual") ? 1 : 0) + activation_flops(op.attributes)) * op.output_elements();
}

double bias_gradient_flops(const SizedOp& op) { return op.outputs.size() > 1 ? op.input_elements("dy") : 0; }

}  // namespace sheaf
