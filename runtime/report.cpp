#include "runtime/report.h"

#include <cstdio>

namespace sheaf {

int report(const Error& error, int status) {
  const std::string text = to_string(error);
  std::fputs(text.c_str(), stderr);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stderr);
  return status;
}

int report_usage(Error error, const std::string& verb) {
  return report(error.note("`sheaf " + verb + " --help` lists the options"), kUsage);
}

}  // namespace sheaf
