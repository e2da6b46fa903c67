#include "runtime/training/checkpoint_folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace sheaf {
namespace {

constexpr std::string_view kBegin = "checkpoint-", kEnd = ".safetensors";
constexpr size_t kDigits = 10;
/// What write_file_atomically appends to a name until the file is whole: ".XXXXXX".
constexpr size_t kTemporarySuffix = 7;

/// The step in the name of a checkpoint.
std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
  if (name.size() < kBegin.size() + kDigits + kEnd.size()) return std::nullopt;
  name = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  int64_t step = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (code != std::errc() || end != name.data() + name.size() || step < 0) return std::nullopt;
  return step;
}

bool is_temporary(std::string_view name) {
  if (name.size() <= kTemporarySuffix || name[name.size() - kTemporarySuffix] != '.') return false;
  return step_of(name.substr(0, name.size() - kTemporarySuffix)).has_value();
}

std::string name_of_step(int64_t step) {
  std::string digits = std::to_string(step);
  digits.insert(0, kDigits - std::min(digits.size(), kDigits), '0');
  return std::string(kBegin) + digits + std::string(kEnd);
}

}  // namespace

Result<CheckpointFolder> CheckpointFolder::open(const std::string& folder, int keep) {
  const auto failure = [&](const std::string& what, int code) {
    return Error({folder, 0, 0}, what + ": " + std::strerror(code));
  };
  std::error_code status;
  std::filesystem::create_directories(folder, status);
  if (status) return failure("the folder for checkpoints can't be made", status.value());
  const int lock = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock < 0) return failure("the folder for checkpoints can't be opened", errno);
  CheckpointFolder opened(folder, keep, lock);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return failure("the folder for checkpoints can't be written", errno);
  // Filesystems without locks (some network ones) do without.
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Error({folder, 0, 0}, "another run keeps its checkpoints in this folder right now");
  std::vector<std::filesystem::path> stale;
  for (std::filesystem::directory_iterator it(folder, status), end; !status && it != end; it.increment(status)) {
    if (is_temporary(it->path().filename().string())) stale.push_back(it->path());
  }
  for (const auto& path : stale) std::filesystem::remove(path, status);
  return opened;
}

CheckpointFolder::CheckpointFolder(CheckpointFolder&& other) noexcept
    : folder_(std::move(other.folder_)), keep_(other.keep_), lock_(std::exchange(other.lock_, -1)) {}

CheckpointFolder::~CheckpointFolder() {
  if (lock_ >= 0) ::close(lock_);
}

std::vector<CheckpointFolder::File> CheckpointFolder::list() const {
  std::vector<File> files;
  std::error_code status;
  for (std::filesystem::directory_iterator it(folder_, status), end; !status && it != end; it.increment(status)) {
    if (const auto step = step_of(it->path().filename().string())) files.push_back({it->path().string(), *step});
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.step > b.step; });
  return files;
}

Result<std::optional<CheckpointFolder::Found>> CheckpointFolder::newest(
    const RunIdentity& run, std::span<const Parameter* const> expected, const std::function<void(const Error&)>& told) const {
  const std::vector<File> files = list();
  for (const File& file : files) {
    auto opened = CheckpointFile::open(file.path);
    if (opened) {
      if (auto same = check_same_run(file.path, opened->content().identity, run); !same) return same.error();
      auto tensors = opened->read(expected);
      if (tensors) return std::optional<Found>(Found{file.path, opened->content(), std::move(*tensors)});
      opened = tensors.error();
    }
    told(opened.error());
  }
  if (files.empty()) return std::optional<Found>();
  return Error({folder_, 0, 0}, "none of the " + std::to_string(files.size()) +
                                    " checkpoints in this folder is sound; to begin anew, remove them or give another folder");
}

Result<void> CheckpointFolder::save(const Checkpoint& checkpoint, std::span<const TensorView> tensors) {
  const std::string file = (std::filesystem::path(folder_) / name_of_step(checkpoint.state.step)).string();
  if (auto ok = write_checkpoint(file, checkpoint, tensors); !ok) return ok;
  int kept = 0;
  for (const File& found : list()) {
    if (found.step <= checkpoint.state.step && kept++ < keep_) continue;
    std::error_code ignored;  // one more than wanted does no harm
    std::filesystem::remove(found.path, ignored);
  }
  return {};
}

}  // namespace sheaf
