// A folder locked for one process.
#pragma once

#include "runtime/base/file.h"

namespace sheaf {

/// Takes `folder`'s lock, which lasts as long as the folder is held open; false: somebody else has it. File systems without locks (some network
/// ones) have none, so there it is always taken.
bool try_lock(const Folder& folder);

}  // namespace sheaf
