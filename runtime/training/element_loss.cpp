#include "runtime/training/element_loss.h"

#include "runtime/training/loss_section.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace sheaf {
namespace {

using Arguments = ElementLossArguments;

double log_at_least_minus_100(double x) { return std::max(std::log(x), -100.0); }
/// log(1 + e^-x), without overflow.
double softplus_of_minus(double x) { return std::log1p(std::exp(-std::fabs(x))) + std::max(-x, 0.0); }

double mse(double x, double t, const Arguments&) { return (x - t) * (x - t); }
double l1(double x, double t, const Arguments&) { return std::fabs(x - t); }
double smooth_l1(double x, double t, const Arguments& a) {
  const double distance = std::fabs(x - t), beta = a.number("beta", 1);
  return distance < beta ? 0.5 * distance * distance / beta : distance - 0.5 * beta;
}
double huber(double x, double t, const Arguments& a) {
  const double distance = std::fabs(x - t), delta = a.number("delta", 1);
  return distance <= delta ? 0.5 * distance * distance : delta * (distance - 0.5 * delta);
}
double bce(double x, double t, const Arguments&) {
  return -t * log_at_least_minus_100(x) - (1 - t) * log_at_least_minus_100(1 - x);
}
double bce_with_logits(double x, double t, const Arguments& a) {
  return (1 - t) * x + (1 + (a.pos_weight - 1) * t) * softplus_of_minus(x);
}
double kl_div(double x, double t, const Arguments& a) {
  if (a.flag("log_target", false)) return std::exp(t) * (t - x);
  return (t == 0 ? 0 : t * std::log(t)) - t * x;
}
double poisson_nll(double x, double t, const Arguments& a) {
  const double value = a.flag("log_input", true) ? std::exp(x) - t * x : x - t * std::log(x + a.number("eps", 1e-8));
  if (!a.flag("full", false) || !(t > 1)) return value;
  return value + t * std::log(t) - t + 0.5 * std::log(2 * std::numbers::pi * t);
}
double soft_margin(double x, double t, const Arguments&) { return softplus_of_minus(t * x); }
double hinge_embedding(double x, double t, const Arguments& a) {
  return (t == 1 ? 0 : std::max(a.number("margin", 1) - x, 0.0)) + (t == -1 ? 0 : x);
}

}  // namespace

double ElementLossArguments::number(const char* name, double otherwise) const {
  const Json& found = member_of(named, name);
  return found.is_number() ? found.get<double>() : otherwise;
}

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
      {"BCELoss", bce, ElementLoss::yes_or_no, 0.5},
      {"BCEWithLogitsLoss", bce_with_logits, ElementLoss::yes_or_no},
      {"KLDivLoss", kl_div, ElementLoss::shares},
      {"PoissonNLLLoss", poisson_nll},
      {"SoftMarginLoss", soft_margin},
      {"HingeEmbeddingLoss", hinge_embedding},
  };
  const auto found = std::ranges::find(rows, type, &ElementLoss::type);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace sheaf
