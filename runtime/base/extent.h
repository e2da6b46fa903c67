// Extents: sizes that become known with a batch and a device list: sums of products of the program's symbols.
#pragma once

#include "runtime/base/error.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace sheaf {

/// An expression `constant + Σ coefficient · term`, e.g. `2*batch + 1`. A term is a symbol, one of Program::symbols, or a product
/// of them, its factors in order and joined by `*` (`batch*seq`; runtime/base/extent_product.h). Terms with coefficient 0 are
/// never stored, so equal expressions compare equal.
struct Extent {
  int64_t constant = 0;
  std::map<std::string, int64_t> terms;

  Extent() = default;
  Extent(int64_t value) : constant(value) {}
  static Extent symbol(const std::string& name, int64_t coefficient = 1);

  bool is_static() const { return terms.empty(); }
  bool operator==(const Extent&) const = default;
  Extent operator+(const Extent& other) const;
  Extent operator*(int64_t factor) const;
  /// The expression divided by `divisor`, or an error if a coefficient is not divisible.
  Result<Extent> divided_by(int64_t divisor) const;
};

/// "28", "batch", "2*batch*seq + 1" (terms in their names' order, then the constant if not 0 or alone).
std::string to_string(const Extent& extent);

/// Parses what to_string prints; refuses anything else, and numbers beyond ±2^53.
Result<Extent> parse_extent(const std::string& text);

/// Evaluates with the given symbol values; an overflow or an unknown symbol is an error.
Result<int64_t> evaluate(const Extent& extent, const std::function<const int64_t*(const std::string&)>& value_of);

}  // namespace sheaf
