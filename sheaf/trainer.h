// One training step after another: the train program of a plan, bound to devices and a batch size.
//
//   auto trainer = sheaf::Trainer::bind(model, "cpu:0,cpu:1", 64);
//   sheaf::TensorView batch[] = {{"x", sheaf::DType::float32, {64, 5}, x.data()}, {"y", sheaf::DType::int64, {64}, y.data()}};
//   auto loss = trainer->step(batch);               // forward, backward, update
//   auto saved = trainer->save("run.safetensors");  // later: trainer->restore("run.safetensors")
//
// Parameters are the Model's: after a step its sessions, such as one for evaluation, see the new values. Threads: see model.h.
#pragma once

#include "sheaf/model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

class BatchStep;

/// The state of a ReduceLROnPlateau schedule.
struct Plateau {
  std::optional<double> best;  ///< of all epochs so far; none before the first
  int64_t bad_epochs = 0;      ///< without a better value
  int64_t cooldown = 0;        ///< epochs before bad ones count again
  int64_t reductions = 0;      ///< of the learning rate
  bool operator==(const Plateau&) const = default;
};

/// The scale of the loss in a plan that scales it, as `--precision f16` does (docs/precision.md#loss-scaling), and what became of
/// the steps so far.
struct LossScale {
  float scale = 1;           ///< of the next step
  bool adapts = false;       ///< with the gradients; else it stays
  int64_t growth_count = 0;  ///< steps since it last changed; at "growth_interval" it grows
  int64_t updates = 0;       ///< steps whose gradients were finite
  int64_t skipped = 0;       ///< steps that changed no parameter, because a gradient wasn't finite
  bool operator==(const LossScale&) const = default;
};

/// The progress of training, apart from parameters and the optimiser's state.
struct TrainingProgress {
  int64_t steps = 0;   ///< optimiser steps done
  int64_t epochs = 0;  ///< epochs done: schedules count these
  double lr = 0;       ///< base learning rate, before the schedule
  uint64_t seed = 0;   ///< of dropout
  Plateau plateau{};   ///< of the schedule, if it is ReduceLROnPlateau
};

class Trainer {
 public:
  /// Binds the training step to batches of `batch` rows. The base learning rate is that of the model file's optimiser. With
  /// BindOptions::micro_batches above 1 a step runs its batch in that many parts, cut as torch.chunk does, and updates
  /// once: less memory, the same mean. Batch norm takes each part's own statistics.
  /// Errors: the plan has no train program; those of Model::bind().
  static Result<Trainer> bind(const Model& model, const DeviceList& devices, int64_t batch, const BindOptions& options = {});
  /// The same on DeviceList::open(devices, options.threads).
  static Result<Trainer> bind(const Model& model, std::string_view devices, int64_t batch, const BindOptions& options = {});
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  Model model() const;
  /// Inputs, then targets, in the order that step() takes them.
  const std::vector<ValueInfo>& inputs() const;
  /// Rows of a whole batch.
  int64_t batch() const;
  /// Sizes of input `index`, which must be below their number, in a whole batch.
  const std::vector<int64_t>& input_shape(size_t index) const;

  /// Forward, loss, backward, update on one batch. Returns the loss before the update. If it isn't finite, nothing
  /// is updated: parameters, buffers and optimiser state stay as they were, and the step doesn't count.
  /// A view with a name is the input or target of that name; views without names come in the order of inputs(). All have the
  /// same number of rows, from 1 to batch(): the last batch of an epoch may be smaller. It counts like any other step. Their
  /// lengths may be others than BindOptions::lengths (docs/lengths.md).
  /// Errors: a tensor that is missing, superfluous, or of another dtype or shape; those of Session::run(); for the first batch
  /// with another number of rows or other lengths also those of binding.
  Result<float> step(std::span<const TensorView> values, const RunOptions& options = {});

