#include "runtime/training/checkpoint_folder.h"

#include "runtime/base/folder_lock.h"
#include "runtime/base/temporary_name.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace sheaf {
namespace {

constexpr std::string_view kBegin = "checkpoint-", kEnd = ".safetensors";
constexpr size_t kDigits = 10;

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

/// mkdir -p, with each new entry flushed to the disk. 0, or errno.
int make_folders(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> parents;  // of folders that aren't there yet
  std::error_code status;
  for (std::filesystem::path at = std::filesystem::absolute(folder, status).lexically_normal();
       !std::filesystem::exists(at, status) && at.has_relative_path();)
    parents.push_back(at = at.parent_path());
  std::filesystem::create_directories(folder, status);
  if (status) return status.value();
  for (const std::filesystem::path& parent : parents) {
    const Descriptor flushed(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (flushed.open()) ::fsync(flushed.get());
  }
  return 0;
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
  if (const int code = make_folders(folder); code != 0) return failure("the folder for checkpoints can't be made", code);
  SHEAF_ASSIGN(auto held, Folder::open(folder));
  const int descriptor = held.descriptor();
  if (::faccessat(descriptor, ".", W_OK | X_OK, 0) != 0) return failure("the folder for checkpoints can't be written", errno);
  if (!try_lock(held)) return Error({folder, 0, 0}, "another run keeps its checkpoints in this folder right now");
  CheckpointFolder opened(std::move(held), keep);
  for (const std::string& name : opened.names()) {
    if (step_of(finished_name(name))) ::unlinkat(descriptor, name.c_str(), 0);  // what a killed run left
  }
  return opened;
}

std::vector<std::string> CheckpointFolder::names() const {
  std::vector<std::string> names;
  const int descriptor = ::openat(folder_.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = descriptor < 0 ? nullptr : ::fdopendir(descriptor);
  if (!entries) return names;
  while (const dirent* entry = ::readdir(entries)) names.emplace_back(entry->d_name);
  ::closedir(entries);
  return names;
}

std::vector<CheckpointFolder::File> CheckpointFolder::list() const {
  std::vector<File> files;
  for (std::string& name : names()) {
    if (const auto step = step_of(name)) files.push_back({std::move(name), *step});
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.step > b.step; });
  return files;
}

Result<std::optional<CheckpointFolder::Found>> CheckpointFolder::newest(const RunIdentity& run,
                                                                        std::span<const Parameter* const> expected,
                                                                        const std::function<void(const Error&)>& told) const {
  const std::vector<File> files = list();
  for (const File& file : files) {
    auto opened = CheckpointFile::open(folder_, file.name);
    if (opened) {
      SHEAF_TRY(check_same_run(path_of(file), opened->content().identity, run));
      auto tensors = opened->read(expected);
      if (tensors) return std::optional<Found>(Found{path_of(file), opened->content(), std::move(*tensors)});
      opened = tensors.error();
    }
    told(opened.error());
  }
  if (files.empty()) return std::optional<Found>();
  return Error({folder_.path(), 0, 0},
               "none of the " + std::to_string(files.size()) +
                   " checkpoints in this folder is sound; to begin anew, remove them or give another folder");
}

Result<void> CheckpointFolder::save(const Checkpoint& checkpoint, std::span<const TensorView> tensors) {
  SHEAF_TRY(write_checkpoint(folder_, name_of_step(checkpoint.state.step), checkpoint, tensors));
  int kept = 0;
  for (const File& found : list()) {
    if (found.step <= checkpoint.state.step && kept++ < keep_) continue;
    ::unlinkat(folder_.descriptor(), found.name.c_str(), 0);  // one too many does no harm
  }
  return {};
}

}  // namespace sheaf
