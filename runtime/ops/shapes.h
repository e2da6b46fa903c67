// The view that an operation's rule has of it: attributes within their bounds, and its operands' shapes by role.
#pragma once

#include "runtime/base/extent.h"
#include "runtime/plan/op.h"

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

using Shape = std::vector<Extent>;
std::string to_string(const Shape& shape);

/// The symbol that the compiler's verifiers use for a size that a type doesn't state. No plan has it.
inline constexpr const char* kUnknownSize = "?";
bool is_unknown(const Extent& size);
/// Equal, or one of them isn't known.
bool may_equal(const Extent& a, const Extent& b);
bool may_equal(const Shape& a, const Shape& b);

/// An operation for its shape rule.
struct OpShapes {
  Op op;
  const nlohmann::ordered_json& attributes;
  std::span<const std::string> roles;  ///< of the inputs
  std::span<const Shape> inputs;
  /// Results as a plan states them; none if the compiler infers them. For rules whose sizes come only from the result.
  std::span<const Shape> results = {};
  /// Whether x may lack the batch dimension, as a layer's input may in PyTorch. A plan's steps always have it.
  bool unbatched = false;

  /// The operand of a role; null if there is none.
  const Shape* find(std::string_view role) const;
  /// The same for an operand that the operation's traits require.
  const Shape& operand(std::string_view role) const { return *find(role); }
  int64_t integer(const char* name) const;
  std::vector<int64_t> integers(const char* name) const;
  /// False if the attribute is absent.
  bool flag(const char* name) const;
  bool has(const char* name) const { return attributes.contains(name); }
};

/// A result. Its elements have the first operand's type; or it is a sum over rows (gradients of weights, statistics), which is
/// always float32; or a workspace: data for a backward operation in a library's own format, uint8 [1] to a plan.
struct ResultShape {
  enum Elements : uint8_t { alike, sums, workspace };
  Shape shape;
  Elements elements = alike;
};
using ResultShapes = std::vector<ResultShape>;
ResultShape workspace_result();

/// An operation of known sizes, for its cost.
struct SizedOp {
  Op op;
  const nlohmann::ordered_json& attributes;
  std::span<const std::string> roles;  ///< of the inputs; empty for operations that binding adds
  std::vector<std::span<const int64_t>> inputs, outputs;

  std::span<const int64_t> input(std::string_view role) const;  ///< empty if there is none
  bool has(std::string_view role) const;
  double input_elements(std::string_view role) const;  ///< 0 if there is none
  double first_input_elements() const;
  double output_elements(size_t index = 0) const;
};

double product(std::span<const int64_t> dims);

}  // namespace sheaf
