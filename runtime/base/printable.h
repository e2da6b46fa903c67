// Makes text of files and command lines safe to show in messages.
#pragma once

#include <string>
#include <string_view>

namespace sheaf {

/// `text`, safe to print on a terminal and to embed: control characters are written as \n, \t or \x1b, bytes that aren't
/// UTF-8 and marks that turn text round as U+FFFD. With `tabs`, tabs stay as they are.
std::string printable(std::string_view text, bool tabs = false);

/// The same for text that may be very long: leaves out the middle of words above 200 bytes, and of texts above 4,000 bytes.
std::string shortened(std::string_view text);

/// 'text', for names and values that a message repeats: the first 80 bytes of a longer one, up to a whole character, and "…".
std::string in_quotes(std::string_view text);

}  // namespace sheaf
