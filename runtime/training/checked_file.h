// A safetensors file with CRC-32 sums over all its content, and JSON in its metadata: the format of checkpoints.
#pragma once

#include "runtime/data/safetensors.h"
#include "runtime/plan/plan.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// Writes one atomically: `tensors`, and `content` as "sheaf_checkpoint" in the metadata.
Result<void> write_checked(const std::string& file, const nlohmann::json& content, std::span<const TensorView> tensors);
Result<void> write_checked(const Folder& folder, const std::string& name, const nlohmann::json& content,
                           std::span<const TensorView> tensors);

/// An opened file: its metadata is intact; tensors are not yet read.
class CheckedFile {
 public:
  /// Errors, located at the file: it isn't a checkpoint, or is damaged.
  static Result<CheckedFile> open(const std::string& file);
  static Result<CheckedFile> open(const Folder& folder, const std::string& name);

  const nlohmann::json& content() const { return content_; }
  /// The error for a file whose content is wrong.
  Error unsound(const std::string& why) const;
  /// All tensors. Errors, located at the file: a tensor that differs from `expected` in dtype or shape, is missing
  /// or superfluous; damage.
  Result<std::vector<HostTensor>> read(std::span<const Parameter* const> expected) const;

 private:
  static Result<CheckedFile> open(Result<SafetensorsFile> file, const std::string& name);
  CheckedFile(SafetensorsFile file, nlohmann::json content, std::map<std::string, uint32_t> sums)
      : file_(std::move(file)), content_(std::move(content)), sums_(std::move(sums)) {}
  SafetensorsFile file_;
  nlohmann::json content_;
  std::map<std::string, uint32_t> sums_;
};

}  // namespace sheaf
