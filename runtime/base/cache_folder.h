// Where the program keeps what it could make again: measurements, plans of libraries, compiled kernels.
#pragma once

#include <string>

namespace sheaf {

/// $SHEAF_CACHE, else $XDG_CACHE_HOME/sheaf, else ~/.cache/sheaf; "" if none of them is set.
std::string cache_folder();

}  // namespace sheaf
