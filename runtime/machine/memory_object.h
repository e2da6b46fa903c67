// A shared object loaded from bytes in memory: a plan's machine code.
#pragma once

#include "runtime/base/descriptor.h"
#include "runtime/base/error.h"

#include <string>
#include <string_view>

namespace sheaf {

class MemoryObject {
 public:
  /// Errors: no memory, no /proc, the loader's own.
  static Result<MemoryObject> load(std::string_view bytes);
  MemoryObject(MemoryObject&& other) noexcept;
  MemoryObject& operator=(MemoryObject&&) = delete;
  ~MemoryObject();

  /// The address of a symbol; null if there is none.
  void* symbol(const std::string& name) const;

 private:
  MemoryObject(Descriptor file, void* handle) : file_(std::move(file)), handle_(handle) {}

  Descriptor file_;  ///< kept open: numbers are used again, and dlopen takes a path it knows for the object it knows
  void* handle_;
};

}  // namespace sheaf
