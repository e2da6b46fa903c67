#include "tools/cli/program.h"

#include "tools/cli/report.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <new>
#include <unistd.h>

namespace sheaf {
namespace {

void say(const char* text) {
  // Nothing can be done about a message that nobody reads.
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text, std::strlen(text));
}

void hold_standard_descriptors() {
  for (int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() takes the lowest free number: this one. Without a /dev/null, any file will do.
    if (::open("/dev/null", O_RDWR) < 0) (void)::open("/", O_RDONLY | O_DIRECTORY);
  }
}

/// An exception that reached nobody, in a thread or where nothing may be thrown.
[[noreturn]] void end_of_exception() {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (const std::exception& thrown) {
    say("sheaf: internal error: ");
    say(thrown.what());
    say("\n");
  } catch (...) {
    say("sheaf: internal error: an unknown exception\n");
  }
  std::_Exit(kFailed);
}

[[noreturn]] void end() {
  if (std::current_exception()) end_of_exception();
  say("sheaf: internal error: terminated\n");
  std::_Exit(kFailed);
}

}  // namespace

void end_with_error(const char* what, const char* why) {
  say("sheaf: error: ");
  say(what);
  if (why) say(": ");
  if (why) say(why);
  say("\n");
  std::_Exit(kFailed);
}

void end_without_memory() { end_with_error("not enough memory"); }

int run_program(int argc, char** argv, int (*verb)(std::vector<std::string> arguments)) {
  hold_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(end);
  // Not caught any further out: state left half done when an exception passed through it, as in a library compiled without
  // them, must not be used again, not even by destructors of globals.
  try {
    return verb({argv + 1, argv + argc});
  } catch (...) {
    end_of_exception();
  }
}

}  // namespace sheaf
