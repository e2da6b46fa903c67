#include "runtime/training/host_loss.h"

#include "runtime/data/convert.h"
#include "runtime/training/sequence_loss.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace sheaf {
namespace {

size_t count_of(const HostTensor& tensor) { return tensor.bytes.size() / size_of(tensor.dtype); }

double log_sum_exp(const Scores& scores) {
  const double most = scores.at(scores.largest());
  double sum = 0;
  for (size_t c = 0; c < scores.classes; ++c) sum += std::exp(scores.at(c) - most);
  return most + std::log(sum);
}

double weight_of(const std::vector<double>& weights, size_t i) {
  return weights.empty() ? 1 : weights.size() == 1 ? weights[0] : weights[i % weights.size()];
}

double class_loss(const LossSection& loss, const Scores& scores, size_t target) {
  if (loss.type == "NLLLoss") return -weight_of(loss.weight, target) * scores.at(target);
  const double normalizer = log_sum_exp(scores);
  const double value = weight_of(loss.weight, target) * (normalizer - scores.at(target));
  if (loss.label_smoothing == 0) return value;
  double all = 0;
  for (size_t c = 0; c < scores.classes; ++c) all += weight_of(loss.weight, c) * (normalizer - scores.at(c));
  return (1 - loss.label_smoothing) * value + loss.label_smoothing / static_cast<double>(scores.classes) * all;
}

void add_classes(const LossSection& loss, const HostTensor& output, const HostTensor& target, EvaluationSums& sums) {
  size_t inner = 1;
  for (size_t d = static_cast<size_t>(loss.class_dim) + 1; d < output.shape.size(); ++d)
    inner *= static_cast<size_t>(output.shape[d]);
  const auto classes = static_cast<size_t>(loss.class_count);
  for (size_t i = 0; i < count_of(target); ++i) {
    const int64_t wanted = integer_at(target, i);
    if (wanted == loss.ignore_index) continue;
    const Scores scores{output, i / inner * classes * inner + i % inner, inner, classes};
    if (!loss.metrics.empty()) sums.metrics.add_class(loss, scores, static_cast<size_t>(wanted));
    sums.loss += class_loss(loss, scores, static_cast<size_t>(wanted));
    sums.weight += weight_of(loss.weight, static_cast<size_t>(wanted));
  }
}

/// For targets that are probabilities of the classes; a mean is over the positions, whatever the weights.
void add_probabilities(const LossSection& loss, const HostTensor& output, const HostTensor& target, EvaluationSums& sums) {
  size_t inner = 1;
  for (size_t d = static_cast<size_t>(loss.class_dim) + 1; d < output.shape.size(); ++d)
    inner *= static_cast<size_t>(output.shape[d]);
  const auto classes = static_cast<size_t>(loss.class_count);
  const double each = loss.label_smoothing / static_cast<double>(classes);
  for (size_t i = 0; i < count_of(output) / classes; ++i) {
    const size_t first = i / inner * classes * inner + i % inner;
    const Scores scores{output, first, inner, classes}, wanted{target, first, inner, classes};
    const double normalizer = log_sum_exp(scores);
    for (size_t c = 0; c < classes; ++c)
      sums.loss += ((1 - loss.label_smoothing) * wanted.at(c) + each) * weight_of(loss.weight, c) * (normalizer - scores.at(c));
    sums.weight += 1;
    if (!loss.metrics.empty()) sums.metrics.add_class(loss, scores, wanted.largest());
  }
}

/// Of an element of each input, or of their vectors. An input with fewer serves as many of the others' with each.
void add_elements(const LossSection& loss, const ElementLoss& row, std::span<const HostTensor* const> inputs,
                  EvaluationSums& sums) {
  const HostTensor& x = *inputs[0];
  const size_t width = row.vectors ? static_cast<size_t>(x.shape.back()) : 1, terms = count_of(x) / width;
  std::vector<std::vector<double>> numbers(inputs.size());
  std::vector<std::span<const double>> views(inputs.size());
  ElementLossArguments arguments{.named = loss.arguments, .class_weights = loss.weight};
  for (size_t i = 0; i < terms; ++i) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      const size_t count = count_of(*inputs[k]), each = std::max<size_t>(1, count / terms);
      numbers[k].clear();
      for (size_t j = 0; j < each; ++j) numbers[k].push_back(number_at(*inputs[k], i * count / terms + j));
      views[k] = numbers[k];
    }
    // The last dimension is the innermost, so weights along it repeat.
    arguments.pos_weight = weight_of(loss.pos_weight, i);
    sums.loss += (row.vectors ? 1 : weight_of(loss.weight, i)) * row.of(views, arguments);
    if (row.targets == ElementLoss::yes_or_no) sums.metrics.add_yes_or_no(loss, views[0][0] > row.yes_above, views[1][0] > 0.5);
    else if (row.inputs == 2 && !row.vectors) sums.metrics.add_number(views[0][0], views[1][0]);
  }
  sums.weight += static_cast<double>(loss.by_batch && !x.shape.empty() ? x.shape[0] : static_cast<int64_t>(terms));
}

