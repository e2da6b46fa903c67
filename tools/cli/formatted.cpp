#include "tools/cli/formatted.h"

#include <cstdarg>
#include <cstdio>

namespace sheaf {

std::string formatted(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

}  // namespace sheaf
