#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

namespace sheaf::kernels {

using namespace mlir;

namespace {

/// x viewed as outer × n × inner loops, summed over n. Each part may be several loops if operands of the prologue are broadcast
/// along only some of its dimensions.
class Mean {
 public:
  Mean(Emitter& e, const MeanSpec& spec) : e_(e), spec_(spec), prologue_(e, spec.prologue), epilogue_(e, spec.epilogue) {}
  Result<KernelUse> build();

 private:
  Result<void> find_loops();
  bool is_reduced(size_t loop) const { return loop >= outer_ && loop < inner_; }

  Value load(llvm::ArrayRef<Value> at) {
    Value x = e_.load(x_, e_.offset(0, loops_, at));
    Emitter::Values indices;  // by dimension, if it has a loop
    if (!spec_.prologue.coordinates.empty())
      for (size_t loop : loop_of_) indices.push_back(at[loop]);
    x = prologue_.apply(x, [&](size_t i) { return e_.offset(1 + i, loops_, at); }, indices);
    return spec_.take == Reduction::minimum ? e_.builder.create<arith::NegFOp>(e_.loc, x).getResult() : x;
  }
  /// A minimum is the negated maximum of the negated values.
  bool is_extremum() const { return spec_.take == Reduction::maximum || spec_.take == Reduction::minimum; }
  Combine combine() const { return is_extremum() ? Combine::maximum : Combine::sum; }
  /// Stores the result for a sum. `at` covers all loops; those of n are ignored.
  void store(llvm::ArrayRef<Value> at, Value sum) {
    Type type = sum.getType();
    if (spec_.take == Reduction::minimum) sum = e_.builder.create<arith::NegFOp>(e_.loc, sum);
    if (spec_.take == Reduction::mean) {
      Value count = e_.constant(1);
      for (size_t i = outer_; i < inner_; ++i) count = e_.multiply(count, e_.size(loops_[i].size));
      Value wide = e_.builder.create<arith::IndexCastOp>(e_.loc, e_.builder.getI64Type(), count);
      sum = e_.builder.create<arith::DivFOp>(e_.loc, sum, e_.builder.create<arith::UIToFPOp>(e_.loc, type, wide));
    }
    if (type.isF64()) sum = e_.builder.create<arith::TruncFOp>(e_.loc, e_.builder.getF32Type(), sum);
    Value offset = e_.offset(1 + spec_.prologue.operands.size(), loops_, at);
    e_.store(y_, offset, epilogue_.apply(sum, [&](size_t) { return offset; }));
  }
  Value widened(Value value) { return e_.builder.create<arith::ExtFOp>(e_.loc, e_.builder.getF64Type(), value); }

  Value row_sum(Emitter::Values& at, size_t level);
  Value flat_sum(Emitter::Values& at, bool accurate);
  void columns(Emitter::Values& at, Value low, Value high);
  KernelUse by_elements(Emitter::Values& at, llvm::ArrayRef<size_t> free, const std::vector<Loop>& free_loops, bool by_rows);
  void add_rows(Emitter::Values& at, size_t level, llvm::function_ref<void()> body);

