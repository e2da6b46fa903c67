// Parts of tensors, for comparisons with loops that would take too long over all of them.
#pragma once

#include <utility>
#include <vector>

#include "tests/unit/runtime/cpu/step_runner.h"

namespace sheaf::test {

/// first, first + step, … of a dimension.
struct Some {
  int64_t first = 0, step = 1;
};

inline Tensor some_of(const Tensor& tensor, size_t axis, Some some) {
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < axis; ++i) outer *= tensor.dims[i];
  for (size_t i = axis + 1; i < tensor.dims.size(); ++i) inner *= tensor.dims[i];
  Tensor result;
  result.dims = tensor.dims;
  result.dims[axis] = 0;
  for (int64_t i = some.first; i < tensor.dims[axis]; i += some.step) ++result.dims[axis];
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = some.first; j < tensor.dims[axis]; j += some.step) {
      const auto from = tensor.data.begin() + (i * tensor.dims[axis] + j) * inner;
      result.data.insert(result.data.end(), from, from + inner);
    }
  }
  return result;
}

/// Which parts of a tensor are compared: axis by axis.
using Parts = std::vector<std::pair<size_t, Some>>;

inline Tensor parts_of(Tensor tensor, const Parts& parts) {
  for (const auto& [axis, some] : parts) tensor = some_of(tensor, axis, some);
  return tensor;
}

}  // namespace sheaf::test
