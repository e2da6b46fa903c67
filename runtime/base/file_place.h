// The file that a name leads to: links followed, compared by device and inode, not by spelling.
#pragma once

#include "runtime/base/error.h"

#include <optional>
#include <string>
#include <sys/types.h>

namespace sheaf {

/// `file` with symbolic links in its last part followed, even to a file that doesn't exist yet (as open(2) with O_CREAT
/// would). Error, located at `file`: links in a ring, or a missing folder on the way.
Result<std::string> behind_links(const std::string& file);

/// Two names lead to the same file if and only if their places are equal, whether the file exists or only its folder
/// does.
struct FilePlace {
  dev_t device = 0;
  ino_t inode = 0;   ///< the file's; if it doesn't exist yet, its folder's
  std::string name;  ///< in that folder; empty: the file exists
  bool operator==(const FilePlace&) const = default;
};

/// Nothing: the name leads nowhere, or to something several writers may share (a pipe, a terminal, /dev/null).
std::optional<FilePlace> place_of(const std::string& file);

}  // namespace sheaf
