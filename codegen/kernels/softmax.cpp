#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

namespace sheaf::kernels {

using namespace mlir;

namespace {

/// x viewed as outer × n × inner, with n the dimension of the softmax, and the computation at one (outer, n, inner).
class Softmax {
 public:
  Softmax(Emitter& e, const SoftmaxSpec& spec) : e_(e), spec_(spec), prologue_(e, spec.prologue), epilogue_(e, spec.epilogue) {}
  Result<KernelUse> build();

 private:
  struct Position {
    llvm::ArrayRef<Value> outer;
    Value flat, n, inner;
  };

  Value offset(size_t operand, const Position& at) {
    Emitter::Values indices(at.outer);
    indices.push_back(at.n);
    if (inner_) indices.push_back(at.inner);
    return e_.offset(operand, loops_, indices, at.flat, outer_);
  }
  Value load(const Position& at) {
    Value x = e_.load(x_, offset(0, at));
    return prologue_.apply(x, [&](size_t i) { return offset(1 + i, at); });
  }
  void store(const Position& at, Value y) {
    size_t first = 1 + spec_.prologue.operands.size();
    y = epilogue_.apply(y, [&](size_t i) { return offset(first + i, at); });
    e_.store(y_, offset(0, at), y);
  }
  /// a - b, protected from reassociation: as x - (max + log sum) it would round at max's size.
  Value subtract(Value a, Value b) { return e_.builder.create<arith::SubFOp>(e_.loc, a, b, arith::FastMathFlags::contract); }
  Value where_equal(Value x, Value to, Value then, Value otherwise) {
    Value equal = e_.builder.create<arith::CmpFOp>(e_.loc, arith::CmpFPredicate::OEQ, x, to, arith::FastMathFlags::none);
    return e_.builder.create<arith::SelectOp>(e_.loc, equal, then, otherwise);
  }
  Value lowest() {
    return e_.builder.create<arith::ConstantOp>(e_.loc, e_.builder.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  }
  Value exp(Value x) { return e_.builder.create<math::ExpOp>(e_.loc, x); }
  /// The value the second pass over the elements uses: log Σ, or 1 / Σ.
  Value finish_sum(Value sum) {
    if (spec_.log) return e_.builder.create<math::LogOp>(e_.loc, sum);
    Value factor = e_.builder.create<arith::DivFOp>(e_.loc, e_.f32(1), sum);
    return spec_.masked ? where_equal(sum, e_.f32(0), e_.f32(0), factor) : factor;
  }
  /// The second pass: y from what the first one left (x - max to be computed again, or e^(x - max) in y).
  void finish(const Position& at, Value max, Value factor) {
    if (spec_.log) return store(at, subtract(subtract(load(at), max), factor));
    Value e = e_.load(y_, offset(0, at));
    store(at, e_.builder.create<arith::MulFOp>(e_.loc, e, factor));
  }
  /// e^(x - max); softmax keeps it in y, log_softmax needs only the sum.
  Value exponential(const Position& at, Value max) {
    // -∞ less -∞ would be NaN; for a row of nothing else, the intended value is e^(-∞ - 0).
    if (spec_.masked) max = where_equal(max, lowest(), e_.f32(0), max);
    Value value = exp(subtract(load(at), max));
    if (!spec_.log) e_.store(y_, offset(0, at), value);
    return value;
  }

  void rows(Position at);
  void columns(Position at);

  Emitter& e_;
  const SoftmaxSpec& spec_;
  FusedBody prologue_, epilogue_;
  std::vector<Loop> loops_;  ///< the outer ones, n, and inner if there is one
  size_t outer_ = 0;
  bool inner_ = false;
  Extent n_, inner_size_ = 1;
  int x_ = 0, y_ = 0;
};

/// One row, vectorised along it if inner = 1. On a GPU a column works as well.
void Softmax::rows(Position at) {
  Type f32 = e_.builder.getF32Type();
  Value zero = e_.constant(0), n = e_.size(n_);
  auto with = [&](Value i) {
    at.n = i;
    return at;
  };
  Value max = e_.reduce(Combine::maximum, zero, n, {f32}, [&](Value i) { return Emitter::Values{load(with(i))}; })[0];
  Value sum = e_.reduce(Combine::sum, zero, n, {f32}, [&](Value i) { return Emitter::Values{exponential(with(i), max)}; })[0];
  Value factor = finish_sum(sum);
  e_.parallel(zero, n, [&](Value i) { finish(with(i), max, factor); });
}

/// inner > 1: tiles of neighbouring columns, vectorised along inner.
void Softmax::columns(Position at) {
  constexpr int64_t tile = 64;
  Type f32 = e_.builder.getF32Type();
  Value maxima = e_.scratch(tile, f32), sums = e_.scratch(tile, f32);
  Value zero = e_.constant(0), n = e_.size(n_), inner = e_.size(inner_size_);
  e_.sequential(zero, inner, tile, [&](Value first) {
    Value width = e_.builder.createOrFold<arith::MinUIOp>(e_.loc, e_.constant(tile),
                                                          e_.builder.createOrFold<arith::SubIOp>(e_.loc, inner, first));
    if (inner_size_.is_static() && inner_size_.constant <= tile) width = inner;
    auto each = [&](llvm::function_ref<void(Value)> body) {
      e_.parallel(zero, width, [&](Value j) {
        at.inner = e_.add(first, j);
        body(j);
      });
    };
    auto each_row = [&](llvm::function_ref<void(Value)> body) {
      e_.sequential(zero, n, 1, [&](Value i) {
        at.n = i;
        each(body);
      });
    };
    each([&](Value j) {
      e_.write(maxima, j, lowest());
      e_.write(sums, j, e_.f32(0));
    });
    each_row([&](Value j) { e_.write(maxima, j, e_.builder.create<arith::MaximumFOp>(e_.loc, e_.read(maxima, j), load(at))); });
    each_row([&](Value j) {
      Value part = exponential(at, e_.read(maxima, j));
      e_.write(sums, j, e_.builder.create<arith::AddFOp>(e_.loc, e_.read(sums, j), part));
    });
    each([&](Value j) { e_.write(sums, j, finish_sum(e_.read(sums, j))); });
    each_row([&](Value j) { finish(at, e_.read(maxima, j), e_.read(sums, j)); });
  });
}

Result<KernelUse> Softmax::build() {
  const Shape& shape = spec_.x.shape;
  SHEAF_ASSIGN(auto dim, checked_dim(spec_.name, spec_.dim, shape.size()));
  std::vector<Shape> operands{shape};
  for (const Fusion* fusion : {&spec_.prologue, &spec_.epilogue}) {
    if (!fusion->coordinates.empty()) return Error(spec_.name + ": ops fused into it cannot know their position");
    for (const Operand& operand : fusion->operands) operands.push_back(operand.shape);
  }
  size_t d = static_cast<size_t>(dim);
  auto outer = collapse(shape, operands, 0, d);
  auto n = collapse(shape, operands, d, d + 1);
  auto inner = collapse(shape, operands, d + 1, shape.size());
  for (auto* part : {&outer, &n, &inner})
    if (!*part) return Error(spec_.name + ": " + part->error().message());
  outer_ = outer->size();
  Prefix work = linear_prefix(*outer, outer_);
  if (work.loops != outer_ || inner->size() != 1)
    return Error(spec_.name + ": sizes before or after the dimension have no linear product");
  loops_ = *outer;
  loops_.push_back((*n)[0]);
  n_ = (*n)[0].size;
  inner_size_ = (*inner)[0].size;
  inner_ = !(inner_size_ == Extent(1));
  if (inner_) loops_.push_back((*inner)[0]);

  x_ = e_.add_buffer(spec_.x.dtype);
  prologue_.add_buffers();
  epilogue_.add_buffers();
  y_ = e_.add_buffer(DType::float32);
  e_.start();
  KernelUse use;
  // In row order each element is read for the last time before it is written. Columns share scratch memory, so their loops do
  // have dependences, which in-place kernels are declared not to have.
  if (!inner_ && spec_.x.dtype == DType::float32) {
    e_.allow_in_place(x_, y_);
    use.in_place.emplace_back(0, 0);
  }
  // On a GPU a column is an item of the range, or of a loop inside an item if there is no linear product.
  const auto items = inner_ && e_.for_gpu() ? product(work.size, inner_size_) : std::nullopt;
  e_.set_schedule(items ? gpu_columns(*items, n_) : gpu_rows(inner_ ? inner_size_ : n_));
  e_.parallel(e_.begin(), e_.end(), [&](Value flat) {
    Value column;
    if (items) {
      column = e_.builder.create<arith::RemUIOp>(e_.loc, flat, e_.size(inner_size_));
      flat = e_.builder.create<arith::DivUIOp>(e_.loc, flat, e_.size(inner_size_));
    }
    Emitter::Values indices = e_.decompose(flat, loops_, outer_);
    Position at{indices, flat, {}, column};
    if (!inner_ || items) return rows(at);
    if (!e_.for_gpu()) return columns(at);
    e_.parallel(e_.constant(0), e_.size(inner_size_), [&](Value j) {
      at.inner = j;
      rows(at);
    });
  });
  use.work = items ? *items : work.size;
  use.grain = grain_for(typical_size(loops_, outer_) * e_.cost());
  return use;
}

}  // namespace

Result<KernelUse> build(Emitter& emitter, const SoftmaxSpec& spec) { return Softmax(emitter, spec).build(); }

}  // namespace sheaf::kernels