/// Whether all inputs of a loss of elements or vectors have as many as the first.
bool fit(const ElementLoss& row, std::span<const HostTensor* const> inputs) {
  const HostTensor& x = *inputs[0];
  if (row.vectors && (x.shape.empty() || x.shape.back() < 1)) return false;
  const size_t last = x.shape.empty() ? 1 : static_cast<size_t>(std::max<int64_t>(x.shape.back(), 1));
  for (const HostTensor* input : inputs.subspan(1))
    if (count_of(*input) != count_of(x) && ((row.inputs == 2 && !row.vectors) || count_of(*input) * last != count_of(x)))
      return false;
  return true;
}

}  // namespace

Result<void> add_batch(const LossSection& loss, std::span<const HostTensor* const> inputs, EvaluationSums& sums) {
  if (loss.sequences) return add_sequences(loss, inputs, sums);
  const ElementLoss* row = loss.element();
  if (!row && !loss.classes && !loss.probabilities) return Error("losses of type '" + loss.type + "' are unknown here");
  const size_t per_target = loss.classes ? static_cast<size_t>(loss.class_count) : 1;
  if (inputs.size() != (row ? row->inputs : 2) ||
      (row ? !fit(*row, inputs) : count_of(*inputs[0]) != count_of(*inputs[1]) * per_target)) {
    std::string what;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string name = i < loss.inputs.size() ? "'" + loss.inputs[i].name + "' " : "";
      what += (i == 0 ? "" : i + 1 == inputs.size() ? " and " : ", ") + name + "of shape " + shape_text(inputs[i]->shape);
    }
    return Error(what + " can't be compared by " + loss.type);
  }
  if (loss.classes) add_classes(loss, *inputs[0], *inputs[1], sums);
  else if (loss.probabilities) add_probabilities(loss, *inputs[0], *inputs[1], sums);
  else add_elements(loss, *row, inputs, sums);
  return {};
}

Evaluation evaluation_of(const LossSection& loss, const EvaluationSums& sums, int64_t rows) {
  Evaluation found;
  found.rows = rows;
  if (loss.sum && rows > 0) {
    found.loss = sums.loss / static_cast<double>(rows);
  } else if (!loss.sum && sums.weight > 0) {
    found.loss = sums.loss / sums.weight;
  }
  found.metrics = sums.metrics.results(loss, sums.loss / sums.weight);
  return found;
}

bool needs_check(const LossSection& loss, size_t input) {
  if (loss.sequences) return input >= 2 && loss.longest[input - 2] > 0;
  return input == 1 && (loss.classes || loss.type == "BCELoss" || (loss.element() && loss.element()->of_classes()));
}

Result<void> check_input(const LossSection& loss, size_t input, const std::string& option, const HostTensor& target,
                         int rows_dim, int64_t first_row) {
  const bool binary = loss.type == "BCELoss", margins = loss.element() && loss.element()->of_classes();
  const bool several = margins && loss.element()->targets == ElementLoss::class_numbers;
  if (!needs_check(loss, input)) return {};
  const int64_t longest = loss.sequences ? loss.longest[input - 2] : 0;
  const auto fits = [&](size_t i) {
    if (loss.sequences) return integer_at(target, i) >= 0 && integer_at(target, i) <= longest;
    if (binary) return number_at(target, i) >= 0 && number_at(target, i) <= 1;  // not a NaN
    const int64_t value = integer_at(target, i);
    if (margins) return value >= (several ? -1 : 0) && value < loss.class_count;
    return (value >= 0 && value < loss.class_count) || value == loss.ignore_index;
  };
  for (size_t i = 0; i < count_of(target); ++i) {
    if (fits(i)) continue;
    size_t row = i;
    for (size_t d = target.shape.size(); rows_dim >= 0 && d-- > static_cast<size_t>(rows_dim) + 1;)
      row /= static_cast<size_t>(target.shape[d]);
    if (rows_dim >= 0) row %= static_cast<size_t>(target.shape[static_cast<size_t>(rows_dim)]);
    const std::string where = option + ": target '" + loss.inputs[input].name + "' of row " +
                              std::to_string(first_row + static_cast<int64_t>(row)) + " (from 0) is ";
    if (binary) {
      std::array<char, 32> number{};
      std::snprintf(number.data(), number.size(), "%g", number_at(target, i));
      return Error(where + number.data() + "; BCELoss expects 0 to 1");
    }
    if (loss.sequences)
      return Error(where + std::to_string(integer_at(target, i)) + "; a length from 0 to " + std::to_string(longest) +
                   " was expected");
    return Error(where + std::to_string(integer_at(target, i)) + "; the model has " + std::to_string(loss.class_count) +
                 " classes: expected 0 to " + std::to_string(loss.class_count - 1) +
                 (several   ? ", or -1 behind a row's last"
                  : margins ? ""
                            : ", or ignore_index, " + std::to_string(loss.ignore_index)));
  }
  return {};
}

}  // namespace sheaf
