/* Preloaded into a program: from main() on, memory can't be had where the environment says so.
 *   FAILING_ALLOCATION=N  the N-th call of malloc and its kin, counted over all threads, fails
 *   FAILING_FOR_GOOD=1    and so do all that follow
 *   FAILING_REPORT=F      F is made when it has happened
 * A program that defines malloc itself asks __libc_malloc, so that one fails too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long allocations;
static atomic_bool begun;
static long wanted;
static int for_good;
static const char* report;

static int fails(void) {
  if (!atomic_load_explicit(&begun, memory_order_relaxed)) return 0;
  const long number = atomic_fetch_add(&allocations, 1) + 1;
  if (number != wanted && !(for_good && number > wanted)) return 0;
  if (number == wanted && report) close(open(report, O_WRONLY | O_CREAT, 0600));
  errno = ENOMEM;
  return 1;
}

/* The C library's own NAME, looked up when it is first needed. */
#define LIBRARY(name, result, ...)                            \
  static result (*library_##name)(__VA_ARGS__);               \
  if (!library_##name) *(void**)&library_##name = dlsym(RTLD_NEXT, "__libc_" #name)

void* __libc_malloc(size_t size) {
  LIBRARY(malloc, void*, size_t);
  return fails() ? NULL : library_malloc(size);
}
void* __libc_calloc(size_t count, size_t size) {
  LIBRARY(calloc, void*, size_t, size_t);
  return fails() ? NULL : library_calloc(count, size);
}
void* __libc_realloc(void* memory, size_t size) {
  LIBRARY(realloc, void*, void*, size_t);
  return fails() ? NULL : library_realloc(memory, size);
}
void* __libc_memalign(size_t alignment, size_t size) {
  LIBRARY(memalign, void*, size_t, size_t);
  return fails() ? NULL : library_memalign(alignment, size);
}

void* malloc(size_t size) { return __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return __libc_calloc(count, size); }
void* realloc(void* memory, size_t size) { return __libc_realloc(memory, size); }
void* aligned_alloc(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  void* const made = __libc_memalign(alignment, size);
  if (!made) return ENOMEM;
  *memory = made;
  return 0;
}

typedef int (*Main)(int, char**, char**);
static Main program;

static int counted(int argc, char** argv, char** environment) {
  const char* number = getenv("FAILING_ALLOCATION");
  wanted = number ? atol(number) : 0;
  for_good = getenv("FAILING_FOR_GOOD") != NULL;
  report = getenv("FAILING_REPORT");
  unsetenv("LD_PRELOAD"); /* programs that it starts are on their own */
  atomic_store(&begun, 1);
  return program(argc, argv, environment);
}

/* What the system does before main() is not the program's. */
int __libc_start_main(Main main, int argc, char** argv, void (*init)(void), void (*fini)(void), void (*loader_fini)(void),
                      void* stack_end) {
  program = main;
  int (*start)(Main, int, char**, void (*)(void), void (*)(void), void (*)(void), void*);
  *(void**)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  return start(counted, argc, argv, init, fini, loader_fini, stack_end);
}
