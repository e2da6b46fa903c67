// The order of the elements along a dimension: a heapsort of positions, in the output, by element and then by position. The
// result is thus that of a stable sort, and no extra memory is needed.
#include "codegen/kernels/line.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <utility>

namespace sheaf::kernels {

using namespace mlir;

namespace {

/// One line's heap: the position that comes last in the order is at the root.
class Heap {
 public:
  Heap(Emitter& e, const ArgSortSpec& spec, int x, int y, Value first, Value stride)
      : e_(e), b_(e.builder), spec_(spec), x_(x), y_(y), first_(first), stride_(stride) {}

  void sort(Value n) {
    Value zero = e_.constant(0), one = e_.constant(1), two = e_.constant(2);
    e_.sequential(zero, n, 1, [&](Value i) { put(i, b_.create<arith::IndexCastOp>(e_.loc, b_.getI64Type(), i)); });
    Value half = b_.create<arith::DivUIOp>(e_.loc, n, two);
    e_.sequential(zero, half, 1, [&](Value i) { sift(minus(minus(half, one), i), n); });
    e_.sequential(one, n, 1, [&](Value i) {
      Value end = minus(n, i), root = get(zero);
      put(zero, get(end));
      put(end, root);
      sift(zero, end);
    });
  }

 private:
  /// Moves the entry at `root` down to where no child comes after it.
  void sift(Value root, Value end) {
    auto child_of = [&](Value at) { return e_.add(e_.multiply(at, e_.constant(2)), e_.constant(1)); };
    b_.create<scf::WhileOp>(
        e_.loc, TypeRange(b_.getIndexType()), ValueRange(root),
        [&](OpBuilder& b, Location loc, ValueRange at) {
          Value inside = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, child_of(at[0]), end);
          b.create<scf::ConditionOp>(loc, inside, at);
        },
        [&](OpBuilder& b, Location loc, ValueRange at) {
          Value left = child_of(at[0]), right = e_.add(left, e_.constant(1));
          // Without a right child, the left one takes its place.
          Value exists = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, right, end);
          right = b.create<arith::SelectOp>(loc, exists, right, left);
          Value child = b.create<arith::SelectOp>(loc, after(get(right), get(left)), right, left);
          Value below = get(child), here = get(at[0]), wrong = after(below, here);
          put(at[0], b.create<arith::SelectOp>(loc, wrong, below, here));
          put(child, b.create<arith::SelectOp>(loc, wrong, here, below));
          Value next = b.create<arith::SelectOp>(loc, wrong, child, end);
          b.create<scf::YieldOp>(loc, next);
        });
  }

  /// Whether position p comes after q in the order.
  Value after(Value p, Value q) {
    Value a = element(p), b = element(q);
    if (spec_.descending) std::swap(a, b);
    Value tie = b_.create<arith::AndIOp>(e_.loc, inverse(greater(b, a)),
                                         b_.create<arith::CmpIOp>(e_.loc, arith::CmpIPredicate::sgt, p, q));
    return b_.create<arith::OrIOp>(e_.loc, greater(a, b), tie);
  }
  /// A NaN is greater than any number.
  Value greater(Value a, Value b) {
    if (is_integer(spec_.x)) return b_.create<arith::CmpIOp>(e_.loc, arith::CmpIPredicate::sgt, a, b);
    auto compare = [&](arith::CmpFPredicate predicate, Value p, Value q) -> Value {
      return b_.create<arith::CmpFOp>(e_.loc, predicate, p, q);
    };
    Value only =
        b_.create<arith::AndIOp>(e_.loc, compare(arith::CmpFPredicate::UNO, a, a), compare(arith::CmpFPredicate::ORD, b, b));
    return b_.create<arith::OrIOp>(e_.loc, only, compare(arith::CmpFPredicate::OGT, a, b));
  }
  Value inverse(Value flag) { return b_.create<arith::XOrIOp>(e_.loc, flag, b_.create<arith::ConstantIntOp>(e_.loc, 1, 1)); }
  Value minus(Value a, Value b) { return b_.create<arith::SubIOp>(e_.loc, a, b); }
  Value place(Value i) { return e_.add(first_, e_.multiply(i, stride_)); }
  Value element(Value position) {
    return e_.load(x_, place(b_.create<arith::IndexCastOp>(e_.loc, b_.getIndexType(), position)));
  }
  Value get(Value i) { return e_.load(y_, place(i)); }
  void put(Value i, Value position) { e_.store(y_, place(i), position); }

  Emitter& e_;
  OpBuilder& b_;
  const ArgSortSpec& spec_;
  int x_, y_;
  Value first_, stride_;
};

}  // namespace

Result<KernelUse> build(Emitter& e, const ArgSortSpec& spec) {
  SHEAF_ASSIGN(auto line, line_of(spec.name, spec.x.shape, spec.dim));
  const int x = e.add_buffer(spec.x.dtype), y = e.add_buffer(DType::int64);
  e.start();
  KernelUse use =
      each_line(e, line, [&](Value, Value first, Value stride) { Heap(e, spec, x, y, first, stride).sort(e.size(line.n)); });
  use.grain = grain_for(32 * typical_size(line.n));
  return use;
}

}  // namespace sheaf::kernels
