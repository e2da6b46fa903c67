// Where the checkout is: known to one source alone, so that ccache serves all others in another folder, too.
#pragma once

#include <string>

namespace sheaf {

/// "/…/sheaf/" + `path`, a path relative to the checkout.
std::string source_file(const std::string& path);

}  // namespace sheaf
