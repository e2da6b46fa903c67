// sheaf's C++ interface: load a plan, give it weights, bind it to devices and a batch size, run it on buffers of
// your own.
//
//   auto model = sheaf::Model::load("tutorial.plan");
//   if (!model) { std::cerr << to_string(model.error()); return 1; }
//   if (auto ok = model->initialise_parameters(0); !ok) …
//   auto session = model->bind("cpu:0,cpu:1", 30);
//   const void* inputs[] = {x.data()};      // one for each of model->inputs(), plain row-major
//   void* outputs[] = {y.data()};           // one for each of model->outputs()
//   auto ok = session->run(inputs, outputs);
//
// Nothing here throws or aborts: what can fail gives a Result. Sizes are in elements, dense and row-major.
//
// Threads. At the same time, from any number of threads: bind() of one Model, read_parameter(), and run() of sessions that
// are not the same one. A Session or a Trainer is used by one thread at a time. Whatever changes weights
// (set_parameters(), initialise_parameters(), Trainer::step() and set_state()) has the Model and all that is bound to it to
// itself. Different Models have nothing to do with each other.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/base/extent.h"
#include "runtime/base/tensor_view.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

struct Plan;         // runtime/plan/plan.h
struct BindingInfo;  // runtime/bind/binding.h: what `estimate` and `bench` print
class ArenaPool;
class Binding;
class DeviceSet;
class Trace;  // runtime/trace/trace.h

/// An input or output: its shape in terms of the batch ("batch", and for gathered scalars a number of replicas).
struct ValueInfo {
  std::string name;
  DType dtype = DType::float32;
  std::vector<Extent> shape;
  /// The dimension along which rows are counted, or -1 where no size depends on the batch.
  int batch_dim = -1;
};

struct ParameterInfo {
  std::string name;  ///< PyTorch's, with every `module.` in place
  DType dtype = DType::float32;
  std::vector<int64_t> shape;
  bool buffer = false;
};

struct BindOptions {
  bool fast_numerics = false;  ///< allow Winograd convolutions on CPUs, TF32 on GPUs: faster, other rounding
  bool graphs = true;          ///< on GPUs: replay what was recorded instead of handing over each operation; the same bits
  bool deterministic = true;   ///< on GPUs: no sums whose order depends on timing
  /// Seconds without any progress after which a run gives up waiting for a GPU: it fails, and so does all that uses the process's GPUs
  /// from then on. Above 0.
  double deadline_seconds = 300;
  int64_t micro_batches = 1;  ///< of a Trainer: parts that a step's batch is run in
  /// Memory shared with what was bound with the same pool and never runs at the same time (runtime/bind/arena_pool.h).
  std::shared_ptr<ArenaPool> arenas = nullptr;
  int threads = 0;       ///< CPU threads in all, shared out among CPU devices; 0: all that the process may use
  bool explain = false;  ///< reasons in info() name the alternatives too; binding takes longer
};

struct RunOptions {
  /// Takes lines that Print layers print (newline included), one at a time, from any thread; empty: stdout.
  std::function<void(std::string_view line)> print;
  /// Takes the times of the run's operations (runtime/trace/trace.h): a file for Perfetto, sums by layer. One run at a
  /// time may go to it. A run without one is as fast as if there were no such thing.
  std::shared_ptr<Trace> trace;
};

/// A model bound to a device list and a batch size. Keeps what it needs of its Model alive. One run at a time.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Sizes of input and output number `index` for this batch.
  const std::vector<int64_t>& input_shape(size_t index) const;
  const std::vector<int64_t>& output_shape(size_t index) const;

  /// Runs the model. Buffers are in host memory, aligned to their element size; outputs overlap neither each other
  /// nor inputs. They are used in place, nothing is allocated, and giving the same addresses again is cheapest.
  /// Errors: weights not set; a number of buffers other than the model's; a null or misaligned buffer; a failure on
  /// a device ("replica 1 on device cpu:1: …", the lowest replica's), after which outputs are unspecified.
  Result<void> run(std::span<const void* const> inputs, std::span<void* const> outputs);
  Result<void> run(std::span<const void* const> inputs, std::span<void* const> outputs, const RunOptions& options);

  /// Arena sizes, implementations chosen, formats.
  const BindingInfo& info() const;

 private:
  friend class Model;
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A plan with its weights. Weights are shared by all its sessions; setting them affects those at their next run,
/// and must not coincide with a run. Copies are the same model.
class Model {
 public:
  /// Reads and checks a plan file.
  static Result<Model> load(const std::string& file);
  static Result<Model> from_plan(Plan plan);

  const std::string& name() const;
  const std::vector<ValueInfo>& inputs() const;
  const std::vector<ValueInfo>& outputs() const;
  const std::vector<ParameterInfo>& parameters() const;
  const Plan& plan() const;

  /// Copies all parameters and buffers, floating-point types converted. Names are those that match_names() takes
  /// (runtime/base/parameter_names.h); `num_batches_tracked` may be missing or left over. What is missing, superfluous,
  /// doubled or doesn't fit is counted in one error, with the first few of each, and then nothing is changed.
  Result<void> set_parameters(std::span<const TensorView> tensors);
  /// Draws all parameters from their initial distributions. The same seed gives the same values everywhere.
  Result<void> initialise_parameters(uint64_t seed);
  /// Copies parameter `index`, as it is now, to `plain`: host memory of its size, dense and row-major. Errors: weights were
  /// never set; a failure of the device that it lives on.
  Result<void> read_parameter(size_t index, void* plain) const;

  /// `devices` as on the command line: "cpu:0,cpu:1", "cpu" for host-only mode. `batch` >= 0 rows. Errors: a
  /// malformed list, a device that isn't there, an index of the model beyond the list (located in the model's
  /// file), inputs that split differently, too little memory.
  Result<Session> bind(std::string_view devices, int64_t batch, const BindOptions& options = {}) const;
  Result<Session> bind(std::shared_ptr<const DeviceSet> devices, int64_t batch, const BindOptions& options = {}) const;

 private:
  friend class Session;
  friend class Trainer;       // runtime/training/trainer.h
  friend class MicroBatches;  // and what it is made of
  friend class StepProgram;
  struct State;
  explicit Model(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace sheaf
