#include "runtime/training/element_loss.h"

#include "runtime/training/loss_section.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace sheaf {
namespace {

using Arguments = ElementLossArguments;
using Inputs = ElementLoss::Inputs;

double log_at_least_minus_100(double x) { return std::max(std::log(x), -100.0); }
/// log(1 + e^-x), without overflow.
double softplus_of_minus(double x) { return std::log1p(std::exp(-std::fabs(x))) + std::max(-x, 0.0); }

double mse(Inputs in, const Arguments&) { return (in[0][0] - in[1][0]) * (in[0][0] - in[1][0]); }
double l1(Inputs in, const Arguments&) { return std::fabs(in[0][0] - in[1][0]); }
double smooth_l1(Inputs in, const Arguments& a) {
  const double distance = std::fabs(in[0][0] - in[1][0]), beta = a.number("beta", 1);
  return distance < beta ? 0.5 * distance * distance / beta : distance - 0.5 * beta;
}
double huber(Inputs in, const Arguments& a) {
  const double distance = std::fabs(in[0][0] - in[1][0]), delta = a.number("delta", 1);
  return distance <= delta ? 0.5 * distance * distance : delta * (distance - 0.5 * delta);
}
double bce(Inputs in, const Arguments&) {
  const double x = in[0][0], t = in[1][0];
  return -t * log_at_least_minus_100(x) - (1 - t) * log_at_least_minus_100(1 - x);
}
double bce_with_logits(Inputs in, const Arguments& a) {
  const double x = in[0][0], t = in[1][0];
  return (1 - t) * x + (1 + (a.pos_weight - 1) * t) * softplus_of_minus(x);
}
double kl_div(Inputs in, const Arguments& a) {
  const double x = in[0][0], t = in[1][0];
  if (a.flag("log_target", false)) return std::exp(t) * (t - x);
  return (t == 0 ? 0 : t * std::log(t)) - t * x;
}
double poisson_nll(Inputs in, const Arguments& a) {
  const double x = in[0][0], t = in[1][0];
  const double value = a.flag("log_input", true) ? std::exp(x) - t * x : x - t * std::log(x + a.number("eps", 1e-8));
  if (!a.flag("full", false) || !(t > 1)) return value;
  return value + t * std::log(t) - t + 0.5 * std::log(2 * std::numbers::pi * t);
}
double gaussian_nll(Inputs in, const Arguments& a) {
  const double d = in[0][0] - in[1][0], variance = std::max(in[2][0], a.number("eps", 1e-6));
  const double value = 0.5 * (std::log(variance) + d * d / variance);
  return a.flag("full", false) ? value + 0.5 * std::log(2 * std::numbers::pi) : value;
}
double soft_margin(Inputs in, const Arguments&) { return softplus_of_minus(in[1][0] * in[0][0]); }
double hinge_embedding(Inputs in, const Arguments& a) {
  const double x = in[0][0], t = in[1][0];
  return (t == 1 ? 0 : std::max(a.number("margin", 1) - x, 0.0)) + (t == -1 ? 0 : x);
}
double margin_ranking(Inputs in, const Arguments& a) {
  return std::max(0.0, a.number("margin", 0) - in[2][0] * (in[0][0] - in[1][0]));
}
double cosine_embedding(Inputs in, const Arguments& a) {
  double dot = 0, first = 1e-12, second = 1e-12;  // torch's own
  for (size_t i = 0; i < in[0].size(); ++i) {
    dot += in[0][i] * in[1][i];
    first += in[0][i] * in[0][i];
    second += in[1][i] * in[1][i];
  }
  const double cosine = dot / std::sqrt(first * second);
  return in[2][0] == 1 ? 1 - cosine : in[2][0] == -1 ? std::max(0.0, cosine - a.number("margin", 0)) : 0;
}
double triplet_margin(Inputs in, const Arguments& a) {
  const double p = a.number("p", 2), eps = a.number("eps", 1e-6);
  const auto distance = [&](size_t x, size_t y) {
    double sum = 0;
    for (size_t i = 0; i < in[x].size(); ++i) sum += std::pow(std::fabs(in[x][i] - in[y][i] + eps), p);
    return std::pow(sum, 1 / p);
  };
  double negative = distance(0, 2);
  if (a.flag("swap", false)) negative = std::min(negative, distance(1, 2));
  return std::max(0.0, a.number("margin", 1) + distance(0, 1) - negative);
}
double weight_of_class(const Arguments& a, size_t c) {
  return a.class_weights.empty() ? 1 : a.class_weights[c % a.class_weights.size()];
}
double multi_margin(Inputs in, const Arguments& a) {
  const std::span<const double> x = in[0];
  const auto target = static_cast<size_t>(in[1][0]);
  const double p = a.number("p", 1), margin = a.number("margin", 1);
  double sum = 0;
  for (size_t c = 0; c < x.size(); ++c)
    if (c != target) sum += std::pow(std::max(0.0, margin - x[target] + x[c]), p);
  return sum * weight_of_class(a, target) / static_cast<double>(x.size());
}
double multi_label_margin(Inputs in, const Arguments&) {
  const std::span<const double> x = in[0];
  const auto targets =
      in[1].first(static_cast<size_t>(std::ranges::find_if(in[1], [](double t) { return t < 0; }) - in[1].begin()));
  double sum = 0;
  for (size_t c = 0; c < x.size(); ++c) {
    if (std::ranges::find(targets, static_cast<double>(c)) != targets.end()) continue;
    for (double target : targets) sum += std::max(0.0, 1 - x[static_cast<size_t>(target)] + x[c]);
  }
  return sum / static_cast<double>(x.size());
}
double multi_label_soft_margin(Inputs in, const Arguments& a) {
  double sum = 0;
  for (size_t c = 0; c < in[0].size(); ++c) {
    const double x = in[0][c], t = in[1][c];
    sum += ((1 - t) * x + softplus_of_minus(x)) * weight_of_class(a, c);
  }
  return sum / static_cast<double>(in[0].size());
}

}  // namespace

