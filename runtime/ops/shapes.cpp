#include "runtime/ops/shapes.h"

#include <algorithm>

namespace sheaf {
namespace {

size_t index_of(std::span<const std::string> roles, std::string_view role) {
  return static_cast<size_t>(std::find(roles.begin(), roles.end(), role) - roles.begin());
}

}  // namespace

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const Extent& extent : shape) text += (text.size() > 1 ? ", " : "") + to_string(extent);
  return text + "]";
}

bool is_unknown(const Extent& size) { return size.terms.contains(kUnknownSize); }

bool may_equal(const Extent& a, const Extent& b) { return a == b || is_unknown(a) || is_unknown(b); }

bool may_equal(const Shape& a, const Shape& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const Extent& x, const Extent& y) { return may_equal(x, y); });
}

const Shape* OpShapes::find(std::string_view role) const {
  const size_t index = index_of(roles, role);
  return index < inputs.size() ? &inputs[index] : nullptr;
}

int64_t OpShapes::integer(const char* name) const { return attributes.at(name).get<int64_t>(); }

std::vector<int64_t> OpShapes::integers(const char* name) const { return attributes.at(name).get<std::vector<int64_t>>(); }

bool OpShapes::flag(const char* name) const { return attributes.value(name, false); }

ResultShape workspace_result() { return {{Extent(1)}, ResultShape::workspace}; }

std::span<const int64_t> SizedOp::input(std::string_view role) const {
  const size_t index = index_of(roles, role);
  return index < inputs.size() ? inputs[index] : std::span<const int64_t>();
}

bool SizedOp::has(std::string_view role) const { return index_of(roles, role) < inputs.size(); }

double SizedOp::input_elements(std::string_view role) const {
  const size_t index = index_of(roles, role);
  return index < inputs.size() ? product(inputs[index]) : 0;
}

double SizedOp::first_input_elements() const { return inputs.empty() ? 0 : product(inputs[0]); }

double SizedOp::output_elements(size_t index) const { return index < outputs.size() ? product(outputs[index]) : 0; }

double product(std::span<const int64_t> dims) {
  double result = 1;
  for (int64_t dim : dims) result *= static_cast<double>(dim);
  return result;
}

}  // namespace sheaf
