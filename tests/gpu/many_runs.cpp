// Many command lines of sheaf-run in one process, so that a GPU's context, its libraries and their kernels are loaded once: tests/cli/program.py talks to it.
//
// Each line of stdin is {"arguments": […], "out": FILE, "err": FILE}; the answer on stdout is the exit status, a line. What the
// verb prints is in the files.
#include "runtime/plan/plan.h"
#include "tools/cli/program.h"
#include "tools/runtime_verbs.h"

#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

namespace {

/// Descriptor `number` is a file, for a while.
class Redirected {
 public:
  Redirected(int number, const std::string& file) : number_(number), before_(dup(number)) {
    const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (opened < 0 || dup2(opened, number_) < 0) sheaf::end_with_error(file.c_str(), "can't be written");
    close(opened);
  }
  ~Redirected() {
    std::fflush(nullptr);
    dup2(before_, number_);
    close(before_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int number_, before_;
};

int run_all(std::vector<std::string>) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto asked = sheaf::Json::parse(line);
    int status = 0;
    {
      const Redirected out(STDOUT_FILENO, asked.at("out")), err(STDERR_FILENO, asked.at("err"));
      status = sheaf::runtime_verb(asked.at("arguments").get<std::vector<std::string>>());
    }
    std::printf("%d\n", status);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return sheaf::run_program(argc, argv, run_all); }
