// The checkout's folder: known to a single source file, so that ccache serves all others in another folder too.
#pragma once

#include <string>

namespace sheaf {

/// "/…/sheaf/" + `path`, a path relative to the checkout.
std::string source_file(const std::string& path);

}  // namespace sheaf
