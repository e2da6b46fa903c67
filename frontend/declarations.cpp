#include "frontend/declarations.h"

#include "frontend/arguments.h"
#include "frontend/layer_table.h"
#include "frontend/names.h"
#include "runtime/base/suggest.h"

#include <algorithm>

namespace sheaf::frontend {

const char* const length_pattern = "^(?!batch$)[A-Za-z_]+$";

std::optional<std::string> fault_of_length(const std::string& word) {
  const auto other =
      std::ranges::find_if_not(word, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; });
  if (word.empty() || other != word.end()) return "has to consist of letters and '_'";
  if (nearest(word, {"batch"})) return "resembles \"batch\": a length needs another name";
  return std::nullopt;
}

std::vector<std::string> lengths_in(const std::vector<InputDecl>& declarations) {
  std::vector<std::string> lengths;
  for (const InputDecl& declaration : declarations)
    for (const Extent& size : declaration.shape)
      for (const auto& [symbol, factor] : size.terms)
        if (symbol != "batch" && std::ranges::find(lengths, symbol) == lengths.end()) lengths.push_back(symbol);
  return lengths;
}

namespace {

using NodeKind = LocatedNode::Kind;

std::optional<Extent> read_dimension(const LocatedNode& node, bool& has_batch, const std::string& owner, Problems& problems) {
  if (node.kind == NodeKind::string && node.string == "batch") {
    if (has_batch) problems.add(node.place, "\"batch\" appears twice in the shape of " + owner);
    has_batch = true;
    return Extent::symbol("batch");
  }
  if (node.kind == NodeKind::string) {
    const auto fault = fault_of_length(node.string);
    if (!fault) return Extent::symbol(node.string);
    problems.add(node.place, "the size '" + node.string + "' of " + owner + " " + *fault);
    return std::nullopt;
  }
  if (node.kind == NodeKind::integer && node.integer >= 1 && node.integer <= largest_integer) return Extent(node.integer);
  refuse({&node, nullptr, {}, {}}, "a dimension of " + owner, "a positive integer, \"batch\" or the name of a length",
         problems);
  return std::nullopt;
}

void read_shape(const LocatedNode& node, const std::string& owner, InputDecl& declaration, Problems& problems) {
  if (node.kind != NodeKind::array) {
    return refuse({&node, nullptr, {}, {}}, "'shape' of " + owner, "a list of sizes", problems);
  }
  if (node.items.size() > most_dimensions) {
    problems.add(node.place, owner + " has " + std::to_string(node.items.size()) + " dimensions; at most " +
                                 std::to_string(most_dimensions) + " are possible");
    return;
  }
  bool has_batch = false;
  double elements = 1;
  for (const LocatedNode& item : node.items) {
    auto size = read_dimension(item, has_batch, owner, problems);
    if (size && size->is_static()) elements *= static_cast<double>(size->constant);
    declaration.shape.push_back(size.value_or(Extent(1)));
  }
  if (elements > most_elements) problems.add(node.place, owner + " has more than 10^15 elements in a row");
}

void read_dtype(const LocatedNode& node, const std::string& owner, InputDecl& declaration, Problems& problems) {
  if (node.kind != NodeKind::string) {
    return refuse({&node, nullptr, {}, {}}, "'dtype' of " + owner, "the name of a type", problems);
  }
  auto dtype = dtype_from_name(node.string);
  static const std::vector<std::string> names = {"float32", "int64", "int32", "uint8", "bool", "float16", "bfloat16"};
  if (!dtype) {
    problems.add(node.place, "unknown dtype '" + node.string + "'" + suggestion(node.string, names));
    return;
  }
  declaration.dtype = *dtype;
}

}  // namespace

std::vector<InputDecl> read_declarations(const LocatedNode& map, const std::string& what, const std::vector<InputDecl>& taken,
                                         Problems& problems) {
  std::vector<InputDecl> declarations;
  if (map.kind != NodeKind::object || map.members.empty()) {
    refuse({&map, nullptr, {}, {}}, "'" + what + "s'",
           "an object with at least one " + what + ": name → {\"shape\", \"dtype\"}", problems);
    return declarations;
  }
  if (map.members.size() > most_declarations) {
    problems.add(map.place, "there are more than " + std::to_string(most_declarations) + " " + what + "s");
    return declarations;
  }
  for (const LocatedMember& entry : map.members) {
    if (check_name(entry.key, what, entry.place, problems) && entry.key.find('=') != std::string::npos)
      problems.add(entry.place,
                   "the " + what + " name '" + entry.key + "' contains '=', which parts NAME=SOURCE on the command line");
    for (const InputDecl& other : taken) {
      if (other.name == entry.key) {
        problems.add(entry.place, "the " + what + " name '" + entry.key + "' is an input's",
                     {"the input is at " + problems.text_of({other.location.line, other.location.column})});
      }
    }
    std::string owner = what + " '" + entry.key + "'";
    InputDecl declaration{entry.key, {}, DType::float32, problems.locate(entry.place)};
    if (entry.value.kind != NodeKind::object) {
      refuse({&entry.value, nullptr, {}, {}}, owner, "an object with 'shape' and 'dtype'", problems);
    } else {
      check_fields(entry.value, {"shape", "dtype"}, owner, problems);
      const LocatedMember* shape = entry.value.find("shape");
      if (!shape) problems.add(entry.value.place, owner + " needs a 'shape'");
      if (shape) read_shape(shape->value, owner, declaration, problems);
      if (const LocatedMember* dtype = entry.value.find("dtype")) read_dtype(dtype->value, owner, declaration, problems);
    }
    declarations.push_back(std::move(declaration));
  }
  return declarations;
}

namespace {

void check_named(const Layer& layer, const std::string& argument, const Json& value, const std::vector<std::string>& known,
                 Problems& problems) {
  if (value.is_array())
    for (const Json& item : value) check_named(layer, argument, item, known, problems);
  if (!value.is_string() || std::ranges::find(known, value.get<std::string>()) != known.end()) return;
  const auto written = layer.argument_locations.find(argument);
  const Location& place = written == layer.argument_locations.end() ? layer.location : written->second;
  problems.add({place.line, place.column}, "'" + argument + "' of " + layer.type + " '" + layer.name + "' names the length '" +
                                               value.get<std::string>() + "', but no input has a size of that name" +
                                               suggestion(value.get<std::string>(), known));
}

void check_lengths_in(const Graph& graph, const std::vector<std::string>& known, Problems& problems) {
  for (const Layer& layer : graph.layers) {
    if (layer.body) check_lengths_in(*layer.body, known, problems);
    const LayerType* type = layer.body ? nullptr : find_layer_type(layer.type);
    if (!type) continue;
    for (const Argument& argument : type->arguments)
      if (argument.type.length && layer.arguments.contains(argument.name))
        check_named(layer, argument.name, layer.arguments[argument.name], known, problems);
  }
}

}  // namespace

void check_lengths(const Model& model, Problems& problems) {
  check_lengths_in(model.graph, lengths_in(model.inputs), problems);
}

}  // namespace sheaf::frontend
