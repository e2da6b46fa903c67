// Text of files and of command lines as messages may show it.
#pragma once

#include <string>
#include <string_view>

namespace sheaf {

/// `text`, safe to print on a terminal and to embed: control characters are written as \n, \t or \x1b, bytes that aren't
/// UTF-8 and marks that turn text round as U+FFFD. With `tabs`, tabs stay as they are.
std::string printable(std::string_view text, bool tabs = false);

/// The same, of what may be very long: of a word of more than 200 bytes, and of more than 4,000 bytes in all, the middle is left out.
std::string shortened(std::string_view text);

}  // namespace sheaf
