#include "runtime/machine/memory_object.h"

#include "runtime/base/memory_file.h"
#include "runtime/base/path_of_open_file.h"

#include <dlfcn.h>

namespace sheaf {

Result<MemoryObject> MemoryObject::load(std::string_view bytes) {
  SHEAF_ASSIGN(Descriptor file, memory_file(bytes));
  SHEAF_ASSIGN(const std::string path, path_of_open_file(file.get()));
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle) return MemoryObject(std::move(file), handle);
  const char* reason = dlerror();
  return Error(reason ? reason : "unknown reason");
}

MemoryObject::MemoryObject(MemoryObject&& other) noexcept
    : file_(std::move(other.file_)), handle_(std::exchange(other.handle_, nullptr)) {}

MemoryObject::~MemoryObject() {
  if (handle_) dlclose(handle_);
}

void* MemoryObject::symbol(const std::string& name) const { return dlsym(handle_, name.c_str()); }

}  // namespace sheaf
