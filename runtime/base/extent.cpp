#include "runtime/base/extent.h"

#include "runtime/base/extent_product.h"
#include "runtime/base/printable.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

namespace sheaf {

namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

/// `coefficient` times the symbols `factors`; a number if there are none.
Extent product_of(std::vector<std::string> factors, int64_t coefficient) {
  return factors.empty() ? Extent(coefficient) : Extent::symbol(term_of(std::move(factors)), coefficient);
}

constexpr int64_t kLiteralLimit = int64_t{1} << 53;

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9') || c == '.' || c == ':'; }

/// A product of symbols, `batch` or `batch*seq`, read off the front of `text`: the key of its term; empty if there is none.
std::string take_product(std::string_view& text) {
  std::vector<std::string> factors;
  do {
    if (!factors.empty()) text.remove_prefix(1);
    if (text.empty() || !starts_name(text.front())) return {};
    size_t length = 1;
    while (length < text.size() && continues_name(text[length])) ++length;
    factors.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  } while (text.starts_with('*'));
  return term_of(std::move(factors));
}

/// One term, `12`, `batch` or `2*batch*seq`, read off the front of `text`; false if there is none.
bool take_term(std::string_view& text, bool negative, Extent& sum) {
  int64_t number = 1;
  bool has_number = false;
  if (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || number > kLiteralLimit) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    has_number = true;
    if (!text.starts_with('*')) {
      sum = sum + Extent(negative ? -number : number);
      return true;
    }
    text.remove_prefix(1);
  }
  if (has_number && number == 0) return false;
  const std::string term = take_product(text);
  if (term.empty()) return false;
  sum = sum + Extent::symbol(term, negative ? -number : number);
  return true;
}

}  // namespace

Extent Extent::symbol(const std::string& name, int64_t coefficient) {
  Extent extent;
  if (coefficient != 0) extent.terms[name] = coefficient;
  return extent;
}

Extent Extent::operator+(const Extent& other) const {
  Extent sum = *this;
  sum.constant = saturating_add(constant, other.constant);
  for (const auto& [name, coefficient] : other.terms) {
    int64_t& term = sum.terms[name];
    term = saturating_add(term, coefficient);
    if (term == 0) sum.terms.erase(name);
  }
  return sum;
}

Extent Extent::operator*(int64_t factor) const {
  Extent product;
  if (factor == 0) return product;
  product.constant = saturating_multiply(constant, factor);
  for (const auto& [name, coefficient] : terms) product.terms[name] = saturating_multiply(coefficient, factor);
  return product;
}

Result<Extent> Extent::divided_by(int64_t divisor) const {
  // -1 would overflow on the smallest integer; no size is ever divided by a negative number.
  if (divisor <= 0) return Error("a size can't be divided by " + std::to_string(divisor));
  Extent quotient;
  bool divisible = constant % divisor == 0;
  quotient.constant = constant / divisor;
  for (const auto& [name, coefficient] : terms) {
    divisible &= coefficient % divisor == 0;
    quotient.terms[name] = coefficient / divisor;
  }
  if (!divisible) return Error(to_string(*this) + " is not divisible by " + std::to_string(divisor));
  return quotient;
}

std::string to_string(const Extent& extent) {
  std::string text;
  const auto append = [&](int64_t number, const std::string* name) {
    const bool negative = number < 0;
    if (text.empty()) text += negative ? "-" : "";
    else text += negative ? " - " : " + ";
    // The magnitude as unsigned: the smallest integer has no positive counterpart.
    const uint64_t magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    if (!name) text += std::to_string(magnitude);
    else text += (magnitude == 1 ? "" : std::to_string(magnitude) + "*") + *name;
  };
  for (const auto& [name, coefficient] : extent.terms) append(coefficient, &name);
  if (extent.constant != 0 || extent.terms.empty()) append(extent.constant, nullptr);
  return text;
}

