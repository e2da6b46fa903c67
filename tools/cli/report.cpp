#include "tools/cli/report.h"

#include "tools/cli/options.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace sheaf {

int report(const Error& error, int status) {
  const std::string text = to_string(error, palette_of(stderr));
  std::fputs(text.c_str(), stderr);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stderr);
  return status;
}

int report_usage(Error error, const std::string& verb) {
  return report(error.note("`sheaf " + verb + " --help` lists the options"), kUsage);
}

void report_warning(const Diagnostic& warning) { std::fputs((to_string(warning, palette_of(stderr)) + "\n").c_str(), stderr); }

int finish_stdout() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return kDone;
  return report(Error(std::string("stdout cannot be written") + (errno ? std::string(": ") + std::strerror(errno) : "")),
                kFailed);
}

int print(const std::string& plain) {
  const std::string text = with_headings(plain, palette_of(stdout));
  errno = 0;
  std::fwrite(text.data(), 1, text.size(), stdout);  // an error stays set until finish_stdout()
  return finish_stdout();
}

int print_help(const OptionParser& parser) {
  return print(parser.help(palette_of(stdout), std::min(columns_of(stdout, 100), 100)));
}

}  // namespace sheaf
