// What stands at the head of a plan's text and is looked at before anything else.
#pragma once

#include "runtime/plan/json_node.h"

namespace sheaf {

/// The format, its version and the features that the plan needs. Gives the version's minor number.
int check_header(const JsonNode& root);

/// The digest covers the compact text of the whole document without the field itself, which is taken out of it.
void verify_digest(const JsonNode& root, Json& document);

}  // namespace sheaf
