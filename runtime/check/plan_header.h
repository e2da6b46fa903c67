// The head of a plan's text, which is checked before anything else.
#pragma once

#include "runtime/plan/json_node.h"

namespace sheaf {

/// Checks the format, its version and the features that the plan needs. Returns the version's minor number.
int check_header(const JsonNode& root);

/// Checks the digest: it covers the compact text of the whole document without the digest's field, which this removes.
void verify_digest(const JsonNode& root, Json& document);

}  // namespace sheaf
