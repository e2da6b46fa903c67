// The quality of outputs: the loss and metrics of a model's training section, computed from finished outputs and targets.
//
//   auto metrics = sheaf::Metrics::of(model);
//   for (…) { session->run(inputs, outputs); auto added = metrics->add(outputs[metrics->output()], target, rows); }
//   std::cout << *metrics->result().loss;
#pragma once

#include "sheaf/model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

/// Sums over batches, on the host in double precision, by the definitions of PyTorch's losses.
class Metrics {
 public:
  /// Starts empty. Errors: the plan has no training section; its loss doesn't compare an output of the model with a target.
  static Result<Metrics> of(const Model& model);
  Metrics(Metrics&&) noexcept;
  Metrics& operator=(Metrics&&) noexcept;
  ~Metrics();

  /// The output that the loss uses, as an index into the model's; and the target's name.
  size_t output() const;
  const std::string& target() const;

  /// Adds a batch of `rows` rows. Errors: output and target don't fit each other or the model; a class the model doesn't have.
  Result<void> add(const TensorView& output, const TensorView& target, int64_t rows);
  /// The results for all rows added.
  Measured result() const;

 private:
  struct State;
  explicit Metrics(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sheaf
