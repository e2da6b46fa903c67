#include "runtime/training/metric_sums.h"

#include <algorithm>

namespace sheaf {
namespace {

/// Whether fewer than five classes have a larger score.
bool among_the_top5(const Scores& scores, size_t wanted) {
  int larger = 0;
  for (size_t c = 0; c < scores.classes && larger < 5; ++c) larger += !(scores.at(c) <= scores.at(wanted));
  return larger < 5;
}

}  // namespace

void MetricSums::count(size_t told, size_t wanted) {
  if (classes_.size() <= std::max(told, wanted)) classes_.resize(std::max(told, wanted) + 1);
  classes_[told].right += told == wanted;
  ++classes_[told].told;
  ++classes_[wanted].wanted;
}

void MetricSums::add_class(const LossSection& loss, const Scores& scores, size_t wanted) {
  ++counted_;
  if (loss.asks_for(Metric::top5_accuracy)) in_top5_ += among_the_top5(scores, wanted);
  if (!loss.asks_for(Metric::accuracy) && !loss.asks_for(Metric::f1)) return;
  const size_t told = scores.largest();
  correct_ += told == wanted;
  if (loss.asks_for(Metric::f1)) count(told, wanted);
}

void MetricSums::add_yes_or_no(const LossSection& loss, bool told, bool wanted) {
  ++counted_;
  correct_ += told == wanted;
  if (loss.asks_for(Metric::f1)) count(told, wanted);
}

void MetricSums::add_number(double output, double target) {
  ++counted_;
  absolute_error_ += std::fabs(output - target);
}

double MetricSums::f1(const LossSection& loss) const {
  const auto occurs = [](const Counts& counts) { return counts.told + counts.wanted > 0; };
  if (loss.binary()) return classes_.size() > 1 && occurs(classes_[1]) ? classes_[1].f1() : 0;
  double sum = 0;
  int64_t occurring = 0;
  for (const Counts& counts : classes_) {
    if (!occurs(counts)) continue;
    sum += counts.f1();
    ++occurring;
  }
  return sum / static_cast<double>(occurring);
}

std::vector<std::pair<Metric, double>> MetricSums::results(const LossSection& loss, double mean_loss) const {
  std::vector<std::pair<Metric, double>> results;
  if (counted_ == 0) return results;
  const auto all = static_cast<double>(counted_);
  for (const Metric metric : loss.metrics) {
    switch (metric) {
      case Metric::accuracy: results.emplace_back(metric, static_cast<double>(correct_) / all); break;
      case Metric::top5_accuracy: results.emplace_back(metric, static_cast<double>(in_top5_) / all); break;
      case Metric::f1: results.emplace_back(metric, f1(loss)); break;
      case Metric::perplexity: results.emplace_back(metric, std::exp(mean_loss)); break;
      case Metric::mean_absolute_error: results.emplace_back(metric, absolute_error_ / all); break;
    }
  }
  return results;
}

}  // namespace sheaf