double ElementLossArguments::number(const char* name, double otherwise) const { return number_of(named, name, otherwise); }

bool ElementLossArguments::flag(const char* name, bool otherwise) const {
  const Json& found = member_of(named, name);
  return found.is_boolean() ? found.get<bool>() : otherwise;
}

const ElementLoss* find_element_loss(const std::string& type) {
  static const std::vector<ElementLoss> rows = {
      {"MSELoss", mse},
      {"L1Loss", l1},
      {"SmoothL1Loss", smooth_l1},
      {"HuberLoss", huber},
      {"BCELoss", bce, 2, false, ElementLoss::yes_or_no, 0.5},
      {"BCEWithLogitsLoss", bce_with_logits, 2, false, ElementLoss::yes_or_no},
      {"KLDivLoss", kl_div, 2, false, ElementLoss::shares},
      {"PoissonNLLLoss", poisson_nll},
      {"GaussianNLLLoss", gaussian_nll, 3},
      {"SoftMarginLoss", soft_margin},
      {"HingeEmbeddingLoss", hinge_embedding},
      {"MarginRankingLoss", margin_ranking, 3},
      {"CosineEmbeddingLoss", cosine_embedding, 3, true},
      {"TripletMarginLoss", triplet_margin, 3, true},
      {"MultiMarginLoss", multi_margin, 2, true, ElementLoss::class_number},
      {"MultiLabelMarginLoss", multi_label_margin, 2, true, ElementLoss::class_numbers},
      {"MultiLabelSoftMarginLoss", multi_label_soft_margin, 2, true, ElementLoss::shares},
  };
  const auto found = std::ranges::find(rows, type, &ElementLoss::type);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace sheaf
