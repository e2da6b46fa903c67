#include "frontend/declarations.h"

#include "frontend/arguments.h"
#include "frontend/names.h"
#include "runtime/base/suggest.h"

namespace sheaf::frontend {
namespace {

using NodeKind = LocatedNode::Kind;

std::optional<int64_t> read_dimension(const LocatedNode& node, bool& has_batch, const std::string& owner, Problems& problems) {
  if (node.kind == NodeKind::string && node.string == "batch") {
    if (has_batch) problems.add(node.place, "\"batch\" appears twice in the shape of " + owner);
    has_batch = true;
    return -1;
  }
  if (node.kind == NodeKind::integer && node.integer >= 1 && node.integer <= largest_integer) return node.integer;
  refuse({&node, nullptr, {}, {}}, "a dimension of " + owner, "a positive integer or \"batch\"", problems);
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
    if (size && *size > 0) elements *= static_cast<double>(*size);
    declaration.shape.push_back(size.value_or(1));
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

}  // namespace sheaf::frontend
