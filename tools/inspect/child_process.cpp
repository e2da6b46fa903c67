#include "tools/inspect/child_process.h"

#include "runtime/base/pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;

namespace sheaf {

namespace {

/// Keeps SIGPIPE from ending this process while it writes to a child that may be gone: blocks it in this thread, and takes out
/// again what came in meanwhile.
class BrokenPipeGuard {
 public:
  BrokenPipeGuard() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~BrokenPipeGuard() {
    const timespec now{0, 0};
    while (sigtimedwait(&signal_, nullptr, &now) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t signal_, before_;
};

/// Feeds and drains the three pipes at once: a child that prints before it has read all of its input can't block sheaf.
/// Closes `in` once all is written, `out` and `err` at their ends.
bool exchange(Descriptor& in, Descriptor& out, Descriptor& err, const std::string& input, ChildOutput& result) {
  size_t written = 0;
  if (input.empty()) in = Descriptor();
  while (out.open() || err.open()) {
    pollfd ready[3] = {{in.get(), POLLOUT, 0}, {out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}};
    if (poll(ready, 3, -1) < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (ready[0].revents) {
      const ssize_t count = write(in.get(), input.data() + written, input.size() - written);
      if (count > 0) written += static_cast<size_t>(count);
      // A child that stops reading explains why on its standard error.
      if ((count < 0 && errno != EAGAIN && errno != EINTR) || written == input.size()) in = Descriptor();
    }
    const auto drain = [](const pollfd& end, Descriptor& from, std::string& text) {
      if (!end.revents) return;
      char buffer[65536];
      const ssize_t count = read(from.get(), buffer, sizeof buffer);
      if (count > 0) text.append(buffer, static_cast<size_t>(count));
      else if (count == 0 || (errno != EAGAIN && errno != EINTR)) from = Descriptor();
    };
    drain(ready[1], out, result.output);
    drain(ready[2], err, result.errors);
  }
  return true;
}

}  // namespace

Result<ChildOutput> run_child(const std::vector<std::string>& command, const std::string& input) {
  Pipe in, out, err;
  if (!in.open() || !out.open() || !err.open())
    return Error("can't make a pipe to '" + command[0] + "': " + std::strerror(errno));
  fcntl(in.to.get(), F_SETFL, O_NONBLOCK);
  const BrokenPipeGuard guard;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in.from.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, out.to.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.to.get(), 2);
  posix_spawnattr_setsigmask(&attributes, &guard.before());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int failure = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) return Error("can't run the program '" + command[0] + "': " + std::strerror(failure));
  for (Descriptor* childs : {&in.from, &out.to, &err.to}) *childs = Descriptor();

  ChildOutput result;
  const bool exchanged = exchange(in.to, out.from, err.from, input, result);
  const int cause = errno;
  for (Descriptor* ours : {&in.to, &out.from, &err.from}) *ours = Descriptor();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!exchanged) return Error("lost the connection to '" + command[0] + "': " + std::strerror(cause));
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace sheaf
