// Files as a whole: reading with a size limit, writing so that a failure leaves nothing behind.
#pragma once

#include "runtime/base/error.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf {

/// The bytes of FILE. Errors (located at the file): it doesn't exist, is no regular file, can't be read, or
/// has more than `limit` bytes.
Result<std::string> read_file(const std::string& file, uint64_t limit);

/// Replaces the content of FILE by `bytes`, or leaves everything as it was: the bytes go to a temporary file
/// in the same folder, are flushed to the disk and take FILE's name by a rename. Where FILE is a symbolic
/// link, its target is replaced. A FILE that is not a regular file (a pipe, /dev/null, /dev/stdout) is
/// written to directly. An existing file's permissions are kept. The one way in which sheaf writes outputs.
Result<void> write_file_atomically(const std::string& file, std::string_view bytes);

}  // namespace sheaf
