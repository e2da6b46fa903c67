// Colours, if the reader has a terminal and hasn't declined them.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace sheaf {

/// Escape sequences for parts of a text. All are empty if colours aren't wanted, so that printing code need not
/// check.
struct Palette {
  std::string_view error = {}, warning = {}, note = {};  ///< the word that begins a diagnostic
  std::string_view caret = {};                           ///< what points into a line of a file
  std::string_view heading = {};                         ///< of a table or a section
  std::string_view name = {};                            ///< an option or a verb where it is explained
  std::string_view reset = {};

  /// `text` in one of the colours above.
  std::string paint(std::string_view colour, std::string_view text) const;
};

/// Whether `stream` is a terminal that can move its cursor and colour text: isatty(3) and TERM isn't "dumb".
bool is_terminal(std::FILE* stream);

/// The colours for `stream`: none unless it is a terminal, and none if the environment has a NO_COLOR that isn't empty
/// (https://no-color.org). A FORCE_COLOR that isn't empty or "0" also colours streams that aren't terminals.
Palette palette_of(std::FILE* stream);

/// `text` with the headings of its tables painted: only the lines above lines of ─.
std::string with_headings(std::string_view text, const Palette& palette);

/// Columns of the terminal `stream`, or `otherwise` if it isn't one or doesn't say.
int columns_of(std::FILE* stream, int otherwise);

}  // namespace sheaf
