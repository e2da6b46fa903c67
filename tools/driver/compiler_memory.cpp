#include "tools/driver/compiler_memory.h"

#include "llvm/Support/ErrorHandling.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace sheaf {
namespace {
std::atomic<int> compiling{0};
}  // namespace

CompilerMemory::CompilerMemory() { ++compiling; }
CompilerMemory::~CompilerMemory() { --compiling; }

}  // namespace sheaf

#ifndef SHEAF_SANITIZED
// The C library's allocator under its own names, plus a check of its results. A program's definitions are the ones its
// libraries use; `free` stays the C library's.
#define SHEAF_ALLOCATOR extern "C" __attribute__((visibility("default")))
extern "C" void* __libc_malloc(size_t size);
extern "C" void* __libc_calloc(size_t count, size_t size);
extern "C" void* __libc_realloc(void* memory, size_t size);
extern "C" void* __libc_memalign(size_t alignment, size_t size);

namespace {
void* checked(void* memory) {
  if (!memory && sheaf::compiling.load(std::memory_order_relaxed) > 0) llvm::report_bad_alloc_error("not enough memory");
  return memory;
}
}  // namespace

SHEAF_ALLOCATOR void* malloc(size_t size) noexcept { return checked(__libc_malloc(size)); }
SHEAF_ALLOCATOR void* calloc(size_t count, size_t size) noexcept { return checked(__libc_calloc(count, size)); }
SHEAF_ALLOCATOR void* realloc(void* memory, size_t size) noexcept {
  // For a size of 0, null is a correct result.
  return size == 0 ? __libc_realloc(memory, size) : checked(__libc_realloc(memory, size));
}
SHEAF_ALLOCATOR void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return checked(__libc_memalign(alignment, size));
}
SHEAF_ALLOCATOR int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  void* const made = checked(__libc_memalign(alignment, size));
  if (!made) return ENOMEM;
  *memory = made;
  return 0;
}
#endif
