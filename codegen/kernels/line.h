// Kernels with an item for each line along one dimension (along.cpp, scan.cpp, sort.cpp).
#pragma once

#include "codegen/kernels/builders.h"

namespace sheaf::kernels {

/// Outer × n × inner, and how to step along n.
struct Line {
  Extent outer, n, inner;
};

/// Errors: the sizes around `dim` have no linear product.
Result<Line> line_of(const std::string& name, const Shape& shape, int64_t dim);

/// One item for each (outer, inner): `body` gets the position of its first element and the distance between elements.
KernelUse each_line(Emitter& e, const Line& line, llvm::function_ref<void(Value item, Value first, Value stride)> body);

inline bool is_integer(const Operand& x) { return x.dtype == DType::int64 || x.dtype == DType::int32; }

}  // namespace sheaf::kernels
