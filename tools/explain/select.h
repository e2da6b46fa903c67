// Which layers, ops and devices a request means, and a suggestion if it means none.
#pragma once

#include "runtime/base/error.h"

#include <set>
#include <string>
#include <vector>

namespace sheaf {

/// The layers among `known` that `pattern` selects: the layer of that name; else all of a group of that name; else the same
/// without `module.` parts; else all whose name ends in it; else all in groups whose name does. Errors: none; then the nearest
/// name of a layer or group is suggested.
Result<std::set<std::string>> select_layers(const std::vector<std::string>& known, const std::string& pattern);

/// `name`, which must be among `known`; `what` is "op" or "device".
Result<std::string> select_name(const std::string& what, const std::string& name, const std::vector<std::string>& known);

}  // namespace sheaf