  Emitter& e_;
  const MeanSpec& spec_;
  FusedBody prologue_, epilogue_;
  std::vector<Loop> loops_;       ///< of the operands x, the prologue's, y
  std::vector<size_t> loop_of_;   ///< with coordinates: the loop of each dimension
  size_t outer_ = 0, inner_ = 0;  ///< n is loops [outer_, inner_)
  int x_ = 0, y_ = 0;
};

Result<void> Mean::find_loops() {
  const Shape& shape = spec_.x.shape;
  SHEAF_ASSIGN(auto dim, checked_dim(spec_.name, spec_.dim, shape.size()));
  size_t first = static_cast<size_t>(dim), last = first + static_cast<size_t>(spec_.dims);
  if (spec_.dims < 1 || last > shape.size()) return Error(spec_.name + ": the dimensions reach beyond the tensor's");
  Shape result(shape.begin(), shape.begin() + static_cast<int64_t>(first)), kept = shape;
  result.insert(result.end(), shape.begin() + static_cast<int64_t>(last), shape.end());
  for (size_t i = first; i < last; ++i) kept[i] = 1;
  // Kept dimensions of size 1 work as well: the elements are the same.
  if (!check_same_shape(spec_.name, spec_.epilogue, kept)) SHEAF_TRY(check_same_shape(spec_.name, spec_.epilogue, result));

  std::vector<Shape> operands{shape};
  for (const Operand& operand : spec_.prologue.operands) operands.push_back(operand.shape);
  operands.push_back(kept);
  const bool knows_place = !spec_.prologue.coordinates.empty();
  if (knows_place && spec_.prologue.coordinates.size() != shape.size())
    return Error(spec_.name + ": coordinates must be as many as the dimensions");
  // A part without dimensions still has one loop, which stands for none.
  for (size_t d = 0; d < shape.size(); ++d) loop_of_.push_back(d + (first == 0));
  auto loops_over = [&](size_t from, size_t to) { return (knows_place ? separate : collapse)(shape, operands, from, to); };
  auto outer = loops_over(0, first), n = loops_over(first, last), inner = loops_over(last, shape.size());
  for (auto* part : {&outer, &n, &inner}) {
    if (!*part) return Error(spec_.name + ": " + part->error().message());
    loops_.insert(loops_.end(), (*part)->begin(), (*part)->end());
  }
  outer_ = outer->size();
  inner_ = outer_ + n->size();
  for (size_t i = outer_; i < inner_; ++i) loops_[i].moves.back() = false;  // y has it even if the loop's size is 1
  return {};
}

/// The sum over the loops of n from `level` on, as f32; over several loops it is taken in f64.
Value Mean::row_sum(Emitter::Values& at, size_t level) {
  auto term = [&](Value i) {
    at[level] = i;
    return level + 1 == inner_ ? load(at) : row_sum(at, level + 1);
  };
  if (is_extremum())
    return e_.reduce(combine(), e_.constant(0), e_.size(loops_[level].size), {e_.builder.getF32Type()},
                     [&](Value i) { return Emitter::Values{term(i)}; })[0];
  if (level + 1 == inner_) return e_.accurate_sums(loops_[level].size, 1, [&](Value i) { return Emitter::Values{term(i)}; })[0];
  Value total = e_.reduce(Combine::sum, e_.constant(0), e_.size(loops_[level].size), {e_.builder.getF64Type()},
                          [&](Value i) { return Emitter::Values{widened(term(i))}; })[0];
  return e_.builder.create<arith::TruncFOp>(e_.loc, e_.builder.getF32Type(), total);
}

/// The same over all of them as one loop, which a GPU's threads share.
Value Mean::flat_sum(Emitter::Values& at, bool accurate) {
  const std::vector<Loop> loops(loops_.begin() + static_cast<int64_t>(outer_), loops_.begin() + static_cast<int64_t>(inner_));
  Value count = e_.constant(1);
  for (const Loop& loop : loops) count = e_.multiply(count, e_.size(loop.size));
  accurate &= !is_extremum();
  Type type = accurate ? Type(e_.builder.getF64Type()) : e_.builder.getF32Type();
  return e_.reduce(combine(), e_.constant(0), count, {type}, [&](Value flat) {
    Emitter::Values indices = e_.decompose(flat, loops, loops.size());
    llvm::copy(indices, at.begin() + outer_);
    Value value = load(at);
    return Emitter::Values{accurate ? widened(value) : value};
  })[0];
}

void Mean::add_rows(Emitter::Values& at, size_t level, llvm::function_ref<void()> body) {
  if (level == inner_) return body();
  e_.sequential(e_.constant(0), e_.size(loops_[level].size), 1, [&](Value i) {
    at[level] = i;
    add_rows(at, level + 1, body);
  });
}

/// Columns [low, high) of the last loop: tiles of neighbouring ones, vectorised along them, with sums in f64.
void Mean::columns(Emitter::Values& at, Value low, Value high) {
  constexpr int64_t tile = 512;  // 4 KiB of sums stay in the L1 cache
  Value sums = e_.scratch(tile, e_.builder.getF64Type());
  e_.sequential(low, high, tile, [&](Value start) {
    Value width =
        e_.builder.create<arith::MinUIOp>(e_.loc, e_.constant(tile), e_.builder.create<arith::SubIOp>(e_.loc, high, start));
    auto each = [&](llvm::function_ref<void(Value)> body) {
      e_.parallel(e_.constant(0), width, [&](Value j) {
        at.back() = e_.add(start, j);
        body(j);
      });
    };
    Value none = e_.builder.create<arith::ConstantOp>(
        e_.loc, e_.builder.getF64FloatAttr(is_extremum() ? -std::numeric_limits<double>::infinity() : 0));
    auto with = [&](Value so_far, Value value) -> Value {
      if (is_extremum()) return e_.builder.create<arith::MaximumFOp>(e_.loc, so_far, value);
      return e_.builder.create<arith::AddFOp>(e_.loc, so_far, value);
    };
    each([&](Value j) { e_.write(sums, j, none); });
    add_rows(at, outer_, [&] { each([&](Value j) { e_.write(sums, j, with(e_.read(sums, j), widened(load(at)))); }); });
    each([&](Value j) { store(at, e_.read(sums, j)); });
  });
}

/// Each element of y separately, for a GPU.
KernelUse Mean::by_elements(Emitter::Values& at, llvm::ArrayRef<size_t> free, const std::vector<Loop>& free_loops,
                            bool by_rows) {
  std::vector<Loop> summed(loops_.begin() + static_cast<int64_t>(outer_), loops_.begin() + static_cast<int64_t>(inner_));
  const Prefix prefix = linear_prefix(free_loops, free.size()), count = linear_prefix(summed, summed.size());
  const bool few = count.loops == summed.size() && count.size.is_static() && count.size.constant <= 4096;
  const Extent typical = typical_size(summed, 0);
  const Extent& size = count.loops == summed.size() ? count.size : typical;
  const bool whole = prefix.loops == free.size();
  e_.set_schedule(!whole ? gpu_rows(free_loops.back().size) : by_rows ? gpu_rows(size) : gpu_columns(prefix.size, size));
  e_.parallel(e_.begin(), e_.end(), [&](Value flat) {
    Emitter::Values indices = e_.decompose(flat, free_loops, prefix.loops);
    for (size_t i = 0; i < prefix.loops; ++i) at[free[i]] = indices[i];
    std::function<void(size_t)> rest = [&](size_t level) {
      if (level == free.size()) return store(at, flat_sum(at, !(by_rows && few)));
      e_.parallel(e_.constant(0), e_.size(free_loops[level].size), [&](Value i) {
        at[free[level]] = i;
        rest(level + 1);
      });
    };
    rest(prefix.loops);
  });
  KernelUse use;
  use.work = prefix.size;
  return use;
}

Result<KernelUse> Mean::build() {
  const DType x = spec_.x.dtype;
  if (!spec_.prologue.body && (x == DType::int64 || x == DType::int32 || x == DType::uint8 || x == DType::boolean))
    return Error(spec_.name + ": integers are summed as floats, which needs a cast fused into it");
  SHEAF_TRY(find_loops());
  x_ = e_.add_buffer(spec_.x.dtype);
  prologue_.add_buffers();
  epilogue_.add_buffers();
  y_ = e_.add_buffer(spec_.output);
  e_.start();

  const size_t last = loops_.size() - 1;
  const bool by_rows = inner_ == last && loops_[last].size == Extent(1);
  // The loops that are neither summed nor vectorised along: the outer ones, and all inner ones but the last.
  std::vector<size_t> free;
  std::vector<Loop> free_loops;
  for (size_t i = 0; i < last; ++i)
    if (!is_reduced(i)) {
      free.push_back(i);
      free_loops.push_back(loops_[i]);
    }
  Emitter::Values at(loops_.size());
  for (Value& index : at) index = e_.constant(0);
  KernelUse use;
  if (e_.for_gpu()) {
    free.push_back(last);
    free_loops.push_back(loops_[last]);
    return by_elements(at, free, free_loops, by_rows);
  }
  Prefix prefix = linear_prefix(free_loops, free.size());
  if (!by_rows && prefix.loops == free.size() && prefix.size == Extent(1)) {
    // Sums of columns, as for a bias's gradient: the columns are shared out, each thread taking a cache line or more.
    columns(at, e_.begin(), e_.end());
    use.work = loops_[last].size;
    use.grain = std::max<int64_t>(16, grain_for(typical_size(loops_, outer_) / typical_size(loops_[last].size) * e_.cost()));
    return use;
  }
  e_.parallel(e_.begin(), e_.end(), [&](Value flat) {
    Emitter::Values indices = e_.decompose(flat, free_loops, prefix.loops);
    for (size_t i = 0; i < prefix.loops; ++i) at[free[i]] = indices[i];
    std::function<void(size_t)> rest = [&](size_t level) {
      if (level < free.size()) {
        e_.parallel(e_.constant(0), e_.size(free_loops[level].size), [&](Value i) {
          at[free[level]] = i;
          rest(level + 1);
        });
      } else if (by_rows) {
        store(at, row_sum(at, outer_));
      } else {
        columns(at, e_.constant(0), e_.size(loops_[last].size));
      }
    };
    rest(prefix.loops);
  });
  int64_t cost = e_.cost() * typical_size(free_loops, prefix.loops) * typical_size(loops_[last].size);
  for (size_t i = outer_; i < inner_; ++i) cost *= typical_size(loops_[i].size);
  use.work = prefix.size;
  use.grain = grain_for(cost);
  return use;
}

}  // namespace

Result<KernelUse> build(Emitter& emitter, const MeanSpec& spec) { return Mean(emitter, spec).build(); }

}  // namespace sheaf::kernels
