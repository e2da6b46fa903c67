// Files as a whole: reading with a size limit, writing so that a failure leaves nothing behind.
#pragma once

#include "runtime/base/error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sheaf {

/// The machine's memory in bytes: no file or tensor larger than that is read or made.
uint64_t physical_memory();

/// A regular file, open for reading at any offset.
class InputFile {
 public:
  /// Errors are located at the file: it doesn't exist, can't be read, or is no regular file.
  static Result<InputFile> open(const std::string& file);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  /// Fills `bytes` from `offset`; an error where the file ends before.
  Result<void> read_at(uint64_t offset, std::span<std::byte> bytes) const;

 private:
  InputFile(std::string name, int descriptor, uint64_t size)
      : name_(std::move(name)), descriptor_(descriptor), size_(size) {}
  std::string name_;
  int descriptor_ = -1;
  uint64_t size_ = 0;  ///< when it was opened
};

/// The bytes of FILE. Errors (located at the file): it doesn't exist, is no regular file, can't be read, or
/// has more than `limit` bytes.
Result<std::string> read_file(const std::string& file, uint64_t limit);

/// Replaces the content of FILE by `bytes`, or leaves everything as it was: the bytes go to a temporary file
/// in the same folder, are flushed to the disk and take FILE's name by a rename. Where FILE is a symbolic
/// link, its target is replaced. A FILE that is not a regular file (a pipe, /dev/null, /dev/stdout) is
/// written to directly. An existing file's permissions are kept. The one way in which sheaf writes outputs.
Result<void> write_file_atomically(const std::string& file, std::string_view bytes);
/// The same for content in pieces, one after another.
Result<void> write_file_atomically(const std::string& file, std::span<const std::string_view> pieces);

/// An output file that couldn't be written at the end of a long run is an error at its beginning: its folder isn't
/// there or can't be written, or it is a folder itself. "" passes.
Result<void> check_output(const std::string& file);

}  // namespace sheaf
