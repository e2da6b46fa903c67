// Where a file's name leads: links followed, told apart by device and inode, not by how it is spelt.
#pragma once

#include "runtime/base/error.h"

#include <optional>
#include <string>
#include <sys/types.h>

namespace sheaf {

/// `file` with symbolic links in its last part followed, also to a file that isn't there yet (as open(2) with O_CREAT
/// would). Error, located at `file`: links in a ring, or a folder on the way that isn't there.
Result<std::string> behind_links(const std::string& file);

/// Two names lead to the same file if and only if their places are equal, whether the file is there or only its folder
/// is.
struct FilePlace {
  dev_t device = 0;
  ino_t inode = 0;   ///< the file's; where there is none yet, its folder's
  std::string name;  ///< in that folder; empty: the file is there
  bool operator==(const FilePlace&) const = default;
};

/// Nothing: the name leads nowhere, or to what several writers may share (a pipe, a terminal, /dev/null).
std::optional<FilePlace> place_of(const std::string& file);

}  // namespace sheaf
