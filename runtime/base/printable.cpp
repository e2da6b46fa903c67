#include "runtime/base/printable.h"

#include <algorithm>
#include <cstdint>

namespace sheaf {
namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Length of the valid UTF-8 sequence at the front of `text`; 0 if there is none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  size_t length = 0;
  uint32_t code = 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) length = 2, code = lead & 0x1Fu;
  else if (lead >= 0xE0 && lead < 0xF0) length = 3, code = lead & 0x0Fu;
  else if (lead >= 0xF0 && lead < 0xF5) length = 4, code = lead & 0x07u;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000)) return 0;
  if ((code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return 0;
  return length;
}

/// C1 controls, line separators and the marks that reorder text: a name must not change how its neighbours look.
bool invisible(std::string_view sequence) {
  if (sequence.size() == 2) return sequence[0] == '\xC2' && static_cast<unsigned char>(sequence[1]) < 0xA0;
  if (sequence.size() != 3) return false;
  if (sequence == "\xEF\xBF\xBE" || sequence == "\xEF\xBF\xBF") return true;  // no characters, and not in XML
  if (sequence[0] != '\xE2') return false;
  const unsigned char low = static_cast<unsigned char>(sequence[2]);
  if (sequence[1] == '\x80') return low >= 0xA8 && low <= 0xAE;
  return sequence[1] == '\x81' && low >= 0xA6 && low <= 0xA9;
}

bool continues(char byte) { return (byte & 0xC0) == 0x80; }

/// `text` without its middle: at most `most` bytes of it, and how many there were.
std::string without_middle(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t head = most * 3 / 4, tail = text.size() - most / 4;
  while (head > 0 && continues(text[head])) --head;
  while (tail < text.size() && continues(text[tail])) ++tail;
  return std::string(text.substr(0, head)) + "…(" + std::to_string(text.size()) + " bytes)…" + std::string(text.substr(tail));
}

}  // namespace

std::string printable(std::string_view text, bool tabs) {
  std::string out;
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (length == 0 || invisible(text.substr(0, length))) out += kReplacement;
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += tabs ? "\t" : "\\t";
    else if (c < 0x20 || c == 0x7F) (out += "\\x") += {kHex[c >> 4], kHex[c & 15]};
    else out += text.substr(0, length);
    text.remove_prefix(length ? length : 1);
  }
  return out;
}

std::string shortened(std::string_view text) {
  constexpr size_t kWord = 200, kText = 4000;
  std::string words;
  while (!text.empty() && words.size() <= 2 * kText) {
    const size_t end = std::min(text.find(' '), text.size());
    words += without_middle(text.substr(0, end), kWord);
    if (end < text.size()) words += ' ';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return printable(without_middle(words, kText));
}

std::string in_quotes(std::string_view text) {
  constexpr size_t kMost = 80;
  if (text.size() <= kMost) return "'" + std::string(text) + "'";
  size_t head = kMost;
  while (head > 0 && continues(text[head])) --head;
  return "'" + std::string(text.substr(0, head)) + "…'";
}

}  // namespace sheaf
