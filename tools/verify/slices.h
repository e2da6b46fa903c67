// Parts of a tensor along a dimension.
#pragma once

#include "runtime/data/convert.h"

namespace sheaf {

/// Elements [begin, end) along `dim`.
Result<HostTensor> slice(const HostTensor& whole, int dim, int64_t begin, int64_t end);
/// The parts one after another along `dim`; they differ only in that dimension, and there is at least one.
Result<HostTensor> concatenate(const std::vector<HostTensor>& parts, int dim);
/// Values without dimensions as a vector.
Result<HostTensor> stack(const std::vector<HostTensor>& parts);
/// The tensor's elements as a vector, in row-major order.
HostTensor flattened(HostTensor tensor);
/// Elements of a vector as values without dimensions.
Result<HostTensor> element(const HostTensor& vector, int64_t index);
/// The sum, from the first part on, in double precision. For floating-point dtypes.
Result<HostTensor> sum(const std::vector<HostTensor>& parts);

/// Sets the element to `number`, rounded to its dtype; number_at() reads one (runtime/data/convert.h).
void set_number(HostTensor& tensor, int64_t index, double number);
int64_t element_count(const HostTensor& tensor);

}  // namespace sheaf
