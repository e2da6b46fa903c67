#include "runtime/steps/rnn_shape.h"

#include "runtime/ops/recurrent.h"

#include <algorithm>

namespace sheaf {
namespace {

void check(const StepOperands& operation, const std::string& role, const Shape& expected) {
  const auto& dims = operation.operand(role).dims;
  require(Shape(dims.begin(), dims.end()) == expected,
          role + " has shape " + to_string(dims) + ", expected " + to_string(expected));
}

}  // namespace

std::string RnnShape::role(const char* name, int64_t layer, int64_t direction) {
  return std::string(name) + "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
}

RnnShape rnn_shape(const StepOperands& operation, int64_t gates, const std::vector<Dims>& results) {
  const TensorSpec& x = operation.operand("x");
  const size_t rank = x.dims.size();
  require(rank == 2 || rank == 3, "x has shape " + to_string(x.dims) + ", expected 2 or 3 dimensions");
  RnnShape s;
  s.gates = gates;
  s.batch_first = operation.flag("batch_first", false) && rank == 3;
  s.bias = operation.flag("bias", true);
  s.relu = operation.flag("relu", false);
  s.directions = operation.flag("bidirectional", false) ? 2 : 1;
  s.layers = operation.integer("num_layers", 1);
  s.hidden = operation.integer("hidden_size", 0);
  require(s.layers >= 1 && s.hidden >= 1, "hidden_size and num_layers should be at least 1");
  s.steps = rank == 3 && s.batch_first ? x.dims[1] : x.dims[0];
  s.rows = rank == 2 ? 1 : s.batch_first ? x.dims[0] : x.dims[1];
  s.features = x.dims.back();

  const RecurrentSizes sizes{gates, s.hidden, s.layers, s.directions, s.batch_first, s.bias};
  const auto [y, state] = recurrent_results(sizes, Shape(x.dims.begin(), x.dims.end()));
  const size_t outputs = gates == 4 ? 3 : 2;
  require(results.size() == outputs, "expected " + std::to_string(outputs) + " outputs");
  for (size_t i = 0; i < outputs; ++i) {
    const Dims& dims = results[i];
    const Shape& expected = i == 0 ? y : state;
    require(Shape(dims.begin(), dims.end()) == expected,
            "output " + std::to_string(i) + " has shape " + to_string(dims) + ", expected " + to_string(expected));
  }
  if (operation.has("h0")) check(operation, "h0", state);
  if (operation.has("c0")) check(operation, "c0", state);
  require(gates != 4 || operation.has("h0") == operation.has("c0"), "h0 and c0 should be given together");
  for (const RecurrentWeight& weight : recurrent_weights(sizes, Extent(s.features)))
    check(operation, weight.role, weight.shape);
  return s;
}

bool RnnGradients::has(std::string_view role) const { return std::find(roles.begin(), roles.end(), role) != roles.end(); }

size_t RnnGradients::of(std::string_view role) const {
  const auto found = std::find(roles.begin(), roles.end(), role);
  require(found != roles.end(), "operand '" + std::string(role) + "' is missing");
  return static_cast<size_t>(found - roles.begin());
}

RnnGradients rnn_gradients(const StepOperands& operation, const RnnShape& shape) {
  RnnGradients gradients;
  for (const char* role : {"x", "h0", "c0"})
    if (operation.has(role)) gradients.roles.emplace_back(role);
  gradients.first_weight = gradients.roles.size();
  const RecurrentSizes sizes{shape.gates, shape.hidden, shape.layers, shape.directions, shape.batch_first, shape.bias};
  for (RecurrentWeight& weight : recurrent_weights(sizes, Extent(shape.features)))
    gradients.roles.push_back(std::move(weight.role));
  const size_t count = gradients.roles.size();
  require(operation.request.outputs.size() == count,
          "expected " + std::to_string(count) + " outputs: dx, the states' gradients and the weights'");
  for (size_t i = 0; i < count; ++i) {
    const Dims &found = operation.output(i).dims, &expected = operation.operand(gradients.roles[i]).dims;
    require(found == expected,
            "output " + std::to_string(i) + " has shape " + to_string(found) + ", expected " + to_string(expected));
  }
  for (const auto& [gradient, value] : {std::pair("dy", "y"), std::pair("dh", "h"), std::pair("dc", "c")})
    if (operation.has(gradient))
      require(operation.operand(gradient).dims == operation.operand(value).dims,
              std::string(gradient) + " should have the shape of " + value);
  return gradients;
}

std::vector<Dims> output_dims(const StepOperands& operation) {
  std::vector<Dims> dims;
  for (const TensorSpec& output : operation.request.outputs)
    if (output.dtype == DType::float32) dims.push_back(output.dims);
  return dims;
}

}  // namespace sheaf
