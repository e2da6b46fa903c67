// Connectionist temporal classification (Graves et al., 2006), forwards and backwards in logarithms: an item for each row. The
// states of a row are its labels with a blank before, between and after them.
#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

namespace sheaf::kernels {

using namespace mlir;

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Buffers {
  int x, targets, steps, labels, alphas;
};

/// What the two directions share: the row's sizes, and the log probabilities of its states.
class Row {
 public:
  Row(Emitter& e, const CtcSpec& spec, const Buffers& buffers, Value row)
      : e_(e), b_(e.builder), spec_(spec), buffers_(buffers), row_(row) {
    Value all = e.size(spec.x.shape[0]), most = e.constant(spec.labels);
    Value given = length(buffers.steps), labels = length(buffers.labels);
    wrong_ = either(compare(arith::CmpIPredicate::ugt, given, all), compare(arith::CmpIPredicate::ugt, labels, most));
    steps = choose(wrong_, e.constant(0), given);
    count = choose(wrong_, e.constant(0), labels);
    states = e.add(e.add(count, count), e.constant(1));
  }

  Value steps, count, states;

  Value compare(arith::CmpIPredicate predicate, Value a, Value b) { return b_.create<arith::CmpIOp>(e_.loc, predicate, a, b); }
  Value below(Value a, Value b) { return compare(arith::CmpIPredicate::slt, a, b); }
  Value choose(Value condition, Value then, Value otherwise) {
    return b_.create<arith::SelectOp>(e_.loc, condition, then, otherwise);
  }
  Value either(Value a, Value b) { return b_.create<arith::OrIOp>(e_.loc, a, b); }
  Value both(Value a, Value b) { return b_.create<arith::AndIOp>(e_.loc, a, b); }
  Value plus(Value a, Value b) { return b_.create<arith::AddFOp>(e_.loc, a, b); }
  Value minus(Value a, Value b) { return b_.create<arith::SubFOp>(e_.loc, a, b); }
  Value times(Value a, Value b) { return b_.create<arith::MulFOp>(e_.loc, a, b); }
  Value exp(Value x) { return b_.create<math::ExpOp>(e_.loc, x); }
  Value is(Value x, double number) { return b_.create<arith::CmpFOp>(e_.loc, arith::CmpFPredicate::OEQ, x, e_.f32(number)); }
  Value down(Value i, int64_t by) {
    Value lower = b_.create<arith::SubIOp>(e_.loc, i, e_.constant(by));
    return b_.create<arith::MaxSIOp>(e_.loc, lower, e_.constant(0));
  }

  /// log(e^a + e^b + e^c).
  Value log_sum(Value a, Value b, Value c) {
    Value most = b_.create<arith::MaximumFOp>(e_.loc, b_.create<arith::MaximumFOp>(e_.loc, a, b), c);
    Value base = choose(is(most, kNever), e_.f32(0), most);
    Value sum = plus(plus(exp(minus(a, base)), exp(minus(b, base))), exp(minus(c, base)));
    return plus(b_.create<math::LogOp>(e_.loc, sum), base);
  }

  /// The class of a state, as an index. A label that isn't a class counts as class 0, with NaN as its log probability.
  Value label(Value state) { return choose(good(state), any_label(state), e_.constant(0)); }
  Value differ(Value state, Value other) { return compare(arith::CmpIPredicate::ne, any_label(state), any_label(other)); }
  Value place(Value step, Value of_class) {
    Value row = e_.add(e_.multiply(step, e_.size(spec_.x.shape[1])), row_);
    return e_.add(e_.multiply(row, e_.size(spec_.x.shape[2])), of_class);
  }
  Value log_probability(Value step, Value state) {
    return choose(good(state), e_.load(buffers_.x, place(step, label(state))), e_.f32(std::nan("")));
  }
  Value alpha_place(Value step, Value state) {
    Value row = e_.add(e_.multiply(row_, e_.size(spec_.x.shape[0])), step);
    return e_.add(e_.multiply(row, e_.constant(2 * spec_.labels + 1)), state);
  }
  Value alpha(Value step, Value state) { return e_.load(buffers_.alphas, alpha_place(step, state)); }

