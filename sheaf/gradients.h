// Forward and backward passes for callers that own the parameters: a plan's programs `forward` and `backward`
// (CompilerOptions::gradients; docs/training.md).
//
//   auto function = sheaf::Differentiable::from_plan(plan);
//   auto session = function->bind(*sheaf::DeviceList::open("cpu:0,cpu:1"), 64);
//   auto done = session->forward(inputs, outputs);              // inputs, parameters and buffers; keeps what backward() needs
//   auto back = session->backward(output_gradients, gradients);
#pragma once

#include "sheaf/model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sheaf {

class DifferentiableSession;

/// A plan's programs, ready to be bound. Copies are the same. Any number of threads may bind at the same time.
class Differentiable {
 public:
  /// Errors: the plan has no such programs.
  static Result<Differentiable> from_plan(SharedPlan plan);

  /// The model's inputs, then parameters and buffers under PyTorch's names: the arguments of forward().
  const std::vector<ValueInfo>& inputs() const;
  /// The model's outputs, then the new values of buffers under the buffers' names: the results of forward().
  const std::vector<ValueInfo>& outputs() const;
  /// "OUTPUT.grad" for each output that depends on anything whose gradient is wanted: the arguments of backward().
  const std::vector<ValueInfo>& output_gradients() const;
  /// "NAME.grad" for inputs and parameters: the results of backward(). Leaves out those on which no output depends.
  const std::vector<ValueInfo>& gradients() const;

  /// Sizes besides the batch that a run determines (docs/lengths.md).
  const std::vector<Length>& lengths() const;

  /// Whether forward() uses random numbers.
  bool draws() const;

  /// Binds to `rows` rows, 0 or more, and to BindOptions::lengths, a number for each. Without `backward` the session can only run the forward pass, and keeps nothing.
  /// Errors: those of Model::bind().
  Result<DifferentiableSession> bind(const DeviceList& devices, int64_t rows, const BindOptions& options = {},
                                     bool backward = true) const;

 private:
  struct State;
  friend class DifferentiableSession;
  explicit Differentiable(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// Keeps the values of one forward pass until its backward pass: bind one session for each forward pass whose backward pass is
/// still to come. One thread at a time.
class DifferentiableSession {
 public:
  DifferentiableSession(DifferentiableSession&&) noexcept;
  DifferentiableSession& operator=(DifferentiableSession&&) noexcept;
  ~DifferentiableSession();

  int64_t rows() const;
  /// Sizes of entry `index` of Differentiable's lists; `index` must be below their length. A session without a backward pass
  /// has only the first two.
  const std::vector<int64_t>& input_shape(size_t index) const;
  const std::vector<int64_t>& output_shape(size_t index) const;
  const std::vector<int64_t>& gradient_shape(size_t index) const;

  /// The numbers that dropout draws from: the same numbers give the same masks.
  struct Randomness {
    int64_t step = 0, seed = 0;
  };
  /// Addresses of dense tensors in host memory in the order of inputs() and outputs(), with the shapes' number of elements,
  /// which isn't checked. If a backward pass follows, they must not change until it is done. Errors: another number of buffers,
  /// one that is null or misaligned; a failure on a device.
  Result<void> forward(std::span<const void* const> inputs, std::span<void* const> outputs, Randomness randomness,
                       const RunOptions& options = {});
  /// The same in the order of output_gradients() and gradients(), once after each forward(). Also an error: no forward pass.
  Result<void> backward(std::span<const void* const> output_gradients, std::span<void* const> gradients,
                        const RunOptions& options = {});

 private:
  friend class Differentiable;
  struct State;
  explicit DifferentiableSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sheaf
