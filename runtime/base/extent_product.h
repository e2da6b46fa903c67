// Extents whose terms are products: sizes in the batch and in lengths, such as `32*batch*seq`.
#pragma once

#include "runtime/base/extent.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

/// The key of a term (Extent::terms) that is the product of these symbols; a symbol may occur several times.
std::string term_of(std::vector<std::string> factors);

/// The symbols of a term, in order: {"batch", "seq"} of `batch*seq`.
std::vector<std::string> factors_of(const std::string& term);

/// The symbols that occur in `extent`, each once and in order.
std::vector<std::string> symbols_in(const Extent& extent);

Extent multiplied(const Extent& a, const Extent& b);

/// `extent` / `divisor`, if there is such an expression; the divisor has one term or is a positive number.
std::optional<Extent> divided(const Extent& extent, const Extent& divisor);

/// `extent` with numbers in place of symbols; those without a number stay.
Extent substituted(const Extent& extent, const std::map<std::string, int64_t>& numbers);

// Sums and products that saturate instead of wrapping: a saturated number is outside every bound that a plan is checked against,
// a wrapped one could look harmless.
int64_t saturating_add(int64_t a, int64_t b);
int64_t saturating_multiply(int64_t a, int64_t b);

}  // namespace sheaf
