#include "runtime/cuda/kept_files.h"

#include "runtime/base/cache_folder.h"
#include "runtime/base/file.h"
#include "runtime/base/version.h"
#include "runtime/plan/sha256.h"

#include <atomic>
#include <cstdio>
#include <filesystem>

namespace sheaf::cuda {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;

/// Of a whole file: its version, and digests of key and text.
std::string heading(std::string_view key, std::string_view text) {
  return "kept by " + name_and_version() + "\n" + sha256(key) + "\n" + sha256(text) + "\n";
}

void warn(const std::string& what) {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true, std::memory_order_relaxed)) return;
  std::fprintf(stderr, "warning: what is compiled for the GPU isn't kept, and will be made again: %s\n", what.c_str());
}

}  // namespace

KeptFiles KeptFiles::of_user() {
  const std::string folder = cache_folder();
  return KeptFiles(folder.empty() ? "" : folder + "/gpu");
}

std::string KeptFiles::file_of(std::string_view key) const { return folder_ + "/" + sha256(key).substr(0, 32); }

std::optional<std::string> KeptFiles::find(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file_of(key), error)) return std::nullopt;
  auto text = read_file(file_of(key), kMostBytes);
  if (!text) return std::nullopt;
  const size_t length = heading(key, "").size();  // whatever the text
  if (text->size() < length) return std::nullopt;
  std::string body = text->substr(length);
  if (text->compare(0, length, heading(key, body)) != 0) return std::nullopt;
  return body;
}

void KeptFiles::keep(std::string_view key, std::string_view text) const {
  if (folder_.empty() || text.size() > kMostBytes / 2) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return warn(folder_ + " can't be made: " + error.message());
  if (auto written = write_file_atomically(file_of(key), heading(key, text) + std::string(text)); !written)
    warn(to_string(written.error()));
}

}  // namespace sheaf::cuda