  /// The fast path: an address for each of inputs(). It doesn't check that they have as many elements as input_shape() says.
  /// Nothing is allocated, and the same addresses as before are cheapest.
  Result<float> step(std::span<const void* const> values, const RunOptions& options = {});
  /// The same with `rows` rows, from 1 to batch(). The first step with a new number of rows binds it, as prepare() does.
  ///
  /// `next`: the values of the next step with as many rows, which must stay as they are until it is done; none: empty. A GPU
  /// fetches them while this step runs. The next step may be given others; but if they are at the same addresses and differ, call
  /// forget_next() before.
  Result<float> step_rows(int64_t rows, std::span<const void* const> values, const RunOptions& options = {},
                          std::span<const void* const> next = {});
  /// Starts step() and returns once its work is handed over to GPUs; finish() returns its loss. All that start_rows() says holds here.
  Result<void> start(std::span<const TensorView> values, const RunOptions& options = {});
  /// Starts a step and returns once its work is handed over to GPUs; finish() returns its loss. Start the next step before you
  /// finish this one, and a GPU begins it as soon as this one ends, without a wait for the host. At most kMostStarted are under way.
  /// progress().steps counts the step now. `values` and `next` must stay as they are until it is finished. The results have the same
  /// bits as those of step_rows(). Where steps can't be under way together (overlaps()), this runs the step to its end.
  /// Reading or writing a parameter, and a session's run, wait for what is under way. Errors: those of step_rows() that are known by
  /// now; then nothing was started.
  Result<void> start_rows(int64_t rows, std::span<const void* const> values, const RunOptions& options = {},
                          std::span<const void* const> next = {});
  /// The loss of the oldest step that was started and not finished. If it isn't finite, or an error, that step and those started after
  /// it change nothing, don't count and are forgotten: started() is 0, and all is as it was before the step. Errors: also that no
  /// step is started.
  Result<float> finish();
  /// Steps started and not finished.
  size_t started() const;
  static constexpr size_t kMostStarted = 2;
  /// Whether a step on a whole batch can be started while the one before it is under way: all of its work is done by GPUs of this
  /// process, each of which can tell by itself that the step has failed (docs/feeding-a-gpu.md#which-steps-can).
  bool overlaps() const;
  /// Values given as `next` won't come, or have changed since.
  void forget_next();
  /// Binds the step to `rows` rows too, from 1 to batch(), so that no step has to. `lengths`: numbers for the model's lengths;
  /// those that aren't given are as in BindOptions::lengths. Shares the memory within a step with that of
  /// a whole batch. Keeps at most kMostSizes sizes and drops those used longest ago; they can be bound again.
  Result<void> prepare(int64_t rows, const LengthNumbers& lengths = {});
  static constexpr size_t kMostSizes = 8;

  /// After a step whose loss wasn't finite, with the same values: the first layer, in the order of the step, whose output isn't
  /// finite ("net.conv1"), found by running the step once more and checking each result; empty if there is none.
  Result<std::string> first_not_finite(std::span<const TensorView> values);
  Result<std::string> first_not_finite(int64_t rows, std::span<const void* const> values);

  /// Reads the loss's scale, which waits for the device that it is on; none: the plan doesn't scale its loss. Errors: the
  /// device's.
  Result<std::optional<LossScale>> loss_scale() const;
  /// The same, for a loop to call every few steps. Errors: also if no step is an update any more: all since an earlier call were
  /// skipped, and there were 1000 of them, or the scale has fallen below 2^-24, float16's smallest value.
  Result<std::optional<LossScale>> watch_loss_scale();

  /// The optimiser's state: "fc.weight.momentum", … A checkpoint holds it in addition to the model's parameters.
  const std::vector<ParameterInfo>& state() const;
  /// Copies the current value of entry `index` of state() to `plain`, which must have exactly its size. Errors: no such entry;
  /// `plain` has another size; a failure of the device.
  Result<void> read_state(size_t index, std::span<std::byte> plain) const;
  /// The current value of entry `name` of state(). Errors: likewise.
  Result<HostTensor> read_state(std::string_view name) const;
  /// All of them, in the order of state().
  Result<std::vector<NamedTensor>> read_state() const;
  /// Sets all of the optimiser's state, which the trainers of one model share. Errors: missing, superfluous and
  /// misshapen tensors (names as in state()), and then nothing is changed.
  Result<void> set_state(std::span<const TensorView> tensors);

  /// Read and set it between steps: the learning rate, the seed, epochs done.
  TrainingProgress& progress();
  const TrainingProgress& progress() const;
  /// For the next step: progress().lr under the model's schedule (PyTorch's closed forms, stepped once an epoch).
  double learning_rate() const;
  /// The value that the schedule follows, if it is ReduceLROnPlateau ("train_loss", "eval_loss", …); else empty.
  std::string monitor() const;
  /// Gives a ReduceLROnPlateau an epoch's value, as PyTorch's `scheduler.step(value)`. Other schedules follow progress().
  void step_schedule(double value);

  /// Writes parameters, buffers, optimiser state and progress to a safetensors file, completely or not at all, with checksums.
  Result<void> save(const std::string& file) const;
  /// Restores all of that from a file that save() or `sheaf train --checkpoint` wrote for the same plan: training continues as
  /// if it had never stopped, bit for bit on the same devices. Errors, located at the file: it isn't a checkpoint, is of
  /// another plan, or is damaged, and then nothing is changed.
  Result<void> restore(const std::string& file);

  /// For a whole batch; with micro-batches for the largest part.
  BindingReport report() const;
  const Binding& binding() const;  // sheaf's own
  /// Bound to `rows` rows, as by prepare().
  Result<const BatchStep*> bound_to(int64_t rows);  // sheaf's own

 private:
  struct State;
  const BatchStep& whole() const;
  explicit Trainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sheaf
