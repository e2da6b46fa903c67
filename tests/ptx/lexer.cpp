#include "tests/ptx/lexer.h"

#include <bit>
#include <cctype>
#include <cstdlib>

namespace sheaf::ptx {
namespace {

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

}  // namespace

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (text_.substr(at_, 2) == "/*") {
      const size_t stop = text_.find("*/", at_ + 2);
      for (; at_ < text_.size() && at_ < stop; ++at_) line_ += text_[at_] == '\n';
      if (at_ < text_.size()) at_ += 2;
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_blanks();
  token_ = {Token::end, {}, 0, line_};
  if (at_ >= text_.size()) return;
  const size_t start = at_;
  const char c = text_[at_];
  auto word = [&] {
    while (at_ < text_.size()) {
      if (in_word(text_[at_])) ++at_;
      else if (text_[at_] == '.' && at_ + 1 < text_.size() && in_word(text_[at_ + 1])) ++at_;
      else if (text_.substr(at_, 2) == "::") at_ += 2;  // ".L2::128B"
      else break;
    }
  };
  if (starts_word(c)) {
    token_.kind = Token::word;
    ++at_;
    word();
  } else if (c == '.' && at_ + 1 < text_.size() && starts_word(text_[at_ + 1])) {
    token_.kind = Token::directive;
    ++at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
  } else if (std::isdigit(static_cast<unsigned char>(c))) {
    number();
  } else if (c == '"') {
    token_.kind = Token::text;
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') line_ += text_[at_++] == '\n';
    if (at_ < text_.size()) ++at_;
  } else {
    token_.kind = Token::punctuation;
    ++at_;
  }
  token_.spelling = text_.substr(start, at_ - start);
}

void Lexer::number() {
  const size_t start = at_;
  while (at_ < text_.size() && (in_word(text_[at_]) || text_[at_] == '.')) ++at_;
  std::string digits(text_.substr(start, at_ - start));
  const char kind = digits.size() > 1 ? digits[1] : '0';
  char* stop = nullptr;
  if (digits[0] == '0' && (kind == 'f' || kind == 'F') && digits.size() == 10) {
    token_.kind = Token::float32;
    token_.bits = std::strtoull(digits.c_str() + 2, &stop, 16);
  } else if (digits[0] == '0' && (kind == 'd' || kind == 'D') && digits.size() == 18) {
    token_.kind = Token::float64;
    token_.bits = std::strtoull(digits.c_str() + 2, &stop, 16);
  } else if (digits.find('.') != std::string::npos) {
    token_.kind = Token::float64;
    token_.bits = std::bit_cast<uint64_t>(std::strtod(digits.c_str(), &stop));
  } else {
    token_.kind = Token::integer;
    if (digits.back() == 'U') digits.pop_back();
    const bool binary = digits[0] == '0' && (kind == 'b' || kind == 'B');
    token_.bits = binary ? std::strtoull(digits.c_str() + 2, &stop, 2) : std::strtoull(digits.c_str(), &stop, 0);
  }
  if (*stop != '\0') token_.kind = Token::bad;
}

}  // namespace sheaf::ptx
