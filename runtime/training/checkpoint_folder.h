// The folder of a run's checkpoints: checkpoint-0000000235.safetensors is the one after step 235.
#pragma once

#include "runtime/training/checkpoint.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

class CheckpointFolder {
 public:
  struct File {
    std::string name;
    int64_t step = 0;
  };
  struct Found {
    std::string file;
    Checkpoint checkpoint;
    std::vector<HostTensor> tensors;
  };

  /// Makes the folder if it is missing, and holds it open, so that moving it doesn't matter; locks it against other runs
  /// for the object's lifetime, and removes temporary files that a killed run left. Errors, located at the folder: it can't be
  /// made or written, another run uses it.
  static Result<CheckpointFolder> open(const std::string& folder, int keep);

  /// The path of a file in it, for messages.
  std::string path_of(const File& file) const { return folder_.path_of(file.name); }
  /// The checkpoints in it, newest first.
  std::vector<File> list() const;

  /// The newest sound one of this run. A damaged one is skipped, and `told` is called with the reason. None: there are none.
  /// Errors: a sound one belongs to another run (check_same_run); all are damaged.
  Result<std::optional<Found>> newest(const RunIdentity& run, std::span<const Parameter* const> expected,
                                      const std::function<void(const Error&)>& told) const;

  /// Writes a checkpoint, then removes all but the `keep` newest, and any of a later step: those were damaged.
  Result<void> save(const Checkpoint& checkpoint, std::span<const TensorView> tensors);

 private:
  CheckpointFolder(Folder folder, int keep) : folder_(std::move(folder)), keep_(keep) {}
  std::vector<std::string> names() const;
  Folder folder_;  ///< its descriptor holds the lock
  int keep_;
};

}  // namespace sheaf
