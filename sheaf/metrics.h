// How good outputs are: the loss and the metrics that a model's training section asks for, of finished outputs and their targets.
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

/// What outputs are worth: the mean loss, where there is one, and the model's metrics by name ("accuracy").
struct Measured {
  std::optional<double> loss;
  std::vector<std::pair<std::string, double>> metrics;
  int64_t rows = 0;
};

/// Sums over batches, on the host in double precision, by the definitions of PyTorch's losses.
class Metrics {
 public:
  /// Of nothing yet. Errors: the plan has no training section; its loss isn't of an output of the model and a target.
  static Result<Metrics> of(const Model& model);
  Metrics(Metrics&&) noexcept;
  Metrics& operator=(Metrics&&) noexcept;
  ~Metrics();

  /// The output that the loss is of: its number among the model's; and the target's name.
  size_t output() const;
  const std::string& target() const;

  /// Adds a batch of `rows` rows. Errors: output and target don't fit each other or the model; a class that the model doesn't have.
  Result<void> add(const TensorView& output, const TensorView& target, int64_t rows);
  /// Of all that was added.
  Measured result() const;

 private:
  struct State;
  explicit Metrics(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sheaf
