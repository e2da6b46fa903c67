// The safetensors format (https://github.com/huggingface/safetensors): a strict reader and a writer.
#pragma once

#include "runtime/base/file.h"
#include "sheaf/tensor.h"
#include "runtime/data/stored_array.h"
#include "sheaf/files.h"

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// An open safetensors file. Its whole header is checked when it is opened: at most 100 MB, well-formed JSON
/// with no key twice, and tensors that fill the data without overlap, hole or excess. Tensors are read one by
/// one, when asked for.
class SafetensorsFile {
 public:
  struct Entry {
    std::string dtype;  ///< "F32", "BF16", …, as the file says
    std::vector<int64_t> shape;
    uint64_t begin = 0;  ///< bytes from the start of the data
    uint64_t end = 0;
  };

  static Result<SafetensorsFile> open(const std::string& file);
  static Result<SafetensorsFile> open(const Folder& folder, const std::string& name);

  const std::string& name() const { return file_->name(); }
  /// All tensors, by name.
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// One tensor, not yet read. Errors, located at the file: no such tensor (lists those there are); a dtype
  /// other than F32, F64 (becomes float32), F16, BF16, I64, I32 and U8.
  Result<StoredArray> array(const std::string& tensor) const;
  /// Reads one tensor. Errors: likewise; too little memory.
  Result<FileTensor> read(const std::string& tensor) const;

 private:
  static Result<SafetensorsFile> read_header(InputFile file);
  explicit SafetensorsFile(InputFile file) : file_(std::make_shared<const InputFile>(std::move(file))) {}
  std::shared_ptr<const InputFile> file_;
  uint64_t data_ = 0;  ///< where the data starts
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

/// Writes `tensors` in this order, atomically. Errors: a name twice or "__metadata__"; the file can't be
/// written.
Result<void> write_safetensors(const std::string& file, std::span<const std::pair<std::string, const HostTensor*>> tensors,
                               const std::map<std::string, std::string>& metadata = {});
/// As in sheaf/files.h, in an open folder.
Result<void> write_safetensors(const Folder& folder, const std::string& name, std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata = {});

}  // namespace sheaf
