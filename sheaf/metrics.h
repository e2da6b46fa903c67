// The quality of outputs: the loss and metrics of a model's training section, computed from finished outputs and targets.
//
//   auto metrics = sheaf::Metrics::of(model);
//   for (…) { session->run(inputs, outputs); auto added = metrics->add({{outputs[*metrics->inputs()[0].output], target}}, rows); }
//   std::cout << *metrics->result().loss;
#pragma once

#include "sheaf/model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// Results: the mean loss, if there is one, and the model's metrics by name ("accuracy").
struct Measured {
  std::optional<double> loss;
  std::vector<std::pair<std::string, double>> metrics;
  int64_t rows = 0;
};

/// What a loss takes: an output of the model, or data (a target or an input).
struct LossInput {
  std::string name;
  std::optional<size_t> output;  ///< its number among the model's outputs
};

/// Sums over batches, on the host in double precision, by the definitions of PyTorch's losses.
class Metrics {
 public:
  /// Starts empty. Errors: the plan has no training section; its loss isn't of outputs of the model and targets.
  static Result<Metrics> of(const Model& model);
  Metrics(Metrics&&) noexcept;
  Metrics& operator=(Metrics&&) noexcept;
  ~Metrics();

  /// What the loss takes, in the order of torch's forward(): mostly an output and a target.
  const std::vector<LossInput>& inputs() const;

  /// Adds a batch of `rows` rows: a tensor for each of inputs(). Errors: they don't fit each other or the model; a class that the
  /// model doesn't have.
  Result<void> add(std::span<const TensorView> tensors, int64_t rows);
  /// The results for all rows added.
  Measured result() const;

 private:
  struct State;
  explicit Metrics(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sheaf
