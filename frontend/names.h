// Names of layers, inputs, modules and parameters.
#pragma once

#include "frontend/value.h"

#include <optional>
#include <string>

namespace sheaf::frontend {

/// The regular expression of a name, as in the JSON Schema: not empty, no '.', no ':' (they join names to paths and to
/// outputs), no leading '$', no control character; not "__metadata__", which safetensors files reserve.
extern const char* const name_pattern;
/// The same for a layer's name, which may have dots between its parts.
extern const char* const layer_name_pattern;

/// Whether a terminal would obey part of `text` (UTF-8) instead of showing it.
bool has_control_character(const std::string& text);

/// Why `name` cannot be a name; empty if it can.
std::optional<std::string> fault_of_name(const std::string& name);
/// The same for a layer's name, which may be several joined by '.': a child of a PyTorch container that is itself not called.
std::optional<std::string> fault_of_layer_name(const std::string& name);

/// Adds a problem at `place` if `name` cannot name a `what` ("layer", "input"); true if it can.
bool check_name(const std::string& name, const std::string& what, TextPlace place, Problems& problems);
bool check_layer_name(const std::string& name, TextPlace place, Problems& problems);

/// Members of `object` outside `allowed` become problems: "`owner` has no field 'x'".
void check_fields(const LocatedNode& object, const std::vector<std::string>& allowed, const std::string& owner,
                  Problems& problems);

}  // namespace sheaf::frontend
