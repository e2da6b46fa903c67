// Reading zip archives (PKWARE's APPNOTE), as numpy.savez and savez_compressed write them.
#pragma once

#include "runtime/base/file.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sheaf {

/// An open archive: its directory has been read and checked against the file's size; entries are read on
/// demand. Stored and deflated entries, with 64-bit sizes where needed; encrypted or split archives are
/// refused.
class ZipFile {
 public:
  static Result<ZipFile> open(const std::string& file);

  std::vector<std::string> names() const;
  bool contains(const std::string& entry) const { return entries_.contains(entry); }

  /// The entry's content. Errors, located at the file: damage (bounds, CRC, sizes), another compression
  /// method, an entry that would take more than a quarter of the machine's memory.
  Result<std::string> read(const std::string& entry) const;

 private:
  struct Entry {
    uint16_t method = 0;
    uint32_t crc = 0;
    uint64_t compressed = 0;
    uint64_t size = 0;
    uint64_t header = 0;  ///< offset of the local header
  };

  explicit ZipFile(InputFile file) : file_(std::move(file)) {}
  Result<void> read_directory();

  InputFile file_;
  std::map<std::string, Entry> entries_;
};

}  // namespace sheaf
