// Values of a model file, with their module's "$param" names resolved as they are read.
#pragma once

#include "frontend/located_json.h"

#include <map>
#include <string>

namespace sheaf::frontend {

struct Scope;

/// A JSON value together with the scope in which its "$name" strings are looked up. Nothing is copied when a module is
/// expanded: a parameter's value keeps the scope of the place that gave it.
struct JsonValue {
  const LocatedNode* node = nullptr;  ///< null: unknown (a required parameter of a module that is never used)
  const Scope* scope = nullptr;
  TextPlace use;            ///< of the "$name" that stands for the value
  std::string parameter{};  ///< that name, "$" included; empty if the value is written where it is used

  bool known() const { return node != nullptr; }
  bool is(LocatedNode::Kind kind) const { return node && node->kind == kind; }
  /// Where a message about the value points: at the value itself, or at its use if it is unknown.
  TextPlace place() const { return node ? node->place : use; }
  /// Notes for such a message: which "$name" brought the value to where it does not fit.
  std::vector<std::string> notes(const Problems& problems) const;
};

/// The parameters that a module's layers may name.
struct Scope {
  std::string module;
  std::map<std::string, JsonValue> parameters;
};

/// The value that `node` stands for in `scope` (null outside modules). An undeclared "$name" becomes a
/// problem and an unknown value.
JsonValue resolve(const LocatedNode& node, const Scope* scope, Problems& problems);

/// The named member of an object value; a value with neither node nor use place if there is none.
JsonValue member(const JsonValue& object, const std::string& key, Problems& problems);
inline bool absent(const JsonValue& value) { return !value.known() && value.use.line == 0; }

/// The items of an array value.
std::vector<JsonValue> items(const JsonValue& array, Problems& problems);

/// Adds a problem about `value`: "`what` must be `expected`, found …", with `mend` as a note.
void refuse(const JsonValue& value, const std::string& what, const std::string& expected, Problems& problems,
            const std::string& mend = {});

}  // namespace sheaf::frontend
