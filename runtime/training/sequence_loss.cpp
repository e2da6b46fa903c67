#include "runtime/training/sequence_loss.h"

#include "runtime/data/convert.h"

#include <cmath>
#include <limits>

namespace sheaf {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  const double most = std::max(a, b);
  return most == kNever ? kNever : most + std::log(std::exp(a - most) + std::exp(b - most));
}

/// -log of the probability that `steps` steps of row n give its labels.
double row_loss(const HostTensor& x, size_t n, size_t steps, const std::vector<int64_t>& labels, int64_t blank) {
  const auto rows = static_cast<size_t>(x.shape[1]), classes = static_cast<size_t>(x.shape[2]);
  const size_t states = 2 * labels.size() + 1;
  const auto label = [&](size_t s) { return s % 2 ? labels[s / 2] : blank; };
  for (const int64_t each : labels)
    if (each < 0 || each >= x.shape[2]) return std::nan("");
  if (steps == 0) return labels.empty() ? 0 : -kNever;
  std::vector<double> before(states, kNever), now(states);
  for (size_t t = 0; t < steps; ++t) {
    for (size_t s = 0; s < states; ++s) {
      double ways = t == 0 ? (s < 2 ? 0 : kNever) : before[s];
      if (t > 0 && s > 0) ways = log_add(ways, before[s - 1]);
      if (t > 0 && s > 1 && label(s) != label(s - 2)) ways = log_add(ways, before[s - 2]);
      now[s] = ways + number_at(x, (t * rows + n) * classes + static_cast<size_t>(label(s)));
    }
    before = now;
  }
  return -log_add(now[states - 1], states > 1 ? now[states - 2] : kNever);
}

}  // namespace

Result<void> add_sequences(const LossSection& loss, std::span<const HostTensor* const> inputs, EvaluationSums& sums) {
  const HostTensor &x = *inputs[0], &targets = *inputs[1];
  const auto one_a_row = [&](const HostTensor& lengths) { return lengths.shape.size() == 1 && lengths.shape[0] == x.shape[1]; };
  if (x.shape.size() != 3 || targets.shape.size() != 2 || targets.shape[0] != x.shape[1] || !one_a_row(*inputs[2]) ||
      !one_a_row(*inputs[3]))
    return Error("log probabilities of shape " + shape_text(x.shape) + ", targets of shape " + shape_text(targets.shape) +
                 " and their lengths can't be compared by CTCLoss");
  const auto blank = static_cast<int64_t>(number_of(loss.arguments, "blank", 0));
  const Json& zero = member_of(loss.arguments, "zero_infinity");
  for (int64_t n = 0; n < x.shape[1]; ++n) {
    const auto row = static_cast<size_t>(n);
    const int64_t steps = integer_at(*inputs[2], row), count = integer_at(*inputs[3], row);
    double value = std::nan("");
    if (steps >= 0 && steps <= x.shape[0] && count >= 0 && count <= targets.shape[1]) {
      std::vector<int64_t> labels;
      for (int64_t i = 0; i < count; ++i) labels.push_back(integer_at(targets, static_cast<size_t>(n * targets.shape[1] + i)));
      value = row_loss(x, row, static_cast<size_t>(steps), labels, blank);
    }
    if (zero.is_boolean() && zero.get<bool>() && value == -kNever) value = 0;
    sums.loss += loss.sum ? value : value / static_cast<double>(std::max<int64_t>(count, 1));
    sums.weight += 1;
  }
  return {};
}

}  // namespace sheaf