  /// The loss, from the last step's alphas. Without steps, only an empty target is possible.
  Value negative_log_likelihood() {
    Value last = down(steps, 1), zero = e_.constant(0), has_labels = below(zero, count);
    Value end = alpha(last, down(states, 1)), before = choose(has_labels, alpha(last, down(states, 2)), e_.f32(kNever));
    Value found = b_.create<arith::NegFOp>(e_.loc, log_sum(end, before, e_.f32(kNever)));
    Value without = choose(has_labels, e_.f32(-kNever), e_.f32(0));
    found = choose(below(zero, steps), found, without);
    return choose(wrong_, e_.f32(std::nan("")), found);
  }
  /// The factor of the row's loss in a mean: 1 / the number of its labels, taken to be at least one.
  Value factor() {
    if (!spec_.by_length) return e_.f32(1);
    Value least = b_.create<arith::MaxSIOp>(e_.loc, count, e_.constant(1));
    return b_.create<arith::DivFOp>(e_.loc, e_.f32(1), e_.to_f32(least));
  }

 private:
  Value integer(int buffer, Value at) {
    Value value = e_.load(buffer, at);
    return b_.create<arith::IndexCastOp>(e_.loc, b_.getIndexType(), value);
  }
  Value length(int buffer) { return integer(buffer, row_); }
  Value any_label(Value state) {
    Value half = b_.create<arith::DivUIOp>(e_.loc, state, e_.constant(2));
    Value at = b_.create<arith::MinSIOp>(e_.loc, half, e_.constant(spec_.labels - 1));
    Value target = integer(buffers_.targets, e_.add(e_.multiply(row_, e_.constant(spec_.labels)), at));
    Value odd = compare(arith::CmpIPredicate::ne, e_.add(half, half), state);
    return choose(odd, target, e_.constant(spec_.blank));
  }
  Value good(Value state) { return compare(arith::CmpIPredicate::ult, any_label(state), e_.size(spec_.x.shape[2])); }

