// sheaf's C++ interface begins here: a plan with its weights, which is bound to devices and a batch size and run on buffers of
// your own (docs/cpp-api.md).
//
//   auto model = sheaf::Model::load("tutorial.plan");
//   if (!model) { std::cerr << to_string(model.error()); return 1; }
//   if (auto ok = model->initialise_parameters(0); !ok) …
//   auto session = model->bind("cpu:0,cpu:1", 30);
//   sheaf::TensorView inputs[] = {{"x", sheaf::DType::float32, {30, 5}, x.data()}};
//   sheaf::MutableTensorView outputs[] = {{"net", sheaf::DType::float32, {30, 2}, y.data()}};
//   auto ok = session->run(inputs, outputs);
//
// Nothing here throws: a function that can fail returns a Result. Sizes are in elements, tensors dense and row-major.
//
// Threads. Any number of threads may at the same time bind() one Model, read its parameters, and run() different
// sessions. A Session or a Trainer is used by one thread at a time. Functions that change weights
// (set_parameters(), initialise_parameters(), Trainer::step(), set_state() and restore()) need exclusive use of the Model and
// everything bound to it; so do a trainer's steps from start_rows() to finish(). Different Models are independent.
//
// After fork(), a child must make its own sessions and trainers: its parent's have no threads there, and neither run nor end.
#pragma once

#include "sheaf/devices.h"
#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/base/extent.h"
#include "runtime/base/length.h"
#include "sheaf/options.h"
#include "sheaf/plan.h"
#include "sheaf/session.h"
#include "sheaf/tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

struct ModelState;

/// An input, a target or an output: its shape in terms of the batch ("batch", lengths, and for gathered scalars a number of replicas).
struct ValueInfo {
  std::string name;
  DType dtype = DType::float32;
  std::vector<Extent> shape;
  /// The dimension along which rows are counted, or -1 if no size depends on the batch.
  int batch_dim = -1;
};

struct ParameterInfo {
  std::string name;  ///< PyTorch's, with every `module.` in place
  DType dtype = DType::float32;
  std::vector<int64_t> shape;
  bool buffer = false;
};

/// What Model::update_parameters() didn't use, and what it left unchanged.
struct ParameterMatch {
  std::vector<std::string> missing;     ///< parameters and buffers that no tensor was given for
  std::vector<std::string> unexpected;  ///< tensors that match no parameter
  std::vector<std::string>
      misshapen;  ///< with Misshapen::left_out: tensors whose shape differs from their parameter's, and both shapes
};

/// What update_parameters() does with a tensor whose shape differs from its parameter's.
enum class Misshapen { refused, left_out };

/// A plan with its weights. Everything bound to it shares the weights; setting them takes effect at the next run,
/// and must not coincide with a run. Copies are the same model.
class Model {
 public:
  /// SharedPlan::load(), then from_plan().
  static Result<Model> load(const std::string& file);
  /// A separate model: another one made from the same plan has other weights.
  static Result<Model> from_plan(SharedPlan plan);

  const std::string& name() const;
  const std::vector<ValueInfo>& inputs() const;
  const std::vector<ValueInfo>& outputs() const;
  const std::vector<ParameterInfo>& parameters() const;
  /// Sizes besides the batch that a run determines, such as a sequence's, and the most that the model has room for.
  const std::vector<Length>& lengths() const;
  const SharedPlan& plan() const;

  /// Copies all parameters and buffers, converting floating-point types. Names are PyTorch's, with or without `module.` parts
  /// and with or without a prefix that all of them share; `num_batches_tracked` may be missing or left over. One error counts
  /// all tensors that are missing, superfluous, duplicate or don't fit, with the first few of each; then nothing is changed.
  Result<void> set_parameters(std::span<const TensorView> tensors);
  /// The same, but missing and superfluous tensors are no error: parameters without a tensor keep their values (PyTorch's
  /// load_state_dict with strict=False). `misshapen`: whether to leave out tensors whose shape differs from their parameter's,
  /// too, such as another head in fine-tuning. Also an error: something is missing, and weights were never set.
  Result<ParameterMatch> update_parameters(std::span<const TensorView> tensors, Misshapen misshapen = Misshapen::refused);
  /// Draws all parameters from their initial distributions. The same seed gives the same values everywhere.
  Result<void> initialise_parameters(uint64_t seed);
  /// set_parameters() with the tensors of a safetensors file. Returns notes on converted dtypes. Errors, located at the file.
  Result<std::vector<Diagnostic>> load_parameters(const std::string& file);
  /// Writes parameters and buffers under PyTorch's names as a safetensors file, completely or not at all; tied ones are written
  /// under each of its names.
  Result<void> save_parameters(const std::string& file) const;

  /// Copies the current value of parameter `index` to `plain`, which must have exactly the parameter's size. Errors: no such
  /// parameter; `plain` has another size; weights were never set; a failure of the device that holds it.
  Result<void> read_parameter(size_t index, std::span<std::byte> plain) const;
  /// The current value of the parameter or buffer `name`, one of parameters(). Errors: likewise.
  Result<HostTensor> read_parameter(std::string_view name) const;
  /// All of them, in the order of parameters().
  Result<std::vector<NamedTensor>> read_parameters() const;

  /// Binds the inference program to `batch` rows, 0 or more. Errors: a device list that is malformed or names a missing
  /// device, an index of the model beyond the list (located in its file), inputs that split differently, too little memory.
  Result<Session> bind(const DeviceList& devices, int64_t batch, const BindOptions& options = {}) const;
  /// The same on DeviceList::open(devices, options.threads).
  Result<Session> bind(std::string_view devices, int64_t batch, const BindOptions& options = {}) const;

  const std::shared_ptr<ModelState>& state() const { return state_; }  // sheaf's own

 private:
  explicit Model(std::shared_ptr<ModelState> state);
  std::shared_ptr<ModelState> state_;
};

}  // namespace sheaf
