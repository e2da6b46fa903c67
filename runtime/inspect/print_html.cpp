#include "runtime/inspect/print.h"
namespace sheaf { std::string print_html(const PlacementGraph&) { return ""; } }
