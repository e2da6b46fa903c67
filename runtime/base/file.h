// Files as a whole: reading with a size limit, writing so that a failure leaves nothing behind.
#pragma once

#include "runtime/base/descriptor.h"
#include "runtime/base/error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sheaf {

/// The machine's memory in bytes: no file or tensor larger than that is read or made.
uint64_t physical_memory();

/// A folder held open. Reading and writing by name in it uses this very folder, even after it has been moved or
/// replaced by another one.
class Folder {
 public:
  /// Error, located at the folder: it isn't there or can't be read.
  static Result<Folder> open(const std::string& path);
  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_.get(); }
  /// The path of `name` in it, for messages.
  std::string path_of(const std::string& name) const { return path_.ends_with('/') ? path_ + name : path_ + "/" + name; }

 private:
  Folder(std::string path, Descriptor descriptor) : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
  std::string path_;
  Descriptor descriptor_;
};

/// A regular file, open for reading at any offset.
class InputFile {
 public:
  /// Errors, located at the file: it doesn't exist, can't be read, or isn't a regular file.
  static Result<InputFile> open(const std::string& file);
  static Result<InputFile> open(const Folder& folder, const std::string& name);

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  /// Fills `bytes` from `offset`; an error if the file ends before.
  Result<void> read_at(uint64_t offset, std::span<std::byte> bytes) const;

 private:
  static Result<InputFile> take(std::string name, Descriptor descriptor);
  InputFile(std::string name, Descriptor descriptor, uint64_t size)
      : name_(std::move(name)), descriptor_(std::move(descriptor)), size_(size) {}
  std::string name_;
  Descriptor descriptor_;
  uint64_t size_ = 0;  ///< when it was opened
};

/// The bytes of FILE. Errors (located at the file): it doesn't exist, is no regular file, can't be read, or
/// has more than `limit` bytes.
Result<std::string> read_file(const std::string& file, uint64_t limit);
/// The same for a file that may be a pipe or a device: reads at most `limit` + 1 bytes. If nobody writes to a pipe for
/// kPatience, that is an error.
Result<std::string> read_stream(const std::string& file, uint64_t limit);

/// How long to wait for the other end of a named pipe.
inline constexpr double kPatienceSeconds = 5;

/// Replaces the content of FILE by `bytes`, or leaves everything as it was, even if the process is killed: the bytes
/// go to a file without a name (O_TMPFILE, or a temporary name if the file system lacks it), are flushed to the
/// disk and then take FILE's name. If FILE is a symbolic link, the file behind it is replaced or made. A FILE that is
/// not a regular file (a pipe, /dev/null, /dev/stdout) is written to directly. An existing file's permissions are
/// kept. All of sheaf's outputs are written this way.
Result<void> write_file_atomically(const std::string& file, std::string_view bytes);
/// The same for content in pieces, one after another.
Result<void> write_file_atomically(const std::string& file, std::span<const std::string_view> pieces);
Result<void> write_file_atomically(const Folder& folder, const std::string& name, std::span<const std::string_view> pieces);

/// Opens FILE for writing in place, with open(2)'s `flags` added. Waits for a named pipe's reader as above.
Result<Descriptor> open_output(const std::string& file, int flags);

/// Checks an output file before a long run, so that it doesn't fail at the end. Errors: its folder is missing
/// or not writable, or it is a folder itself. "" passes.
Result<void> check_output(const std::string& file);

}  // namespace sheaf
