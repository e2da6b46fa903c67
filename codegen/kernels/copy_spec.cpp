// The copies that ops ask for, as loops over strides.
#include "codegen/kernels/kernel_module.h"
#include "codegen/kernels/loops.h"

namespace sheaf::kernels {

namespace {

/// Row-major strides; an error if one is not linear.
Result<std::vector<Extent>> strides_of(const std::string& what, const Shape& shape) {
  std::vector<Extent> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) {
    auto next = product(strides[i], shape[i]);
    if (!next)
      return Error(what + ": a stride of " + to_string(strides[i]) + " times " + to_string(shape[i]) + " is not linear");
    strides[i - 1] = *next;
  }
  return strides;
}

}  // namespace

Result<CopySpec> permute_copy(DType dtype, const Shape& x, const std::vector<int64_t>& dims) {
  CopySpec spec{.name = "permute", .description = {}, .dtype = dtype, .loops = {}, .in_offset = {}, .out_offset = {}};
  Shape y;
  std::vector<size_t> from;
  for (int64_t d : dims) {
    SHEAF_ASSIGN(auto dim, checked_dim("permute", d, x.size()));
    if (llvm::is_contained(from, static_cast<size_t>(dim)))
      return Error("permute: dimension " + std::to_string(d) + " appears twice");
    from.push_back(static_cast<size_t>(dim));
    y.push_back(x[from.back()]);
  }
  if (from.size() != x.size())
    return Error("permute: " + std::to_string(dims.size()) + " dimensions given for rank " + std::to_string(x.size()));
  SHEAF_ASSIGN(auto in, strides_of("permute", x));
  SHEAF_ASSIGN(auto out, strides_of("permute", y));
  for (size_t i = 0; i < y.size(); ++i) spec.loops.push_back({y[i], in[from[i]], out[i]});
  return spec;
}

Result<CopySpec> slice_copy(DType dtype, const Shape& x, int64_t dim, const Extent& start, const Extent& count, int64_t step) {
  SHEAF_ASSIGN(auto d, checked_dim("slice", dim, x.size()));
  if (step == 0) return Error("slice: the step must not be 0");
  Shape y = x;
  y[static_cast<size_t>(d)] = count;
  SHEAF_ASSIGN(auto in, strides_of("slice", x));
  SHEAF_ASSIGN(auto out, strides_of("slice", y));
  auto offset = product(start, in[static_cast<size_t>(d)]);
  if (!offset) return Error("slice: the offset is not linear");
  CopySpec spec{.name = "slice", .description = {}, .dtype = dtype, .loops = {}, .in_offset = *offset, .out_offset = {}};
  for (size_t i = 0; i < y.size(); ++i)
    spec.loops.push_back({y[i], i == static_cast<size_t>(d) ? in[i] * step : in[i], out[i]});
  return spec;
}

Result<CopySpec> select_copy(DType dtype, const Shape& x, int64_t dim, int64_t index) {
  SHEAF_ASSIGN(auto d, checked_dim("select", dim, x.size()));
  const Extent& size = x[static_cast<size_t>(d)];
  if (size.is_static()) {
    if (index < -size.constant || index >= size.constant)
      return Error("select: index " + std::to_string(index) + " is outside a dimension of " + to_string(size));
    return slice_copy(dtype, x, d, index < 0 ? index + size.constant : index, 1);
  }
  return slice_copy(dtype, x, d, index < 0 ? size + Extent(index) : Extent(index), 1);
}

}  // namespace sheaf::kernels
