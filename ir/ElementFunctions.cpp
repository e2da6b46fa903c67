// The rows. Definitions are torch's; at kinks the derivatives are those autograd takes.
#include "ir/ElementFunctions.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/StringMap.h"

#include <numbers>

namespace sheaf::ir {

using namespace mlir;
using F = ElementFunction;
using E = scalar::Expression;
using X = ElementFunction::Operands;
using N = ElementFunction::Numbers;

namespace {

F unary(StringRef name, std::function<E(E x, N n)> of, std::function<E(E dy, E x, E y, N n)> slope) {
  F row{.name = name, .operands = 1, .of = [of](X x, N n) { return of(x[0], n); }, .slope = nullptr};
  if (slope) row.slope = [slope](unsigned, E dy, X x, E y, N n) { return slope(dy, x[0], y, n); };
  return row;
}
F binary(StringRef name, std::function<E(E a, E b)> of, std::function<E(E dy, E a, E b, E y)> slope_a,
         std::function<E(E dy, E a, E b, E y)> slope_b) {
  F row{.name = name, .operands = 2, .of = [of](X x, N) { return of(x[0], x[1]); }, .slope = nullptr};
  if (slope_a)
    row.slope = [slope_a, slope_b](unsigned operand, E dy, X x, E y, N) {
      return (operand == 0 ? slope_a : slope_b)(dy, x[0], x[1], y);
    };
  return row;
}
F comparison(StringRef name, std::function<E(E a, E b)> of) {
  F row = binary(name, of, nullptr, nullptr);
  row.takes = F::any;
  row.boolean = true;
  return row;
}
F with_numbers(unsigned count, F row) {
  row.numbers = count;
  return row;
}
F wide(F row) {
  row.wide = true;
  return row;
}
F of_integers_too(F row) {
  row.takes = F::signed_numbers;
  return row;
}
F of_anything(F row) {
  row.takes = F::any;
  return row;
}
F by_channel(F row) {
  row.by_channel = true;
  return row;
}

std::vector<F> arithmetic() {
  // When the operands of a minimum or maximum are equal, each gets half of the gradient.
  auto share = [](E dy, E wins, E ties) { return select(wins, dy, select(ties, dy * 0.5, 0)); };
  return {
      of_integers_too(binary(
          "add", [](E a, E b) { return a + b; }, [](E dy, E, E, E) { return dy; }, [](E dy, E, E, E) { return dy; })),
      of_integers_too(binary(
          "sub", [](E a, E b) { return a - b; }, [](E dy, E, E, E) { return dy; }, [](E dy, E, E, E) { return -dy; })),
      of_integers_too(binary(
          "mul", [](E a, E b) { return a * b; }, [](E dy, E, E b, E) { return dy * b; },
          [](E dy, E a, E, E) { return dy * a; })),
      wide(binary(
          "div", [](E a, E b) { return a / b; }, [](E dy, E, E b, E) { return dy / b; },
          [](E dy, E, E b, E y) { return -dy * y / b; })),
      of_integers_too(binary(
          "floor_divide", [](E a, E b) { return floored_quotient(a, b); }, nullptr, nullptr)),
      of_integers_too(binary(
          "trunc_divide", [](E a, E b) { return truncated_quotient(a, b); }, nullptr, nullptr)),
      of_integers_too(binary(
          "remainder", [](E a, E b) { return floored_rest(a, b); }, [](E dy, E, E, E) { return dy; },
          [](E dy, E a, E b, E) { return -(dy * floored_quotient(a, b)); })),
      of_integers_too(binary(
          "fmod", [](E a, E b) { return truncated_rest(a, b); }, [](E dy, E, E, E) { return dy; },
          [](E dy, E a, E b, E) { return -(dy * truncated_quotient(a, b)); })),
      of_integers_too(binary(
          "minimum", [](E a, E b) { return minimum(a, b); }, [=](E dy, E a, E b, E) { return share(dy, a < b, a == b); },
          [=](E dy, E a, E b, E) { return share(dy, b < a, a == b); })),
      of_integers_too(binary(
          "maximum", [](E a, E b) { return maximum(a, b); }, [=](E dy, E a, E b, E) { return share(dy, a > b, a == b); },
          [=](E dy, E a, E b, E) { return share(dy, b > a, a == b); })),
      wide(binary(
          "pow", [](E a, E b) { return pow(a, b); },
          [](E dy, E a, E b, E) { return select(b == 0.0, 0, dy * b * pow(a, b - 1.0)); },
          [](E dy, E a, E b, E y) { return select(a == 0.0 && b >= 0.0, 0, dy * y * log(a)); })),
      wide(with_numbers(1, unary(
                               "power", [](E x, N n) { return pow(x, n[0]); },
                               [](E dy, E x, E, N n) { return n[0] == 0 ? dy * 0.0 : dy * (pow(x, n[0] - 1) * n[0]); }))),
      of_integers_too(unary(
          "abs", [](E x, N) { return absolute(x); }, [](E dy, E x, E, N) { return dy * sign(x); })),
      // |x| to the power of p, and the p-th root of a sum of such powers: a norm whose slope at 0 is 0.
      wide(with_numbers(1, unary(
                               "power_of_size", [](E x, N n) { return pow(absolute(x), n[0]); },
                               [](E dy, E x, E, N n) {
                                 if (n[0] == 2) return dy * (x * 2.0);
                                 return dy * select(x == 0.0, 0, pow(absolute(x), n[0] - 1) * n[0] * sign(x));
                               }))),
      wide(with_numbers(1, unary(
                               "norm_root", [](E x, N n) { return pow(x, 1 / n[0]); },
                               [](E dy, E, E y, N n) { return select(y == 0.0, 0, dy * pow(y, 1 - n[0]) / n[0]); }))),
      of_integers_too(unary(
          "neg", [](E x, N) { return -x; }, [](E dy, E, E, N) { return -dy; })),
      of_anything(unary(
          "detach", [](E x, N) { return x; }, nullptr)),
      of_integers_too(unary(
          "sign", [](E x, N) { return sign(x); }, nullptr)),
      of_integers_too(with_numbers(2, unary(
                                          "clamp", [](E x, N n) { return minimum(maximum(x, n[0]), n[1]); },
                                          [](E dy, E x, E, N n) { return select(x >= n[0] && x <= n[1], dy, 0); }))),
      wide(unary(
          "reciprocal", [](E x, N) { return 1.0 / x; }, [](E dy, E, E y, N) { return -dy * y * y; })),
      unary(
          "sqrt", [](E x, N) { return sqrt(x); }, [](E dy, E, E y, N) { return dy / (y * 2.0); }),
      unary(
          "floor", [](E x, N) { return floor(x); }, nullptr),
      unary(
          "ceil", [](E x, N) { return ceil(x); }, nullptr),
      unary(
          "round", [](E x, N) { return round(x); }, nullptr),
      unary(
          "trunc", [](E x, N) { return trunc(x); }, nullptr),
  };
}

std::vector<F> transcendental() {
  return {
      wide(unary(
          "log", [](E x, N) { return log(x); }, [](E dy, E x, E, N) { return dy / x; })),
      wide(unary(
          "log1p", [](E x, N) { return log1p(x); }, [](E dy, E x, E, N) { return dy / (x + 1.0); })),
      wide(unary(
          "expm1", [](E x, N) { return expm1(x); }, [](E dy, E, E y, N) { return dy * (y + 1.0); })),
      unary(
          "sin", [](E x, N) { return sin(x); }, [](E dy, E x, E, N) { return dy * cos(x); }),
      unary(
          "cos", [](E x, N) { return cos(x); }, [](E dy, E x, E, N) { return -dy * sin(x); }),
      unary(
          "erf", [](E x, N) { return erf(x); },
          [](E dy, E x, E, N) { return dy * (2 * std::numbers::inv_sqrtpi) * exp(-(x * x)); }),
  };
}

std::vector<F> inverse_and_hyperbolic() {
  return {
      wide(unary(
          "asin", [](E x, N) { return asin(x); }, [](E dy, E x, E, N) { return dy / sqrt(1.0 - x * x); })),
      wide(unary(
          "acos", [](E x, N) { return acos(x); }, [](E dy, E x, E, N) { return -(dy / sqrt(1.0 - x * x)); })),
      unary(
          "atan", [](E x, N) { return atan(x); }, [](E dy, E x, E, N) { return dy / (x * x + 1.0); }),
      binary(
          "atan2", [](E a, E b) { return atan2(a, b); }, [](E dy, E a, E b, E) { return dy * b / (a * a + b * b); },
          [](E dy, E a, E b, E) { return -(dy * a / (a * a + b * b)); }),
      wide(unary(
          "sinh", [](E x, N) { return sinh(x); }, [](E dy, E x, E, N) { return dy * cosh(x); })),
      wide(unary(
          "cosh", [](E x, N) { return cosh(x); }, [](E dy, E x, E, N) { return dy * sinh(x); })),
      unary(
          "asinh", [](E x, N) { return asinh(x); }, [](E dy, E x, E, N) { return dy / sqrt(x * x + 1.0); }),
      unary(
          "acosh", [](E x, N) { return acosh(x); }, [](E dy, E x, E, N) { return dy / sqrt(x * x - 1.0); }),
      unary(
          "atanh", [](E x, N) { return atanh(x); }, [](E dy, E x, E, N) { return dy / (1.0 - x * x); }),
  };
}

/// tanh(log(1 + eˣ)) and 1 minus its square, without cancellation; 1 and 0 where e^2x would overflow.
struct TanhOfSoftplus {
  E value, rest;
};
TanhOfSoftplus tanh_of_softplus(E x) {
  E e = exp(x), n = e * (e + 2.0), m = n + 2.0, large = x > 20.0;
  return {select(large, 1, n / m), select(large, 0, (n + 1.0) * 4.0 / (m * m))};
}

std::vector<F> activations() {
  constexpr double selu_scale = 1.0507009873554804934193349852946, selu_alpha = 1.6732632423543772848170429916717;
  return {
      unary(
          "hardswish", [](E x, N) { return x * (minimum(maximum(x + 3.0, 0.0), 6.0) / 6.0); },
          [](E dy, E x, E, N) { return dy * select(x < -3.0, 0, select(x <= 3.0, x / 3.0 + 0.5, 1)); }),
      unary(
          "hardsigmoid", [](E x, N) { return minimum(maximum(x + 3.0, 0.0), 6.0) / 6.0; },
          [](E dy, E x, E, N) { return select(x > -3.0 && x < 3.0, dy / 6.0, 0); }),
      wide(with_numbers(2, unary(
                               "softplus", [](E x, N n) { return select(x * n[0] > n[1], x, log1p(exp(x * n[0])) / n[0]); },
                               [](E dy, E x, E, N n) { return select(x * n[0] > n[1], dy, dy * sigmoid(x * n[0])); }))),
      unary(
          "mish", [](E x, N) { return x * tanh_of_softplus(x).value; },
          [](E dy, E x, E, N) {
            TanhOfSoftplus t = tanh_of_softplus(x);
            return dy * (t.value + x * sigmoid(x) * t.rest);
          }),
      unary(
          "selu", [](E x, N) { return select(x > 0.0, x * selu_scale, expm1(minimum(x, 0.0)) * (selu_scale * selu_alpha)); },
          [](E dy, E x, E, N) { return dy * select(x > 0.0, selu_scale, exp(minimum(x, 0.0)) * (selu_scale * selu_alpha)); }),
      with_numbers(1, unary(
                          "celu", [](E x, N n) { return select(x > 0.0, x, expm1(minimum(x, 0.0) / n[0]) * n[0]); },
                          [](E dy, E x, E, N n) { return dy * select(x > 0.0, 1, exp(minimum(x, 0.0) / n[0])); })),
      unary(
          "log_sigmoid", [](E x, N) { return minimum(x, 0.0) - log1p(exp(-absolute(x))); },
          [](E dy, E x, E, N) { return dy * sigmoid(-x); }),
      unary(
          "softsign", [](E x, N) { return x / (absolute(x) + 1.0); },
          [](E dy, E x, E, N) {
            E d = absolute(x) + 1.0;
            return dy / (d * d);
          }),
      unary(
          "tanhshrink", [](E x, N) { return x - tanh(x); }, [](E dy, E x, E, N) { return dy * tanh(x) * tanh(x); }),
      by_channel(binary(
          "prelu", [](E x, E w) { return select(x > 0.0, x, w * x); },
          [](E dy, E x, E w, E) { return select(x > 0.0, dy, w * dy); },
          [](E dy, E x, E, E) { return select(x > 0.0, 0, x * dy); })),
      with_numbers(1, unary(
                          "hardshrink", [](E x, N n) { return select(x >= -n[0] && x <= n[0], 0, x); },
                          [](E dy, E x, E, N n) { return select(x >= -n[0] && x <= n[0], 0, dy); })),
      with_numbers(1,
                   unary(
                       "softshrink", [](E x, N n) { return select(x > n[0], x - n[0], select(x < -n[0], x + n[0], x * 0.0)); },
                       [](E dy, E x, E, N n) { return select(x >= -n[0] && x <= n[0], 0, dy); })),
      with_numbers(2, unary(
                          "threshold", [](E x, N n) { return select(x <= n[0], n[1], x); },
                          [](E dy, E x, E, N n) { return select(x <= n[0], 0, dy); })),
  };
}

std::vector<F> logic() {
  F negation = unary("logical_not", [](E x, N) { return x == 0.0; }, nullptr);
  negation.takes = F::any;
  negation.boolean = true;
  F where{.name = "where",
          .operands = 3,
          .of = [](X x, N) { return select(x[0], x[1], x[2]); },
          .slope = [](unsigned operand, E dy, X x, E, N) { return operand == 1 ? select(x[0], dy, 0) : select(x[0], 0, dy); },
          .takes = F::any,
          .choice = true};
  return {
      comparison("eq", [](E a, E b) { return a == b; }),
      comparison("ne", [](E a, E b) { return a != b; }),
      comparison("lt", [](E a, E b) { return a < b; }),
      comparison("le", [](E a, E b) { return a <= b; }),
      comparison("gt", [](E a, E b) { return a > b; }),
      comparison("ge", [](E a, E b) { return a >= b; }),
      comparison("logical_and", [](E a, E b) { return a != 0.0 && b != 0.0; }),
      comparison("logical_or", [](E a, E b) { return a != 0.0 || b != 0.0; }),
      negation,
      where,
  };
}

}  // namespace

const ElementFunction* find_element_function(StringRef name) {
  static const llvm::StringMap<F> rows = [] {
    llvm::StringMap<F> all;
    for (auto family : {arithmetic, transcendental, inverse_and_hyperbolic, activations, logic})
      for (F& row : family()) all.try_emplace(row.name, row);
    for (const F& row : element_losses()) all.try_emplace(row.name, row);
    return all;
  }();
  auto found = rows.find(name);
  return found == rows.end() ? nullptr : &found->second;
}

SmallVector<int64_t> read_by_slope(MLIRContext* context, const ElementFunction& function, unsigned operand,
                                   ArrayRef<double> numbers) {
  // Emitted into a block that is thrown away.
  Block block;
  OpBuilder builder(context);
  mlir::Location loc = builder.getUnknownLoc();
  block.addArgument(builder.getF32Type(), loc);
  for (unsigned i = 0; i <= function.operands; ++i)
    block.addArgument(function.choice && i == 0 ? mlir::Type(builder.getI1Type()) : mlir::Type(builder.getF32Type()), loc);
  builder.setInsertionPointToEnd(&block);
  SmallVector<E> x;
  for (mlir::Value argument : block.getArguments()) x.push_back(E{&builder, loc, argument});
  function.slope(operand, x[0], ArrayRef(x).slice(1, function.operands), x.back(), numbers);
  SmallVector<int64_t> read;
  for (unsigned i = 0; i <= function.operands; ++i)
    if (!block.getArgument(i + 1).use_empty()) read.push_back(i);
  return read;
}

}  // namespace sheaf::ir
