// What takes long to make and is the same in every process, kept on disk by all that it depends on: machine code of kernels, cuDNN's
// plans (docs/commands.md, "What is kept"). Nothing that a program computes depends on it.
#pragma once

#include "runtime/base/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sheaf {

/// One file a key, in a folder that may be deleted at any time. A file that is damaged, cut off, another key's or another version's is as
/// none, and is replaced. Files are written completely or not at all; processes may share the folder.
class KeptFiles {
 public:
  static constexpr uint64_t most_bytes_by_default = uint64_t{512} << 20;

  /// `folder`: "" keeps nothing. Beyond `most_bytes` in it, the files unused for longest are removed.
  explicit KeptFiles(std::string folder, uint64_t most_bytes = most_bytes_by_default)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}
  /// The folder `name` of the user's cache (runtime/base/cache_folder.h).
  static KeptFiles of_user(const std::string& name);

  /// Nullopt: it isn't there, or not whole.
  std::optional<std::string> find(std::string_view key) const;
  /// Errors: the folder or the file can't be written. A text that would fill a good part of the folder isn't kept.
  Result<void> keep(std::string_view key, std::string_view text) const;
  /// The file of `key`.
  std::string file_of(std::string_view key) const;

 private:
  std::string file_of_digest(const std::string& key_digest) const;
  void make_room() const;

  std::string folder_;
  uint64_t most_bytes_;
};

}  // namespace sheaf
