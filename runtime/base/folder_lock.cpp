#include "runtime/base/folder_lock.h"

#include <cerrno>

#include <sys/file.h>

namespace sheaf {

bool try_lock(const Folder& folder) { return ::flock(folder.descriptor(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

}  // namespace sheaf
