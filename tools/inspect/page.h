// The parts of the HTML dump, from tools/inspect/page/ (embedded by page.cmake).
#pragma once

namespace sheaf::page {

extern const char* const kTemplate;  ///< with the markers that print_html fills in
extern const char* const kStyle;
extern const char* const kScript;

}  // namespace sheaf::page
