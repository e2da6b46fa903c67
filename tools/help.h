// What `sheaf help` prints, all of it made of the table of verbs (tools/verbs.h) and their options.
#pragma once

#include "runtime/base/terminal.h"
#include "tools/cli/options.h"

#include <string>

namespace sheaf {

/// The verbs with a line each.
std::string list_of_verbs(const Palette& palette);

/// A verb's options as a table in Markdown, as the pages in docs/ have it.
std::string markdown_of(const OptionParser& parser);

/// sheaf(1) in man(7)'s macros.
std::string manual_page();

}  // namespace sheaf
