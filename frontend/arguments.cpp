#include "frontend/arguments.h"

#include "frontend/declarations.h"
#include "frontend/device.h"
#include "runtime/base/suggest.h"

#include <algorithm>
#include <cmath>

namespace sheaf::frontend {
namespace {

using Kind = ArgumentType::Kind;
using Node = LocatedNode::Kind;

std::string number_text(double value) {
  if (std::nearbyint(value) == value && std::abs(value) < 1e15) return std::to_string(static_cast<int64_t>(value));
  std::string text = Json(value).dump();
  return text;
}

std::string range_phrase(const ArgumentType& type, const std::string& noun) {
  bool low = std::isfinite(type.minimum), high = std::isfinite(type.maximum);
  std::string article = noun == "integer" ? "an " : "a ";
  if (!low && !high) return article + noun;
  if (low && !high && type.minimum == 0 && type.minimum_excluded) return "a positive " + noun;
  if (low && !high && type.minimum == 1 && noun == "integer") return "a positive integer";
  if (low && !high) return article + noun + (type.minimum_excluded ? " above " : " of at least ") + number_text(type.minimum);
  if (!low) return article + noun + (type.maximum_excluded ? " below " : " of at most ") + number_text(type.maximum);
  return article + noun + " from " + number_text(type.minimum) + " to " + number_text(type.maximum) +
         (type.maximum_excluded ? " (excluded)" : "");
}

std::string per_dimension(const ArgumentType& type, int rank) {
  std::string one = range_phrase(type, "integer");
  return rank == 1 ? one + " or a list of 1" : one + " or a list of " + std::to_string(rank) + " such";
}

bool in_range(const ArgumentType& type, double value) {
  if (!std::isfinite(value)) return false;
  if (value < type.minimum || value > type.maximum) return false;
  return !(type.minimum_excluded && value == type.minimum) && !(type.maximum_excluded && value == type.maximum);
}

std::optional<Json> one_integer(const ArgumentType& type, const JsonValue& value) {
  if (type.length && value.is(Node::string) && !fault_of_length(value.node->string)) return Json(value.node->string);
  if (!value.is(Node::integer) || std::abs(value.node->number) > static_cast<double>(largest_integer)) return {};
  if (!in_range(type, value.node->number)) return {};
  return Json(value.node->integer);
}

// A list of integers, each known and in range; `nulls` allows null items.
std::optional<Json> integer_list(const ArgumentType& type, const JsonValue& value, Problems& problems, bool nulls = false) {
  if (!value.is(Node::array) || value.node->items.empty()) return {};
  Json list = Json::array();
  for (const JsonValue& item : items(value, problems)) {
    if (nulls && item.is(Node::null)) {
      list.push_back(nullptr);
    } else if (!item.known()) {
      list.push_back(1);
    } else if (auto one = one_integer(type, item)) {
      list.push_back(*one);
    } else {
      return {};
    }
  }
  return list;
}

std::optional<Json> one_per_dimension(const ArgumentType& type, int rank, const JsonValue& value, Problems& problems,
                                      bool nulls = false) {
  if (nulls && value.is(Node::null)) return Json(std::vector<Json>(rank, Json(nullptr)));
  if (auto one = one_integer(type, value)) return Json(std::vector<Json>(rank, *one));
  auto list = integer_list(type, value, problems, nulls);
  if (list && list->size() != static_cast<size_t>(rank)) return {};
  return list;
}

std::optional<Json> number_list(const ArgumentType& type, const JsonValue& value, Problems& problems) {
  if (!value.is(Node::array) || value.node->items.empty()) return {};
  if (type.count > 0 && value.node->items.size() != type.count) return {};
  Json list = Json::array();
  for (const JsonValue& item : items(value, problems)) {
    bool is_number = item.is(Node::integer) || item.is(Node::number);
    if (item.known() && !(is_number && in_range(type, item.node->number))) return {};
    list.push_back(item.known() ? item.node->number : 0.0);
  }
  return list;
}

std::optional<Json> size_list(const ArgumentType& type, const JsonValue& value, Problems& problems) {
  if (!value.is(Node::array) || value.node->items.size() > most_dimensions) return {};
  Json list = Json::array();
  for (const JsonValue& item : items(value, problems)) {
    auto one = item.known() ? one_integer(type, item) : Json(1);
    if (item.is(Node::string) && std::ranges::find(type.choices, item.node->string) != type.choices.end()) one = Json(-2);
    if (!one || *one == 0) return {};
    list.push_back(*one);
  }
  return list;
}

std::optional<Json> nested_scalars(const JsonValue& value, Problems& problems, size_t depth) {
  if (value.is(Node::boolean)) return Json(value.node->boolean);
  if (value.is(Node::integer)) return Json(value.node->integer);
  if (value.is(Node::number) && std::isfinite(value.node->number)) return Json(value.node->number);
  if (!value.is(Node::array) || value.node->items.empty() || depth == most_dimensions) return {};
  Json list = Json::array();
  for (const JsonValue& item : items(value, problems)) {
    auto one = item.known() ? nested_scalars(item, problems, depth + 1) : Json(0);
    if (!one) return {};
    list.push_back(std::move(*one));
  }
  return list;
}

// A device in the form device_ids and output_device take: an index, "cuda:k", or the host if `host` allows it.
std::optional<Json> one_device(const JsonValue& value, bool host) {
  if (value.is(Node::integer)) {
    int64_t lowest = host ? -1 : 0;
    if (value.node->integer < lowest || value.node->integer > largest_integer) return {};
    return Json(value.node->integer);
  }
  if (!value.is(Node::string)) return {};
  auto device = device_from_name(value.node->string);
  if (!device || (device->host && !host)) return {};
  return Json(device->host ? -1 : device->index);
}

std::optional<Json> device_list(const JsonValue& value, Problems& problems) {
  if (!value.is(Node::array)) return {};
  Json list = Json::array();
  for (const JsonValue& item : items(value, problems)) {
    auto one = item.known() ? one_device(item, false) : Json(0);
    if (!one) return {};
    list.push_back(*one);
  }
  return list;
}

std::optional<Json> fixed_value(const Json& only, const JsonValue& value) {
  const LocatedNode& node = *value.node;
  bool same =
      (only.is_null() && node.kind == Node::null) ||
      (only.is_boolean() && node.kind == Node::boolean && node.boolean == only.get<bool>()) ||
      (only.is_string() && node.kind == Node::string && node.string == only.get<std::string>()) ||
      (only.is_number() && (node.kind == Node::integer || node.kind == Node::number) && node.number == only.get<double>());
  if (!same) return {};
  return only;
}

std::optional<Json> canonical(const Argument& argument, int rank, const JsonValue& value, Problems& problems) {
  const ArgumentType& type = argument.type;
  if (type.nullable && value.is(Node::null)) return Json(nullptr);
  switch (type.kind) {
    case Kind::boolean:
      if (value.is(Node::boolean)) return Json(value.node->boolean);
      return {};
    case Kind::ignored:
      if (value.is(Node::boolean) || value.is(Node::null)) return Json(nullptr);
      return {};
    case Kind::integer: return one_integer(type, value);
    case Kind::number:
      if ((value.is(Node::number) || value.is(Node::integer)) && in_range(type, value.node->number)) {
        return Json(value.node->number);
      }
      return {};
    case Kind::text:
      if (value.is(Node::string)) return Json(value.node->string);
      return {};
    case Kind::choice:
      if (value.is(Node::string) && std::ranges::find(type.choices, value.node->string) != type.choices.end()) {
        return Json(value.node->string);
      }
      return {};
    case Kind::fixed: return fixed_value(*argument.fallback, value);
    case Kind::padding:
      if (value.is(Node::string) && (value.node->string == "same" || value.node->string == "valid")) {
        return Json(value.node->string);
      }
      [[fallthrough]];
    case Kind::spatial: return one_per_dimension(type, rank, value, problems);
    case Kind::output_size: return one_per_dimension(type, rank, value, problems, true);
    case Kind::sizes:
      if (auto one = one_integer(type, value)) return Json::array({*one});
      return integer_list(type, value, problems);
    case Kind::integers: return integer_list(type, value, problems);
    case Kind::factors:
      if ((value.is(Node::number) || value.is(Node::integer)) && in_range(type, value.node->number))
        return Json::array({value.node->number});
      return number_list(type, value, problems);
    case Kind::numbers: return number_list(type, value, problems);
    case Kind::shape: return size_list(type, value, problems);
    case Kind::scalar: return value.is(Node::array) ? std::nullopt : nested_scalars(value, problems, 0);
    case Kind::tensor: return nested_scalars(value, problems, 0);
    case Kind::device_ids: return device_list(value, problems);
    case Kind::output_device: return one_device(value, true);
  }
  return {};
}

bool has_unknown_item(const JsonValue& value, Problems& problems) {
  return std::ranges::any_of(items(value, problems), [](const JsonValue& item) { return !item.known(); });
}

std::string type_phrase(const Argument& argument, int rank) {
  const ArgumentType& type = argument.type;
  switch (type.kind) {
    case Kind::boolean: return "true or false";
    case Kind::ignored: return "true, false or null (it has no effect here)";
    case Kind::integer: return range_phrase(type, "integer") + (type.length ? " or the name of a length" : "");
    case Kind::number: return range_phrase(type, "number");
    case Kind::text: return "a string";
    case Kind::choice: return (type.choices.size() > 1 ? "one of " : "") + quoted_list(type.choices);
    case Kind::fixed: return argument.fallback->dump() + " (sheaf has nothing else)";
    case Kind::spatial: return per_dimension(type, rank);
    case Kind::padding: return per_dimension(type, rank) + ", or 'same' or 'valid'";
    case Kind::output_size: return per_dimension(type, rank) + ", null meaning the input's size";
    case Kind::sizes: return range_phrase(type, "integer") + " or a list of such";
    case Kind::factors: return range_phrase(type, "number") + " or a list of such";
    case Kind::integers:
      return "a list, each " + range_phrase(type, "integer") + (type.length ? " or the name of a length" : "");
    case Kind::numbers:
      return "a list" + (type.count > 0 ? " of " + std::to_string(type.count) : "") + ", each " + range_phrase(type, "number");
    case Kind::shape:
      return "a list of sizes, each " + range_phrase(type, "integer") + (type.choices.empty() ? "" : " or \"batch\"");
    case Kind::scalar: return "a number, true or false";
    case Kind::tensor: return "a number, true or false, or nested lists of such";
    case Kind::device_ids: return "a list of device indices (2 or 'cuda:2')";
    case Kind::output_device: return "a device index, 'cuda:k', or 'cpu' (or -1) for the host";
  }
  return {};
}

}  // namespace

std::string phrase_of(const Argument& argument, int rank) {
  return type_phrase(argument, rank) + (argument.type.nullable ? ", or null" : "");
}

namespace {

/// Whether there is an integer too large for any argument.
bool is_too_large(const LocatedNode& node) {
  if (node.kind == Node::integer) return std::abs(node.number) > static_cast<double>(largest_integer);
  return node.kind == Node::array && std::ranges::any_of(node.items, is_too_large);
}

}  // namespace

std::optional<Json> check_argument(const Argument& argument, int rank, const JsonValue& value, const std::string& what,
                                   Problems& problems) {
  auto found = canonical(argument, rank, value, problems);
  if (found) return found;
  static const std::string bounds =
      "integers range from -" + std::to_string(largest_integer) + " to " + std::to_string(largest_integer);
  refuse(value, what, phrase_of(argument, rank), problems, is_too_large(*value.node) ? bounds : argument.mend);
  return std::nullopt;
}

CheckedArguments check_arguments(const std::vector<Argument>& arguments, int rank, const JsonValue& object,
                                 const std::vector<std::string>& reserved, const std::string& owner, Problems& problems) {
  CheckedArguments checked;
  std::vector<std::string> names;
  for (const Argument& argument : arguments) names.push_back(argument.name);
  for (const LocatedMember& entry : object.node->members) {
    bool known = std::ranges::find(names, entry.key) != names.end();
    if (known || std::ranges::find(reserved, entry.key) != reserved.end()) continue;
    std::vector<std::string> notes;
    if (entry.key == "dtype") notes.push_back("types come from the model's inputs and the compiler's --precision");
    problems.add(entry.place,
                 owner + " has no argument '" + entry.key + "'" + (problems.full() ? "" : suggestion(entry.key, names)), notes);
    checked.complete = false;
  }
  for (const Argument& argument : arguments) {
    const LocatedMember* entry = object.node->find(argument.name);
    if (!entry) {
      if (!argument.fallback) {
        problems.add(object.node->place,
                     owner + " needs the argument '" + argument.name + "' (" + phrase_of(argument, rank) + ")",
                     argument.mend.empty() ? std::vector<std::string>{} : std::vector{argument.mend});
        checked.complete = false;
      } else if (argument.type.kind != Kind::ignored) {
        bool spread =
            argument.fallback->is_number() && (argument.type.kind == Kind::spatial || argument.type.kind == Kind::padding);
        checked.values[argument.name] = spread ? Json(std::vector<Json>(rank, *argument.fallback)) : *argument.fallback;
      }
      continue;
    }
    JsonValue value = resolve(entry->value, object.scope, problems);
    checked.places[argument.name] = value.place();
    if (!value.known()) {
      checked.complete = false;
      continue;
    }
    auto canonical = check_argument(argument, rank, value, "'" + argument.name + "' of " + owner, problems);
    if (!canonical || has_unknown_item(value, problems)) checked.complete = false;
    if (canonical && argument.type.kind != Kind::ignored) checked.values[argument.name] = *canonical;
  }
  return checked;
}

}  // namespace sheaf::frontend
