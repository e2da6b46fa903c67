// Everything known about an operation except its implementations: one row per operation, one file per family. The nn dialect's
// shape inference, the plan's checker, binding, the backends, estimates and the page ask it; no code goes by a name's spelling.
#pragma once

#include "runtime/base/error.h"
#include "runtime/ops/shapes.h"
#include "runtime/plan/plan.h"

namespace sheaf {

/// Where the operand and the result of data movement live: on each replica of a region, or on one place. `among`: from the
/// replicas of a region to the same replicas. `within`: from a replica to itself.
enum class Route : uint8_t { none, to_replicas, to_one, between, among, within };
/// What moves: all of a value, its chunks along a dimension, or summands.
enum class Carries : uint8_t { nothing, whole, chunks, summands };

struct Movement {
  Route route = Route::none;
  Carries carries = Carries::nothing;
};
/// Each replica gets a chunk of what is on one place.
inline bool cuts_chunks(const Movement& movement) {
  return movement.route == Route::to_replicas && movement.carries == Carries::chunks;
}
/// Each replica gets all of what is on one place.
inline bool copies_to_replicas(const Movement& movement) {
  return movement.route == Route::to_replicas && movement.carries == Carries::whole;
}

/// Where an operation comes from.
enum class Source : uint8_t {
  program,  ///< nn ops that aren't library calls, and operations that the compiler inserts
  library,  ///< nn ops of this name: a call into a backend's library
  binding,  ///< operations that no plan has
};

/// In a training step: forward as in inference, forward with a workspace for the gradient, or the gradient.
enum class Pass : uint8_t { forward, training, backward };

/// What each element of a result is a sum of, apart from an activation: elements times fixed weights (averages), or products of
/// operands' elements, where narrow ones are multiplied as they are. Its error follows from a sum of magnitudes.
enum class Adds : uint8_t { nothing, elements, products };

struct AttributeRow {
  /// `per_dimension`: a list with an integer for each spatial dimension. `activation`: docs/steps.md.
  enum Kind : uint8_t { integer, per_dimension, number, flag, text, activation } kind = integer;
  std::string_view name;
  int64_t least = 0, most = 0;  ///< integer, per_dimension; `least` of a number
  bool optional = false;
  bool implied = false;  ///< only on the nn op: in a plan the results' shapes imply it
};

/// The role of data that a forward operation kept for its gradient.
inline constexpr std::string_view kWorkspaceRole = "workspace";

struct RoleRow {
  std::string_view name;
  bool optional = false;
  /// Represents all weights and biases of a recurrent layer (runtime/ops/recurrent.h).
  bool recurrent_weights = false;
  /// The operation's only row: any number of operands, name0, name1, … in this order (many_roles()).
  bool many = false;
};

struct OpTraits {
  Op op;
  Source source = Source::program;
  Movement movement = {};
  Pass pass = Pass::forward;
  std::span<const RoleRow> roles = {};
  std::span<const AttributeRow> attributes = {};
  /// The shapes of the results, given operands and attributes that fit the rows above. Errors say which operand doesn't fit.
  Result<ResultShapes> (*shapes)(const OpShapes&) = nullptr;
  /// Arithmetic by its definition (docs/estimate.md); null: none.
  double (*flops)(const SizedOp&) = nullptr;
  std::optional<Op> training = {};  ///< the same with a workspace as its last result
  Adds adds = Adds::nothing;
  bool sums_rows = false;   ///< without rows the result is zeros
  bool adds_parts = false;  ///< its results on parts of its operands, whatever parts, add up to that on the wholes
  bool centred = false;     ///< subtracts from its first operand's elements their mean, a rounded sum
  bool passes_on = false;   ///< its result consists of its first operand's elements, wherever it is
};

const OpTraits& traits(Op op);

/// Whether the operation carries a value from one place to another.
inline bool moves(Op op) { return traits(op).movement.route != Route::none; }
/// Whether it is a call into a backend's library.
inline bool is_library(Op op) { return traits(op).source == Source::library; }

/// Whether `result`, which `step` makes, is kept for its gradient: in a library's own format, uint8 [1] to the plan.
bool is_workspace(const Step& step, const Value& result);

/// Checks that attributes have the names of the op's row and values within bounds; lists for spatial dimensions, one length.
Result<void> check_attributes(Op op, const nlohmann::ordered_json& attributes);
/// The roles of `count` operands of one kind: name0, name1, …
std::vector<std::string> many_roles(std::string_view name, size_t count);

/// Checks that operands have the roles of its row, each at most once, the first one first.
Result<void> check_roles(Op op, const nlohmann::ordered_json& attributes, std::span<const std::string> roles);
/// Checks both, then applies the shape rule. Only for operations that have one.
Result<ResultShapes> result_shapes(const OpShapes& operation);

// Terms that operations share, for rows of flops.
/// Scalar functions of the attribute `activation`, for each element.
double activation_flops(const nlohmann::ordered_json& attributes);
/// Bias, residual and activation at the end of an operation.
double epilogue_flops(const SizedOp& op);
/// The sum that is a second result of a weight's gradient.
double bias_gradient_flops(const SizedOp& op);

// The families' rows.
std::span<const OpTraits> movements();  ///< data movement, and operations without a family
std::span<const OpTraits> linear_ops();
std::span<const OpTraits> convolutions();
std::span<const OpTraits> normalizations();
std::span<const OpTraits> poolings();
std::span<const OpTraits> recurrent_ops();
std::span<const OpTraits> counts();

}  // namespace sheaf
