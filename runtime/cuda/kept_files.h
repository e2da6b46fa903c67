// What takes a GPU's libraries and driver long to make, kept on disk by all that it depends on: cuDNN's plans, kernels compiled for the
// GPU at hand (docs/cuda-engines.md, "What is kept").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sheaf::cuda {

/// One file a key, in a folder that may be deleted at any time. A file that is damaged, cut off, or another key's is as none, and is
/// replaced. Files are written completely or not at all; processes may share the folder.
class KeptFiles {
 public:
  /// `folder`: "" keeps nothing.
  explicit KeptFiles(std::string folder) : folder_(std::move(folder)) {}
  /// In the user's cache (runtime/base/cache_folder.h).
  static KeptFiles of_user();

  /// Nullopt: it isn't there, or not whole.
  std::optional<std::string> find(std::string_view key) const;
  /// A folder that can't be written gives one warning a process, and no more.
  void keep(std::string_view key, std::string_view text) const;
  /// The file of `key`.
  std::string file_of(std::string_view key) const;

 private:
  std::string folder_;
};

}  // namespace sheaf::cuda
