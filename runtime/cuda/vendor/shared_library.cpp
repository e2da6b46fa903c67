#include "runtime/cuda/vendor/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

namespace sheaf::cuda {
namespace {

namespace fs = std::filesystem;

/// The environment variable's value; empty if it isn't set.
std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

/// The contents of `folder` in alphabetical order; nothing if it doesn't exist.
std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// pip puts each of NVIDIA's packages into a folder of its own: SITE/nvidia/cudnn/lib, SITE/nvidia/cu13/lib.
void add_packages(std::vector<fs::path>& folders, const fs::path& site) {
  for (const fs::path& package : entries(site / "nvidia")) {
    std::error_code ignored;
    if (fs::is_directory(package / "lib", ignored)) folders.push_back(package / "lib");
  }
}

/// Of a Python environment: PREFIX/lib/python3.12/site-packages.
void add_environment(std::vector<fs::path>& folders, const fs::path& prefix) {
  for (const fs::path& python : entries(prefix / "lib")) {
    if (python.filename().string().starts_with("python3")) add_packages(folders, python / "site-packages");
  }
}

/// The file this code was loaded from: a program, or the Python package's module.
fs::path own_file() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&own_file), &info) || !info.dli_fname) return {};
  std::error_code ignored;
  const fs::path file = fs::canonical(info.dli_fname, ignored);
  return ignored ? fs::canonical("/proc/self/exe", ignored) : file;
}

/// Folders the loader wouldn't search by itself.
std::vector<fs::path> further_folders() {
  std::vector<fs::path> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string home = value_of(variable); !home.empty()) folders.push_back(fs::path(home) / "lib64");
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string prefix = value_of(variable); !prefix.empty()) add_environment(folders, prefix);
  }
  const fs::path own = own_file();
  if (own.parent_path().filename() == "bin") add_environment(folders, own.parent_path().parent_path());
  for (fs::path at = own; at.has_relative_path(); at = at.parent_path()) {
    if (at.filename() == "site-packages" || at.filename() == "dist-packages") add_packages(folders, at);
  }
  return folders;
}

std::vector<fs::path> named_folders() {
  std::vector<fs::path> folders;
  std::stringstream list(value_of("SHEAF_CUDA_LIBRARIES"));
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  return folders;
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(std::string product, std::initializer_list<const char*> names) {
  std::string reason;
  bool exists = false;  // if a file of that name exists, why it can't be opened says more than that others are missing
  const auto attempt = [&](const std::string& path) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) return handle;
    const char* words = dlerror();
    std::error_code ignored;
    const bool here = path.find('/') != path.npos && fs::exists(path, ignored);
    if (reason.empty() || (here && !exists)) reason = words ? words : "cannot open " + path;
    exists |= here;
    return handle;
  };
  SharedLibrary library;
  library.product_ = std::move(product);
  const std::vector<fs::path> first = named_folders(), last = further_folders();
  for (const char* name : names) {
    library.name_ = name;
    for (const fs::path& folder : first) {
      if ((library.handle_ = attempt(folder / name))) return library;
    }
    if ((library.handle_ = attempt(name))) return library;
    for (const fs::path& folder : last) {
      if ((library.handle_ = attempt(folder / name))) return library;
    }
  }
  return Error(library.product_ + " cannot be opened: " + reason);
}

std::string SharedLibrary::path() const {
  const link_map* map = nullptr;
  if (!handle_ || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name) return {};
  return map->l_name;
}

void* SharedLibrary::find(const char* symbol) const { return dlsym(handle_, symbol); }

Result<void> Symbols::result() const {
  if (missing_.empty()) return {};
  return Error(library_.product() + " (" + library_.name() + ") has no function " + missing_ + ": another version is needed");
}

}  // namespace sheaf::cuda
