// Loop nests over tensor shapes with broadcasting, simplified: neighbouring dimensions become one loop if every operand moves,
// or stays, in both of them.
#pragma once

#include "codegen/kernels/spec.h"

#include <optional>

namespace sheaf::kernels {

struct Loop {
  Extent size;
  std::vector<bool> moves;  ///< per operand: false = the operand is broadcast along this loop
};

/// The product if it is linear: one factor static, or a static 1.
std::optional<Extent> product(const Extent& a, const Extent& b);

/// The product of shape[first, last), or nothing if it is not linear.
std::optional<Extent> product(const Shape& shape, size_t first, size_t last);

/// A dimension counted from the front, or an error naming `what`, the dimension and the rank.
Result<int64_t> checked_dim(const std::string& what, int64_t dim, size_t rank);

/// The loops over dimensions [first, last) of `shape` for operands broadcast to it by PyTorch's rules. At least one loop,
/// possibly of size 1. Errors: an operand does not broadcast to `shape`.
Result<std::vector<Loop>> collapse(const Shape& shape, const std::vector<Shape>& operands, size_t first, size_t last);

/// How many leading loops (at most `limit`) have a linear product, and that product.
struct Prefix {
  size_t loops = 0;
  Extent size = 1;
};
Prefix linear_prefix(const std::vector<Loop>& loops, size_t limit);

/// The product of the sizes, with 64 for each size that a run determines.
int64_t typical_size(const std::vector<Loop>& loops, size_t first);
int64_t typical_size(const Extent& extent);

/// For a GPU, which gets larger sizes: with 256 for each symbol.
int64_t typical_gpu_size(const Extent& extent);

/// The least number of work items worth a thread if one item costs `cost` simple element operations.
int64_t grain_for(int64_t cost);

}  // namespace sheaf::kernels
