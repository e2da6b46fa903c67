/* Preloaded into a program: the call of the C library that the environment names fails, once.
 *   FAILING_CALL=N     the N-th of the calls below from main() on, counted over all threads
 *   FAILING_ERRNO=E    with this errno; 0: it does no more than a part (read, pread, write) or succeeds (all others)
 *   FAILING_REPORT=F   F is made when it has happened, and holds the call's name
 * They are made as system calls here, so nothing has to be looked up. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;
static atomic_bool begun;
static long wanted;
static int wanted_errno;
static const char* report;

/* Whether this call is the one. */
static int is_wanted(const char* name) {
  if (!atomic_load_explicit(&begun, memory_order_relaxed) || atomic_fetch_add(&calls, 1) + 1 != wanted) return 0;
  if (report) {
    const long file = syscall(SYS_openat, AT_FDCWD, report, O_WRONLY | O_CREAT, 0600);
    syscall(SYS_write, file, name, strlen(name));
    syscall(SYS_close, file);
  }
  return 1;
}
static int fails(const char* name) {
  if (!is_wanted(name) || wanted_errno == 0) return 0;
  errno = wanted_errno;
  return 1;
}
/* How many bytes of `bytes` a call takes: -1, all, or less than half. */
static ssize_t portion(const char* name, size_t bytes) {
  if (!is_wanted(name)) return (ssize_t)bytes;
  if (wanted_errno == 0) return (ssize_t)(bytes < 3 ? bytes : bytes / 3);
  errno = wanted_errno;
  return -1;
}

static mode_t mode_in(int flags, va_list arguments) { return (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0; }

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return fails("open") ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return fails("openat") ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}
ssize_t read(int number, void* to, size_t bytes) {
  const ssize_t part = portion("read", bytes);
  return part < 0 ? -1 : syscall(SYS_read, number, to, (size_t)part);
}
ssize_t pread(int number, void* to, size_t bytes, off_t at) {
  const ssize_t part = portion("pread", bytes);
  return part < 0 ? -1 : syscall(SYS_pread64, number, to, (size_t)part, at);
}
ssize_t write(int number, const void* from, size_t bytes) {
  /* Messages get through: they are what the test reads. */
  const ssize_t part = number == STDERR_FILENO ? (ssize_t)bytes : portion("write", bytes);
  return part < 0 ? -1 : syscall(SYS_write, number, from, (size_t)part);
}
int close(int number) {
  /* Also where it fails the descriptor is gone. */
  const int failed = fails("close");
  const int code = errno;
  const int done = (int)syscall(SYS_close, number);
  if (failed) errno = code;
  return failed ? -1 : done;
}
int fsync(int number) { return fails("fsync") ? -1 : (int)syscall(SYS_fsync, number); }
int fdatasync(int number) { return fails("fdatasync") ? -1 : (int)syscall(SYS_fdatasync, number); }
int fchmod(int number, mode_t mode) { return fails("fchmod") ? -1 : (int)syscall(SYS_fchmod, number, mode); }
int ftruncate(int number, off_t size) { return fails("ftruncate") ? -1 : (int)syscall(SYS_ftruncate, number, size); }
int linkat(int from, const char* old, int to, const char* made, int flags) {
  return fails("linkat") ? -1 : (int)syscall(SYS_linkat, from, old, to, made, flags);
}
int renameat(int from, const char* old, int to, const char* made) {
  return fails("renameat") ? -1 : (int)syscall(SYS_renameat2, from, old, to, made, 0);
}
int unlinkat(int folder, const char* path, int flags) {
  return fails("unlinkat") ? -1 : (int)syscall(SYS_unlinkat, folder, path, flags);
}
int mkdir(const char* path, mode_t mode) { return fails("mkdir") ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode); }
int access(const char* path, int mode) { return fails("access") ? -1 : (int)syscall(SYS_faccessat, AT_FDCWD, path, mode); }
int stat(const char* path, struct stat* info) {
  return fails("stat") ? -1 : (int)syscall(SYS_newfstatat, AT_FDCWD, path, info, 0);
}
int fstat(int number, struct stat* info) { return fails("fstat") ? -1 : (int)syscall(SYS_fstat, number, info); }
int fstatat(int folder, const char* path, struct stat* info, int flags) {
  return fails("fstatat") ? -1 : (int)syscall(SYS_newfstatat, folder, path, info, flags);
}
int flock(int number, int how) { return fails("flock") ? -1 : (int)syscall(SYS_flock, number, how); }
int memfd_create(const char* name, unsigned flags) { return fails("memfd_create") ? -1 : (int)syscall(SYS_memfd_create, name, flags); }
int pipe2(int ends[2], int flags) { return fails("pipe2") ? -1 : (int)syscall(SYS_pipe2, ends, flags); }
int poll(struct pollfd* files, nfds_t count, int milliseconds) {
  return fails("poll") ? -1 : (int)syscall(SYS_poll, files, count, milliseconds);
}

typedef int (*Main)(int, char**, char**);
static Main program;

static int counted(int argc, char** argv, char** environment) {
  const char* call = getenv("FAILING_CALL");
  const char* number = getenv("FAILING_ERRNO");
  wanted = call ? atol(call) : 0;
  wanted_errno = number ? atoi(number) : EIO;
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
