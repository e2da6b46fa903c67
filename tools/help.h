// The output of `sheaf help`, made from the table of verbs (tools/verbs.h) and their options.
#pragma once

#include "runtime/base/terminal.h"
#include "tools/cli/options.h"

#include <string>

namespace sheaf {

/// The verbs with a line each.
std::string list_of_verbs(const Palette& palette);

/// A verb's options as a table in Markdown, as in docs/.
std::string markdown_of(const OptionParser& parser);

/// sheaf(1) in man(7)'s macros.
std::string manual_page();

}  // namespace sheaf
