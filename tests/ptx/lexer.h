// Tokens of PTX.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf::ptx {

struct Token {
  enum Kind { word, directive, integer, float32, float64, text, punctuation, end, bad } kind = end;
  std::string_view spelling;  ///< word: "ld.param.u64", "%tid.x"; directive: ".reg"; punctuation: one character
  uint64_t bits = 0;          ///< of a number
  int line = 0;
};

/// Words contain dots, so that an instruction with its modifiers is one token; so is a special register.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { advance(); }
  const Token& peek() const { return token_; }
  Token take() {
    Token taken = token_;
    advance();
    return taken;
  }

 private:
  void advance();
  void skip_blanks();
  void number();

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  Token token_;
};

}  // namespace sheaf::ptx
