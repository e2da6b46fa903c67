#include "runtime/base/extent.h"

#include "runtime/base/printable.h"

#include <charconv>
#include <limits>
#include <string_view>

namespace sheaf {

namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kLiteralLimit = int64_t{1} << 53;

// Sums and products saturate instead of wrapping: a saturated number is outside every bound that a plan is checked against, a
// wrapped one could look harmless.
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

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9') || c == '.' || c == ':'; }

/// One term, `12`, `batch` or `2*batch`, read off the front of `text`; false if there is none.
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
  if (text.empty() || !starts_name(text.front())) return false;
  size_t length = 1;
  while (length < text.size() && continues_name(text[length])) ++length;
  if (has_number && number == 0) return false;
  sum = sum + Extent::symbol(std::string(text.substr(0, length)), negative ? -number : number);
  text.remove_prefix(length);
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
  // One spelling for each expression: names in order, each once, no superfluous coefficients.
  if (to_string(sum) != text) return refuse();
  return sum;
}

Result<int64_t> evaluate(const Extent& extent, const std::function<const int64_t*(const std::string&)>& value_of) {
  int64_t sum = extent.constant;
  for (const auto& [name, coefficient] : extent.terms) {
    const int64_t* value = value_of(name);
    if (!value) return Error("the size " + to_string(extent) + " uses '" + name + "', which has no value here");
    int64_t product;
    if (__builtin_mul_overflow(coefficient, *value, &product) || __builtin_add_overflow(sum, product, &sum))
      return Error("the size " + to_string(extent) + " is too large");
  }
  return sum;
}

}  // namespace sheaf