  Emitter& e_;
  OpBuilder& b_;
  const CtcSpec& spec_;
  Buffers buffers_;
  Value row_, wrong_;
};

/// alphas[t, s]: all ways to be in state s after step t.
void forwards(Emitter& e, const CtcSpec& spec, const Buffers& buffers, int losses, Value item) {
  Row row(e, spec, buffers, item);
  Value zero = e.constant(0), one = e.constant(1), two = e.constant(2), never = e.f32(kNever);
  Value every = e.constant(2 * spec.labels + 1);
  auto reached_at = [&](Value t) { return row.choose(row.below(t, row.steps), row.states, zero); };
  auto store = [&](Value t, Value s, Value ways) { e.store(buffers.alphas, row.alpha_place(t, s), ways); };
  // A path begins with the first blank or the first label.
  e.sequential(zero, every, 1, [&](Value s) {
    Value ways = row.plus(row.choose(row.below(s, two), e.f32(0), never), row.log_probability(zero, s));
    store(zero, s, row.choose(row.below(s, reached_at(zero)), ways, never));
  });
  e.sequential(one, e.size(spec.x.shape[0]), 1, [&](Value t) {
    Value reached = reached_at(t), before = row.down(t, 1);
    e.sequential(zero, reached, 1, [&](Value s) {
      Value from_one = row.choose(row.below(s, one), never, row.alpha(before, row.down(s, 1)));
      Value two_back = row.down(s, 2);
      Value skips = row.both(row.below(one, s), row.differ(s, two_back));
      Value from_two = row.choose(skips, row.alpha(before, two_back), never);
      Value ways = row.log_sum(row.alpha(before, s), from_one, from_two);
      store(t, s, row.plus(ways, row.log_probability(t, s)));
    });
    e.sequential(reached, every, 1, [&](Value s) { store(t, s, never); });
  });
  Value loss = row.negative_log_likelihood();
  if (spec.zero_infinity) loss = row.choose(row.is(loss, -kNever), e.f32(0), loss);
  e.store(losses, item, row.times(loss, row.factor()));
}

/// PyTorch's gradient: that of a log-softmax's input, e^x - Σ e^(alpha + beta - x + loss) over the states of the class.
void backwards(Emitter& e, const CtcSpec& spec, const Buffers& buffers, int dy, int dx, int betas, Value item) {
  Row row(e, spec, buffers, item);
  OpBuilder& b = e.builder;
  Value zero = e.constant(0), one = e.constant(1), two = e.constant(2), never = e.f32(kNever), all = e.size(spec.x.shape[0]);
  Value loss = row.negative_log_likelihood(), g = row.times(e.load(dy, item), row.factor());
  if (spec.zero_infinity) g = row.choose(row.is(loss, -kNever), e.f32(0), g);
  auto beta_place = [&](Value s) { return e.add(e.multiply(item, e.constant(2 * spec.labels + 1)), s); };
  e.sequential(zero, e.constant(2 * spec.labels + 1), 1, [&](Value s) { e.store(betas, beta_place(s), never); });
  e.sequential(zero, all, 1, [&](Value k) {
    Value t = b.create<arith::SubIOp>(e.loc, b.create<arith::SubIOp>(e.loc, all, one), k);
    Value inside = row.below(t, row.steps), reached = row.choose(inside, row.states, zero);
    Value last = row.compare(arith::CmpIPredicate::eq, e.add(t, one), row.steps);
    e.sequential(zero, e.size(spec.x.shape[2]), 1, [&](Value c) {
      Value at = row.place(t, c);
      e.store(dx, at, row.choose(inside, row.times(g, row.exp(e.load(buffers.x, at))), e.f32(0)));
    });
    // Each state needs the values that the states after it had a step later, and is replaced only after it was read.
    e.sequential(zero, reached, 1, [&](Value s) {
      auto later = [&](Value allowed, Value state) {
        Value safe = row.choose(allowed, state, s);
        return row.choose(allowed, e.load(betas, beta_place(safe)), never);
      };
      Value next = e.add(s, one), second = e.add(s, two);
      Value has_second = row.below(second, row.states);
      Value skips = row.both(has_second, row.differ(s, row.choose(has_second, second, s)));
      Value ways = row.log_sum(e.load(betas, beta_place(s)), later(row.below(next, row.states), next), later(skips, second));
      ways = row.choose(last, row.choose(row.below(second, row.states), never, e.f32(0)), ways);
      Value x = row.log_probability(t, s), beta = row.plus(ways, x), alpha = row.alpha(t, s);
      e.store(betas, beta_place(s), beta);
      Value possible = row.plus(alpha, beta);
      Value term = row.exp(row.plus(row.minus(possible, x), loss));
      term = row.choose(row.is(possible, kNever), e.f32(0), term);
      Value at = row.place(t, row.label(s));
      e.store(dx, at, row.minus(e.load(dx, at), row.times(g, term)));
    });
  });
}

}  // namespace

Result<KernelUse> build(Emitter& e, const CtcSpec& spec) {
  if (spec.labels < 1) return Error(spec.name + ": there is no room for labels");
  const int dy = spec.backward ? e.add_buffer(DType::float32) : -1;
  Buffers buffers{};
  buffers.x = e.add_buffer(DType::float32);
  buffers.targets = e.add_buffer(spec.target);
  buffers.steps = e.add_buffer(spec.input_length);
  buffers.labels = e.add_buffer(spec.target_length);
  if (spec.backward) buffers.alphas = e.add_buffer(DType::float32);
  const int first = e.add_buffer(DType::float32), second = e.add_buffer(DType::float32);
  if (!spec.backward) buffers.alphas = second;
  e.start();
  e.parallel(e.begin(), e.end(), [&](Value item) {
    if (spec.backward) backwards(e, spec, buffers, dy, first, second, item);
    else forwards(e, spec, buffers, first, item);
  });
  KernelUse use;
  use.work = spec.x.shape[1];
  use.grain = 1;
  return use;
}

}  // namespace sheaf::kernels
