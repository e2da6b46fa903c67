#include "runtime/base/kept_files.h"

#include "runtime/base/cache_folder.h"
#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/base/version.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace sheaf {
namespace {

namespace fs = std::filesystem;

/// Of a whole file: its version, and digests of key and text.
std::string heading(const std::string& key_digest, std::string_view text) {
  return "kept by " + name_and_version() + "\n" + key_digest + "\n" + sha256(text) + "\n";
}

}  // namespace

KeptFiles KeptFiles::of_user(const std::string& name) {
  const std::string folder = cache_folder();
  return KeptFiles(folder.empty() ? "" : folder + "/" + name);
}

std::string KeptFiles::file_of(std::string_view key) const { return file_of_digest(sha256(key)); }

std::string KeptFiles::file_of_digest(const std::string& key_digest) const { return folder_ + "/" + key_digest.substr(0, 32); }

std::optional<std::string> KeptFiles::find(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  const std::string key_digest = sha256(key), file = file_of_digest(key_digest);
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  auto text = read_file(file, most_bytes_);
  if (!text) return std::nullopt;
  const size_t length = heading(key_digest, "").size();  // whatever the text
  if (text->size() < length) return std::nullopt;
  std::string body = text->substr(length);
  if (text->compare(0, length, heading(key_digest, body)) != 0) return std::nullopt;
  // Used just now; in a folder that can only be read nothing is ever removed either.
  fs::last_write_time(file, fs::file_time_type::clock::now(), error);
  return body;
}

Result<void> KeptFiles::keep(std::string_view key, std::string_view text) const {
  if (folder_.empty() || text.size() > most_bytes_ / 4) return {};
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return Error({folder_, 0, 0}, "can't be made: " + error.message());
  const std::string key_digest = sha256(key);
  SHEAF_TRY(write_file_atomically(file_of_digest(key_digest), heading(key_digest, text) + std::string(text)));
  make_room();
  return {};
}

/// Down to three quarters, so that not every file that comes removes another. What another process removes at the same time is gone as well.
void KeptFiles::make_room() const {
  struct File {
    fs::path path;
    fs::file_time_type used;
    uint64_t bytes;
  };
  std::vector<File> files;
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    const File file{at->path(), at->last_write_time(gone), at->file_size(gone)};
    if (gone || !at->is_regular_file(gone)) continue;
    bytes += file.bytes;
    files.push_back(file);
  }
  if (bytes <= most_bytes_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (bytes <= most_bytes_ / 4 * 3) return;
    if (fs::remove(file.path, error)) bytes -= file.bytes;
  }
}

}  // namespace sheaf