Result<Extent> parse_extent(const std::string& text) {
  const auto refuse = [&] { return Error(in_quotes(text) + " is not a size; expected a sum such as '2*batch + 1'"); };
  if (text.size() > 4096) return refuse();
  std::string_view rest = text;
  Extent sum;
  bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  if (!take_term(rest, negative, sum)) return refuse();
  while (!rest.empty()) {
    if (!rest.starts_with(" + ") && !rest.starts_with(" - ")) return refuse();
    negative = rest[1] == '-';
    rest.remove_prefix(3);
    if (!take_term(rest, negative, sum)) return refuse();
  }
  // One spelling for each expression: terms and factors in order, each once, no superfluous coefficients.
  if (to_string(sum) != text) return refuse();
  return sum;
}

Result<int64_t> evaluate(const Extent& extent, const std::function<const int64_t*(const std::string&)>& value_of) {
  int64_t sum = extent.constant;
  for (const auto& [term, coefficient] : extent.terms) {
    int64_t product = coefficient;
    bool large = false;
    for (const std::string& name : factors_of(term)) {
      const int64_t* value = value_of(name);
      if (!value) return Error("the size " + to_string(extent) + " uses '" + name + "', which has no value here");
      large |= __builtin_mul_overflow(product, *value, &product);
    }
    large |= __builtin_add_overflow(sum, product, &sum);
    if (large) return Error("the size " + to_string(extent) + " is too large");
  }
  return sum;
}

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? kLargest : -kLargest;
}

int64_t saturating_multiply(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a > 0) == (b > 0) ? kLargest : -kLargest;
}

std::string term_of(std::vector<std::string> factors) {
  std::ranges::sort(factors);
  std::string term;
  for (const std::string& factor : factors) term += (term.empty() ? "" : "*") + factor;
  return term;
}

std::vector<std::string> factors_of(const std::string& term) {
  std::vector<std::string> factors;
  size_t begin = 0;
  for (size_t end = term.find('*'); end != std::string::npos; begin = end + 1, end = term.find('*', begin))
    factors.push_back(term.substr(begin, end - begin));
  factors.push_back(term.substr(begin));
  return factors;
}

std::vector<std::string> symbols_in(const Extent& extent) {
  std::vector<std::string> symbols;
  for (const auto& [term, coefficient] : extent.terms) std::ranges::move(factors_of(term), std::back_inserter(symbols));
  std::ranges::sort(symbols);
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

Extent multiplied(const Extent& a, const Extent& b) {
  Extent product = a * b.constant;
  for (const auto& [term, coefficient] : b.terms) {
    product = product + Extent::symbol(term, saturating_multiply(a.constant, coefficient));
    for (const auto& [other, factor] : a.terms) {
      std::vector<std::string> factors = factors_of(term);
      std::ranges::move(factors_of(other), std::back_inserter(factors));
      product = product + Extent::symbol(term_of(std::move(factors)), saturating_multiply(factor, coefficient));
    }
  }
  return product;
}

std::optional<Extent> divided(const Extent& extent, const Extent& divisor) {
  const bool number = divisor.is_static() && divisor.constant > 0;
  if (!number && (divisor.constant != 0 || divisor.terms.size() != 1)) return std::nullopt;
  const int64_t by = number ? divisor.constant : divisor.terms.begin()->second;
  const Result<Extent> quotient = extent.divided_by(by);
  if (!quotient) return std::nullopt;
  if (number) return *quotient;
  if (quotient->constant != 0) return std::nullopt;
  Extent rest;
  for (const auto& [term, coefficient] : quotient->terms) {
    std::vector<std::string> factors = factors_of(term);
    for (const std::string& symbol : factors_of(divisor.terms.begin()->first)) {
      const auto found = std::ranges::find(factors, symbol);
      if (found == factors.end()) return std::nullopt;
      factors.erase(found);
    }
    rest = rest + product_of(std::move(factors), coefficient);
  }
  return rest;
}

Extent substituted(const Extent& extent, const std::map<std::string, int64_t>& numbers) {
  Extent result = extent.constant;
  for (const auto& [term, coefficient] : extent.terms) {
    int64_t known = coefficient;
    std::vector<std::string> left;
    for (std::string& symbol : factors_of(term)) {
      const auto number = numbers.find(symbol);
      if (number == numbers.end()) left.push_back(std::move(symbol));
      else known = saturating_multiply(known, number->second);
    }
    result = result + product_of(std::move(left), known);
  }
  return result;
}

}  // namespace sheaf
