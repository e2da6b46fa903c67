#include "codegen/kernels/builders.h"
#include "codegen/kernels/kernel_module.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace sheaf::kernels {

using namespace mlir;

DType dtype_of_width(DType dtype) {
  switch (size_of(dtype)) {
    case 8:
      return DType::int64;
    case 4:
      return DType::int32;
    case 2:
      return DType::bfloat16;
    default:
      return DType::uint8;
  }
}

namespace {

/// Without loops of size 1, and with neighbours merged where both layouts run on from one to the other.
std::vector<CopySpec::Loop> simplified(const std::vector<CopySpec::Loop>& loops) {
  std::vector<CopySpec::Loop> result;
  for (const CopySpec::Loop& loop : loops) {
    if (loop.size == Extent(1)) continue;
    if (!result.empty()) {
      CopySpec::Loop& outer = result.back();
      auto size = product(outer.size, loop.size);
      auto in = product(loop.size, loop.in_stride), out = product(loop.size, loop.out_stride);
      if (size && in && out && outer.in_stride == *in && outer.out_stride == *out) {
        outer = {*size, loop.in_stride, loop.out_stride};
        continue;
      }
    }
    result.push_back(loop);
  }
  if (result.empty()) result.push_back({1, 1, 1});
  return result;
}

class Copy {
 public:
  Copy(Emitter& e, const CopySpec& spec) : e_(e), spec_(spec), loops_(simplified(spec.loops)) {}
  KernelUse build();

 private:
  struct Offsets {
    Value in, out;
  };
  Offsets step(Offsets at, size_t loop, Value index) {
    return {e_.add(at.in, e_.multiply(index, e_.size(loops_[loop].in_stride))),
            e_.add(at.out, e_.multiply(index, e_.size(loops_[loop].out_stride)))};
  }
  void element(Offsets at) { e_.write(e_.buffer(1), at.out, e_.read(e_.buffer(0), at.in)); }
  /// The last loop, and with `transposed` that one too, in tiles, over [low, high) of it.
  void inner(Offsets at, Value low, Value high);
  Value tile_end(Value first, Value end) {
    return e_.builder.create<arith::MinUIOp>(e_.loc, e_.add(first, e_.constant(tile)), end);
  }

  static constexpr int64_t tile = 32;  // 32 cache lines of either layout stay in the L1 cache
  static constexpr size_t none = ~size_t{0};
  Emitter& e_;
  const CopySpec& spec_;
  std::vector<CopySpec::Loop> loops_;
  size_t transposed_ = none;  ///< the loop that is contiguous in x, if that is not the last
};

void Copy::inner(Offsets at, Value low, Value high) {
  size_t last = loops_.size() - 1;
  if (transposed_ == none) {
    e_.parallel(low, high, [&](Value i) { element(step(at, last, i)); });
    return;
  }
  Value columns = e_.size(loops_[last].size);
  e_.sequential(low, high, tile, [&](Value first_row) {
    e_.sequential(e_.constant(0), columns, tile, [&](Value first_column) {
      e_.parallel(first_row, tile_end(first_row, high), [&](Value i) {
        Offsets row = step(at, transposed_, i);
        e_.parallel(first_column, tile_end(first_column, columns),
                    [&](Value j) { element(step(row, last, j)); });
      });
    });
  });
}

KernelUse Copy::build() {
  size_t last = loops_.size() - 1;
  if (!(loops_[last].in_stride == Extent(1)))
    for (size_t i = 0; i < last; ++i)
      if (loops_[i].in_stride == Extent(1)) transposed_ = i;

  e_.add_buffer(dtype_of_width(spec_.dtype));
  e_.add_buffer(dtype_of_width(spec_.dtype));
  e_.start();
  std::vector<size_t> outer;  // those that are neither last nor transposed
  std::vector<Loop> outer_loops;
  for (size_t i = 0; i < last; ++i) {
    if (i == transposed_) continue;
    outer.push_back(i);
    outer_loops.push_back({loops_[i].size, {}});
  }
  const Extent& inner_size = loops_[transposed_ == none ? last : transposed_].size;
  Offsets start{e_.size(spec_.in_offset), e_.size(spec_.out_offset)};
  KernelUse use;
  int64_t cost = transposed_ == none ? 1 : 2 * typical_size(loops_[last].size);
  if (outer.empty()) {
    use.work = inner_size;
    inner(start, e_.begin(), e_.end());
  } else {
    Prefix prefix = linear_prefix(outer_loops, outer.size());
    use.work = prefix.size;
    cost *= typical_size(inner_size) * typical_size(outer_loops, prefix.loops);
    e_.parallel(e_.begin(), e_.end(), [&](Value flat) {
      Emitter::Values indices = e_.decompose(flat, outer_loops, prefix.loops);
      Offsets at = start;
      for (size_t i = 0; i < prefix.loops; ++i) at = step(at, outer[i], indices[i]);
      std::function<void(size_t, Offsets)> rest = [&](size_t level, Offsets here) {
        if (level == outer.size()) return inner(here, e_.constant(0), e_.size(inner_size));
        e_.parallel(e_.constant(0), e_.size(outer_loops[level].size),
                    [&](Value i) { rest(level + 1, step(here, outer[level], i)); });
      };
      rest(prefix.loops, at);
    });
  }
  use.grain = grain_for(cost);
  return use;
}

/// Row-major strides; an error where one is not linear.
Result<std::vector<Extent>> strides_of(const std::string& what, const Shape& shape) {
  std::vector<Extent> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) {
    auto next = product(strides[i], shape[i]);
    if (!next)
      return Error(what + ": a stride of " + to_string(strides[i]) + " times " + to_string(shape[i]) +
                   " is not linear");
    strides[i - 1] = *next;
  }
  return strides;
}

}  // namespace

