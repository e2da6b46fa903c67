#include "runtime/cuda/vendor/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace sheaf::cuda {
namespace {

std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* home = std::getenv(variable);
    if (home && *home) folders.push_back(std::string(home) + "/lib64/");
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  return folders;
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(std::string product, std::initializer_list<const char*> names) {
  std::string reason;
  bool exists = false;  // a file of that name: why it cannot be opened says more than that others are not there
  const auto attempt = [&](const std::string& path) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) return handle;
    const char* words = dlerror();
    std::error_code ignored;
    const bool here = path.find('/') != path.npos && std::filesystem::exists(path, ignored);
    if (reason.empty() || (here && !exists)) reason = words ? words : "cannot open " + path;
    exists |= here;
    return handle;
  };
  SharedLibrary library;
  library.product_ = std::move(product);
  for (const char* name : names) {
    library.name_ = name;
    if ((library.handle_ = attempt(name))) return library;
    for (const std::string& folder : toolkit_folders()) {
      if ((library.handle_ = attempt(folder + name))) return library;
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
