// One step being checked, with typed access to its operands and attributes (internal to runtime/check).
#pragma once

#include "runtime/check/check.h"
#include "runtime/ops/shapes.h"
#include "runtime/plan/plan.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sheaf {

/// A program being checked, and the things its parts refer to by name.
struct CheckScope {
  CheckScope(const Plan& plan, const Program& program);

  const Plan& plan;
  const Program& program;
  std::unordered_map<std::string, const Symbol*> symbols;
  std::unordered_map<std::string, const Kernel*> kernels;
  std::unordered_map<std::string, const Parameter*> parameters;
  std::unordered_map<std::string, const Parameter*> state;
};

/// Keeps the first problem; later queries get harmless answers, so an operation's checks need to stop only before they
/// use missing operands.
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

  /// Exactly `count` outputs. False on failure.
  bool outputs(size_t count);
  bool inputs(size_t count);

  /// Attributes have these names and no others; all but those in `optional` are present.
  void attributes(std::initializer_list<std::string_view> required, std::initializer_list<std::string_view> optional = {});
  int64_t integer(const char* name, int64_t lowest, int64_t highest);
  std::vector<int64_t> integers(const char* name, size_t count, int64_t lowest, int64_t highest);
  bool boolean(const char* name);
  std::string text(const char* name);
  /// The attribute "dim", made non-negative for `rank` dimensions.
  size_t dim(size_t rank);
  /// Has a floating-point type; a workspace is uint8 of shape [1].
  void floating(const Value& value, bool workspace = false);
  void rank(const Value& value, size_t rank);
  void shape(const Value& value, const Shape& expected);
  /// A size in an attribute, with symbols that `place` may use.
  void extent(const Json& json, const std::string& what);

 private:
  const Json* attribute(const char* name);

  const CheckScope& scope_;
  const Step& step_;
  std::optional<std::string> problem_;
};

/// The problem with `extent` in something at `place`: an unknown symbol, a chunk of another
/// region, a number beyond the limits of sizes; none if it is fine.
std::optional<std::string> problem_of(const Extent& extent, const CheckScope& scope, const Place& place);

/// Checks one step of an executable program by its op.
void check_operation(StepCheck& check);
/// Checks a step that carries a value from one place to another.
void check_movement(StepCheck& check);

}  // namespace sheaf
