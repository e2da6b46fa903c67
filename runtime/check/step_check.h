// One step under check, with typed access to its operands and attributes (internal to runtime/plan).
#pragma once

#include "runtime/check/check.h"
#include "runtime/plan/plan.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sheaf {

using Shape = std::vector<Extent>;

/// A program under check and what its parts refer to by name.
struct CheckScope {
  CheckScope(const Plan& plan, const Program& program);

  const Plan& plan;
  const Program& program;
  std::unordered_map<std::string, const Symbol*> symbols;
  std::unordered_map<std::string, const Kernel*> kernels;
  std::unordered_map<std::string, const Parameter*> parameters;
  std::unordered_map<std::string, const Parameter*> state;
};

/// Keeps the first problem; what is asked for after it gets harmless answers, so that checks of an operation
/// need to stop only where they would go on with operands that aren't there.
class StepCheck {
 public:
  /// Indices of inputs and outputs must have been checked.
  StepCheck(const CheckScope& scope, const Step& step) : scope_(scope), step_(step) {}

  const CheckScope& scope() const { return scope_; }
  const Step& step() const { return step_; }

  void fail(std::string message) {
    if (!problem_) problem_ = std::move(message);
  }
  bool failed() const { return problem_.has_value(); }
  const std::optional<std::string>& problem() const { return problem_; }

  const Value& input(size_t i) const { return scope_.program.values[static_cast<size_t>(step_.inputs[i])]; }
  const Value& output(size_t i) const { return scope_.program.values[static_cast<size_t>(step_.outputs[i])]; }

  /// Inputs have these roles and no others, each at most once, the first of `required` first. False on
  /// failure.
  bool roles(const std::vector<std::string>& required, const std::vector<std::string>& optional = {});
  /// Exactly `count` outputs. False on failure.
  bool outputs(size_t count);
  bool inputs(size_t count);
  /// The input of this role, or null.
  const Value* operand(std::string_view role) const;

  /// Attributes have these names and no others; those not in `optional` are all there.
  void attributes(std::initializer_list<std::string_view> required,
                  std::initializer_list<std::string_view> optional = {});
  int64_t integer(const char* name, int64_t lowest, int64_t highest);
  std::vector<int64_t> integers(const char* name, size_t count, int64_t lowest, int64_t highest);
  bool boolean(const char* name);
  std::string text(const char* name);
  /// The attribute "dim", made non-negative for `rank` dimensions.
  size_t dim(size_t rank);
  /// The optional attribute "activation": its kind and that kind's numbers.
  void activation();

  /// Every operand and result is of a floating-point type.
  void floating();
  /// The same but for the operand `workspace`, if there is one, and output `workspace_output` (-1: none), which are
  /// uint8 of shape [1].
  void floating_beside_workspace(int workspace_output);
  void rank(const Value& value, size_t rank);
  /// Dims of a value that may not depend on the batch; empty on failure.
  std::vector<int64_t> static_dims(const Value& value);
  void shape(const Value& value, const Shape& expected);
  /// A size in an attribute, with symbols that `place` may use.
  void extent(const Json& json, const std::string& what);

 private:
  const Json* attribute(const char* name);

  const CheckScope& scope_;
  const Step& step_;
  std::optional<std::string> problem_;
};

std::string to_string(const Shape& shape);

/// The problem with `extent` in something that stands at `place`: an unknown symbol, a chunk of another
/// region, a number beyond what sizes may be; none if it is fine.
std::optional<std::string> problem_of(const Extent& extent, const CheckScope& scope, const Place& place);

/// Sizes that windows of `span` elements, `stride` apart, give along a dimension: floor((size + padding -
/// span) / stride) + 1, PyTorch's. With `ceil_mode` the quotient is rounded up, but no window starts in the
/// padding behind the input (`padding_begin` being what stands before it). Empty where no window fits or, for
/// a size that depends on the batch, the result isn't linear.
std::optional<Extent> window_count(const Extent& size, int64_t padding_begin, int64_t padding_end,
                                   int64_t span, int64_t stride, bool ceil_mode);

/// Checks one step of an executable program by its op.
void check_operation(StepCheck& check);
/// Checks scatter, replicate, gather, transfer, reduce and first; false if the step is none of them.
bool check_movement(StepCheck& check);

void check_linear(StepCheck& check);
void check_matmul(StepCheck& check);
void check_conv(StepCheck& check);
void check_conv_transpose(StepCheck& check);
void check_max_pool(StepCheck& check);
void check_avg_pool(StepCheck& check);
void check_adaptive_avg_pool(StepCheck& check);
void check_lstm(StepCheck& check);
void check_gru(StepCheck& check);

// Of a training step (docs/training.md).
void check_conv_backward_data(StepCheck& check);
void check_conv_backward_weight(StepCheck& check);
void check_linear_backward_data(StepCheck& check);
void check_linear_backward_weight(StepCheck& check);
void check_batch_norm_train(StepCheck& check);
void check_batch_norm_backward(StepCheck& check);
void check_max_pool_train(StepCheck& check);
void check_max_pool_backward(StepCheck& check);
void check_avg_pool_backward(StepCheck& check);
void check_adaptive_avg_pool_backward(StepCheck& check);
void check_lstm_train(StepCheck& check);
void check_lstm_backward(StepCheck& check);
void check_gru_train(StepCheck& check);
void check_gru_backward(StepCheck& check);

}  // namespace sheaf
