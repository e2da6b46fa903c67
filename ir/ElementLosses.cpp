// Unreduced losses of an element x and its target t, under torch.nn.functional's names.
#include "ir/ElementFunctions.h"

#include <cmath>
#include <numbers>

namespace sheaf::ir {

using namespace mlir;
using F = ElementFunction;
using E = scalar::Expression;
using X = ElementFunction::Operands;
using N = ElementFunction::Numbers;

namespace {

/// `arguments`: the numeric arguments of the loss `type` in the model file, as the function takes them; true is 1.
F loss(StringRef type, StringRef name, std::vector<StringRef> arguments, std::function<E(E x, E t, N n)> of,
       std::function<E(E dy, E x, E t, N n)> slope_x, std::function<E(E dy, E x, E t, N n)> slope_t) {
  F row{.name = name, .operands = 2, .of = [of](X x, N n) { return of(x[0], x[1], n); }, .slope = nullptr};
  row.slope = [slope_x, slope_t](unsigned operand, E dy, X x, E, N n) {
    return (operand == 0 ? slope_x : slope_t)(dy, x[0], x[1], n);
  };
  row.numbers = static_cast<unsigned>(arguments.size());
  row.arguments = std::move(arguments);
  row.loss = type;
  row.wide = true;
  return row;
}

/// dy · (least for x <= -bound, most for x >= bound, else x / scale); NaN gives NaN.
E clipped(E dy, E x, double bound, double scale) {
  return select(x <= -bound, -dy * (bound / scale), select(x >= bound, dy * (bound / scale), dy * x / scale));
}

F of_distance(StringRef type, StringRef name, std::vector<StringRef> arguments, std::function<E(E d, N n)> of,
              std::function<E(E dy, E d, N n)> slope) {
  return loss(
      type, name, std::move(arguments), [of](E x, E t, N n) { return of(x - t, n); },
      [slope](E dy, E x, E t, N n) { return slope(dy, x - t, n); },
      [slope](E dy, E x, E t, N n) { return -slope(dy, x - t, n); });
}

std::vector<F> distances() {
  auto sign_of = [](E dy, E d) { return dy * select(d > 0.0, 1, select(d < 0.0, -1, d)); };
  return {
      of_distance(
          "MSELoss", "mse_loss", {}, [](E d, N) { return d * d; }, [](E dy, E d, N) { return dy * (d * 2.0); }),
      of_distance(
          "L1Loss", "l1_loss", {}, [](E d, N) { return absolute(d); }, [=](E dy, E d, N) { return sign_of(dy, d); }),
      of_distance(
          "SmoothL1Loss", "smooth_l1_loss", {"beta"},
          [](E d, N n) {
            E size = absolute(d);
            if (n[0] == 0) return size;
            return select(size < n[0], size * size * 0.5 / n[0], size - 0.5 * n[0]);
          },
          [=](E dy, E d, N n) { return n[0] == 0 ? sign_of(dy, d) : clipped(dy, d, n[0], n[0]); }),
      of_distance(
          "HuberLoss", "huber_loss", {"delta"},
          [](E d, N n) {
            E size = absolute(d);
            return select(size <= n[0], size * size * 0.5, (size - 0.5 * n[0]) * n[0]);
          },
          [](E dy, E d, N n) { return clipped(dy, d, n[0], 1); }),
  };
}

/// A logarithm, clamped to at least -100.
E bounded(E log) { return select(log < -100.0, -100, log); }

/// log(1 + e^-|x|) + max(-x, 0) = -log σ(x).
E softplus_of_minus(E x) {
  E minus = -x;
  return log1p(exp(-absolute(x))) + select(minus < 0.0, 0, minus);
}

/// The weight of a target: 1 where the target is 0, w where it is 1.
E weight_of_target(E t, E w) { return (w - 1.0) * t + 1.0; }

F weighted_logits() {
  return {.name = "binary_cross_entropy_with_logits_of_pos_weight",
          .operands = 3,
          .of = [](X x, N) { return (1.0 - x[1]) * x[0] + softplus_of_minus(x[0]) * weight_of_target(x[1], x[2]); },
          .slope =
              [](unsigned operand, E dy, X x, E, N) {
                // 1 - σ(x), without cancellation.
                if (operand == 0) return dy * ((1.0 - x[1]) - weight_of_target(x[1], x[2]) * sigmoid(-x[0]));
                if (operand == 1) return dy * ((x[2] - 1.0) * softplus_of_minus(x[0]) - x[0]);
                return dy * (x[1] * softplus_of_minus(x[0]));
              },
          .wide = true,
          .loss = "BCEWithLogitsLoss"};
}

std::vector<F> likelihoods() {
  return {
      loss(
          "BCELoss", "binary_cross_entropy", {},
          [](E x, E t, N) { return -(t * bounded(log(x)) + (1.0 - t) * bounded(log1p(-x))); },
          [](E dy, E x, E t, N) {
            E variance = x * (1.0 - x);
            return dy * ((x - t) / select(variance < 1e-12, 1e-12, variance));
          },
          [](E dy, E x, E, N) { return dy * (bounded(log1p(-x)) - bounded(log(x))); }),
      loss(
          "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", {},
          [](E x, E t, N) { return (1.0 - t) * x + softplus_of_minus(x); },
          [](E dy, E x, E t, N) { return dy * (sigmoid(x) - t); }, [](E dy, E x, E, N) { return -dy * x; }),
      weighted_logits(),
      loss(
          "KLDivLoss", "kl_div", {"log_target"},
          [](E x, E t, N n) { return n[0] != 0 ? exp(t) * (t - x) : select(t == 0.0, 0, t * log(t)) - t * x; },
          [](E dy, E, E t, N n) { return -dy * (n[0] != 0 ? exp(t) : t); },
          [](E dy, E x, E t, N n) {
            return n[0] != 0 ? dy * (exp(t) * (t - x + 1.0)) : select(t == 0.0, 0, dy * (log(t) + 1.0)) - dy * x;
          }),
      loss(
          "PoissonNLLLoss", "poisson_nll_loss", {"log_input", "full", "eps"},
          [](E x, E t, N n) {
            E value = n[0] != 0 ? exp(x) - t * x : x - t * log(x + n[2]);
            if (n[1] == 0) return value;  // else with Stirling's approximation of log t!
            return value + select(t > 1.0, t * log(t) - t + log(t * (2 * std::numbers::pi)) * 0.5, 0);
          },
          [](E dy, E x, E t, N n) { return dy * (n[0] != 0 ? exp(x) - t : 1.0 - t / (x + n[2])); },
          [](E dy, E x, E t, N n) {
            E slope = n[0] != 0 ? -x : -log(x + n[2]);
            return dy * (n[1] == 0 ? slope : slope + select(t > 1.0, log(t) + 0.5 / t, 0));
          }),
  };
}

/// Targets are 1 and -1.
std::vector<F> of_signs() {
  return {
      loss(
          "SoftMarginLoss", "soft_margin_loss", {}, [](E x, E t, N) { return softplus_of_minus(t * x); },
          [](E dy, E x, E t, N) { return -dy * (t * sigmoid(-(t * x))); },
          [](E dy, E x, E t, N) { return -dy * (x * sigmoid(-(t * x))); }),
      loss(
          "HingeEmbeddingLoss", "hinge_embedding_loss", {"margin"},
          [](E x, E t, N n) { return select(t == 1.0, 0, maximum(x.number(n[0]) - x, 0.0)) + select(t == -1.0, 0, x); },
          [](E dy, E x, E t, N n) { return select(t == -1.0, 0, dy) - select(t != 1.0 && x <= n[0], dy, 0); },
          [](E dy, E, E, N) { return dy * 0.0; }),
  };
}

/// For two values and a target of 1 or -1. As in torch's clamp_min, a hinge has a slope at its kink.
F margin_ranking() {
  return {.name = "margin_ranking_loss",
          .operands = 3,
          .of = [](X x, N n) { return maximum((x[1] - x[0]) * x[2] + n[0], 0.0); },
          .slope =
              [](unsigned operand, E dy, X x, E, N n) {
                E open = (x[1] - x[0]) * x[2] + n[0] >= 0.0;
                E slope = operand == 0 ? -x[2] : operand == 1 ? x[2] : x[1] - x[0];
                return select(open, dy * slope, 0);
              },
          .numbers = 1,
          .wide = true,
          .loss = "MarginRankingLoss",
          .arguments = {"margin"}};
}

/// For a value, its target and the variance; autograd doesn't see the clamp of the variance to eps.
F gaussian_nll() {
  auto bounded = [](E variance, N n) { return select(variance < n[1], n[1], variance); };
  return {.name = "gaussian_nll_loss",
          .operands = 3,
          .of =
              [=](X x, N n) {
                E variance = bounded(x[2], n), d = x[0] - x[1];
                E value = (log(variance) + d * d / variance) * 0.5;
                return n[0] != 0 ? value + 0.5 * std::log(2 * std::numbers::pi) : value;
              },
          .slope =
              [=](unsigned operand, E dy, X x, E, N n) {
                E variance = bounded(x[2], n), share = (x[0] - x[1]) / variance;
                if (operand == 2) return dy * ((1.0 / variance - share * share) * 0.5);
                return operand == 0 ? dy * share : -(dy * share);
              },
          .numbers = 2,
          .wide = true,
          .loss = "GaussianNLLLoss",
          .arguments = {"full", "eps"}};
}

std::vector<F> of_three() { return {margin_ranking(), gaussian_nll()}; }

/// For a·b, a·a and b·b of two vectors, and a target of 1 or -1.
F cosine_embedding() {
  constexpr double eps = 1e-12;  // torch's own
  struct Parts {
    E aa, bb, root, cosine;
    explicit Parts(X x) : aa(x[1] + eps), bb(x[2] + eps), root(sqrt(aa * bb)), cosine(x[0] / root) {}
  };
  return {.name = "cosine_embedding_loss",
          .operands = 4,
          .of =
              [](X x, N n) {
                E cosine = Parts(x).cosine;
                return select(x[3] == 1.0, 1.0 - cosine, 0) + select(x[3] == -1.0, maximum(cosine - n[0], 0.0), 0);
              },
          .slope =
              [](unsigned operand, E dy, X x, E, N n) {
                if (operand == 3) return dy * 0.0;
                Parts parts(x);
                E slope = dy * (select(x[3] == -1.0 && parts.cosine - n[0] >= 0.0, dy.number(1), 0) -
                                select(x[3] == 1.0, dy.number(1), 0));
                if (operand == 0) return slope / parts.root;
                return slope * parts.cosine * -0.5 / (operand == 1 ? parts.aa : parts.bb);
              },
          .numbers = 1,
          .wide = true};
}

/// For the distances to the positive and to the negative.
F triplet_margin() {
  return {.name = "triplet_margin_loss",
          .operands = 2,
          .of = [](X x, N n) { return maximum(x[0] - x[1] + n[0], 0.0); },
          .slope = [](unsigned operand, E dy, X x, E,
                      N n) { return select(x[0] - x[1] + n[0] >= 0.0, operand == 0 ? dy : -dy, 0); },
          .numbers = 1,
          .wide = true};
}

/// Parts of losses of vectors; no loss has their names.
std::vector<F> of_vectors() { return {cosine_embedding(), triplet_margin()}; }

}  // namespace

llvm::ArrayRef<ElementFunction> element_losses() {
  static const std::vector<F> rows = [] {
    std::vector<F> all;
    for (auto family : {distances, likelihoods, of_signs, of_three, of_vectors})
      for (F& row : family()) all.push_back(std::move(row));
    return all;
  }();
  return rows;
}

}  // namespace sheaf::ir