Result<KernelUse> build(Emitter& emitter, const CopySpec& spec) { return Copy(emitter, spec).build(); }

Result<CopySpec> permute_copy(DType dtype, const Shape& x, const std::vector<int64_t>& dims) {
  CopySpec spec{
      .name = "permute", .description = {}, .dtype = dtype, .loops = {}, .in_offset = {}, .out_offset = {}};
  Shape y;
  std::vector<size_t> from;
  for (int64_t d : dims) {
    auto dim = checked_dim("permute", d, x.size());
    if (!dim) return dim.error();
    if (llvm::is_contained(from, static_cast<size_t>(*dim)))
      return Error("permute: dimension " + std::to_string(d) + " stands twice");
    from.push_back(static_cast<size_t>(*dim));
    y.push_back(x[from.back()]);
  }
  if (from.size() != x.size())
    return Error("permute: " + std::to_string(dims.size()) + " dimensions given for rank " +
                 std::to_string(x.size()));
  auto in = strides_of("permute", x), out = strides_of("permute", y);
  if (!in) return in.error();
  if (!out) return out.error();
  for (size_t i = 0; i < y.size(); ++i) spec.loops.push_back({y[i], (*in)[from[i]], (*out)[i]});
  return spec;
}

Result<CopySpec> slice_copy(DType dtype, const Shape& x, int64_t dim, const Extent& start,
                            const Extent& count, int64_t step) {
  auto d = checked_dim("slice", dim, x.size());
  if (!d) return d.error();
  if (step < 1) return Error("slice: the step must be positive");
  Shape y = x;
  y[static_cast<size_t>(*d)] = count;
  auto in = strides_of("slice", x), out = strides_of("slice", y);
  if (!in) return in.error();
  if (!out) return out.error();
  auto offset = product(start, (*in)[static_cast<size_t>(*d)]);
  if (!offset) return Error("slice: the offset is not linear");
  CopySpec spec{.name = "slice",
                .description = {},
                .dtype = dtype,
                .loops = {},
                .in_offset = *offset,
                .out_offset = {}};
  for (size_t i = 0; i < y.size(); ++i)
    spec.loops.push_back({y[i], i == static_cast<size_t>(*d) ? (*in)[i] * step : (*in)[i], (*out)[i]});
  return spec;
}

Result<CopySpec> select_copy(DType dtype, const Shape& x, int64_t dim, int64_t index) {
  auto d = checked_dim("select", dim, x.size());
  if (!d) return d.error();
  const Extent& size = x[static_cast<size_t>(*d)];
  if (size.is_static()) {
    if (index < -size.constant || index >= size.constant)
      return Error("select: index " + std::to_string(index) + " is outside a dimension of " +
                   to_string(size));
    return slice_copy(dtype, x, *d, index < 0 ? index + size.constant : index, 1);
  }
  return slice_copy(dtype, x, *d, index < 0 ? size + Extent(index) : Extent(index), 1);
}

}  // namespace sheaf::kernels
