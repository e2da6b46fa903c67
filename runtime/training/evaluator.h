// Evaluation: the inference program on rows with known targets.
#pragma once

#include "runtime/training/batch_loader.h"
#include "runtime/training/host_loss.h"
#include "runtime/training/record.h"

#include <functional>
#include <memory>
#include <optional>

namespace sheaf {

class Evaluator {
 public:
  /// Binds the model to `batch_size` rows, and to the leftover ones. `data` has training_values(plan) and must outlive
  /// the evaluator; it gives bytes from here on where the model takes them (BindOptions::bytes). Errors: those of Model::bind.
  static Result<Evaluator> make(const Model& model, std::shared_ptr<const DeviceSet> devices, Dataset& data,
                                const LossSection& loss, int64_t batch_size, BindOptions options);

  /// Runs all rows with the current weights; threads read ahead. None: `stopped` became true meanwhile. Errors: those of
  /// Session::run and BatchLoader.
  Result<std::optional<Evaluation>> run(const std::function<bool()>& stopped);
  /// Receives the times of its operations; null: not recorded.
  void set_trace(std::shared_ptr<Trace> trace) { run_.trace = std::move(trace); }

 private:
  struct Bound {
    Session session;
    std::vector<HostTensor> outputs;
    std::vector<HostTensor> data;           ///< that the loss takes, in its order,
    std::vector<const HostTensor*> inputs;  ///< of it: outputs and data
  };
  Evaluator(const Dataset& data, LossSection loss, int64_t batch_size)
      : data_(&data), loss_(std::move(loss)), batch_size_(batch_size) {}
  Result<Bound> bind(const Model& model, std::shared_ptr<const DeviceSet> devices, int64_t rows,
                     const BindOptions& options) const;
  /// The parts of a batch that `session` reads, and the targets.
  RowsRead rows_needed(const Session& session) const;
  Result<void> add(Bound& bound, const Batch& batch, EvaluationSums& sums) const;

  const Dataset* data_;
  LossSection loss_;
  int64_t batch_size_;
  std::vector<size_t> input_places_;  ///< of the model's inputs, among the data's values
  std::vector<size_t> loss_places_;   ///< of the data that the loss takes
  std::optional<Bound> whole_, rest_;
  RunOptions run_;
};

}  // namespace sheaf
