#include "tools/estimate/library_operation.h"

#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

LibraryOperation library_operation(Op op, std::vector<std::string> roles, std::vector<TensorSpec> inputs,
                                   std::vector<TensorSpec> outputs, Json attributes = Json::object()) {
  LibraryOperation made{{}, std::move(inputs), std::move(outputs)};
  made.step.op = op;
  made.step.roles = std::move(roles);
  int value = 0;
  for (size_t i = 0; i < made.inputs.size(); ++i) made.step.inputs.push_back(value++);
  for (size_t i = 0; i < made.outputs.size(); ++i) made.step.outputs.push_back(value++);
  made.step.attributes = std::move(attributes);
  made.step.layer = "calibration";
  return made;
}

/// What a training step keeps for its gradient (runtime/cpu/ops/workspace.h).
TensorSpec workspace() { return plain_tensor(DType::uint8, {1}); }

constexpr int64_t kSteps = 16, kRows = 32, kHidden = 256;

/// x, weights and biases.
const std::vector<std::string> kLstmRoles = {"x", "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"};

std::vector<TensorSpec> lstm_operands() {
  const TensorSpec weight = plain_tensor(DType::float32, {4 * kHidden, kHidden}),
                   bias = plain_tensor(DType::float32, {4 * kHidden});
  return {plain_tensor(DType::float32, {kSteps, kRows, kHidden}), weight, weight, bias, bias};
}

Json lstm_attributes() {
  return {{"hidden_size", kHidden}, {"num_layers", 1}, {"bidirectional", false}, {"batch_first", false}, {"bias", true}};
}

/// h or c behind the last time step.
TensorSpec lstm_state() { return plain_tensor(DType::float32, {1, kRows, kHidden}); }

}  // namespace

LibraryOperation product(int64_t side, DType dtype) {
  const TensorSpec square = plain_tensor(dtype, {side, side});
  return library_operation(Op::matmul, {"a", "b"}, {square, square}, {square});
}

std::vector<LibraryOperation> convolutions(int64_t rows, int64_t side, int64_t channels, int64_t groups, DType dtype) {
  const int64_t each = channels / groups;
  const std::vector<int64_t> taps = {channels, each, 3, 3};
  const TensorSpec image = plain_tensor(dtype, {rows, channels, side, side}), weight = plain_tensor(dtype, taps),
                   small = plain_tensor(dtype, {rows, channels, side / 2, side / 2}),
                   wide = plain_tensor(dtype, {channels, each, 4, 4}), dweight = plain_tensor(DType::float32, taps);
  const Json ones = Json::array({1, 1}), twos = Json::array({2, 2}), none = Json::array({0, 0});
  const Json conv = {{"stride", ones}, {"padding_begin", ones}, {"padding_end", ones}, {"dilation", ones}, {"groups", groups}};
  Json data = conv, gradient = conv;
  data["size"] = Json::array({side, side});
  gradient["kernel_size"] = Json::array({3, 3});
  gradient["bias"] = false;
  const Json transposed = {
      {"stride", twos}, {"padding", ones}, {"output_padding", none}, {"dilation", ones}, {"groups", groups}};
  return {
      library_operation(Op::conv, {"x", "weight"}, {image, weight}, {image}, conv),
      library_operation(Op::conv_backward_data, {"dy", "weight"}, {image, weight}, {image}, data),
      library_operation(Op::conv_backward_weight, {"x", "dy"}, {image, image}, {dweight}, gradient),
      library_operation(Op::conv_transpose, {"x", "weight"}, {small, wide}, {image}, transposed),
  };
}

std::vector<LibraryOperation> linears(DType dtype) {
  constexpr int64_t kRows = 512, kIn = 256, kOut = 1024;
  const TensorSpec x = plain_tensor(dtype, {kRows, kIn}), y = plain_tensor(dtype, {kRows, kOut}),
                   weight = plain_tensor(dtype, {kOut, kIn}), bias = plain_tensor(DType::float32, {kOut}),
                   dweight = plain_tensor(DType::float32, {kOut, kIn});
  return {
      library_operation(Op::linear, {"x", "weight", "bias"}, {x, weight, bias}, {y}),
      library_operation(Op::linear_backward_data, {"dy", "weight"}, {y, weight}, {x}),
      library_operation(Op::linear_backward_weight, {"x", "dy"}, {x, y}, {dweight, bias}, {{"bias", true}}),
  };
}

LibraryOperation batch_norm(const TensorSpec& image, const Json& attributes) {
  const TensorSpec channels = plain_tensor(image.dtype, {image.dims[1]});
  return library_operation(Op::batch_norm_train, {"x", "weight", "bias"}, {image, channels, channels},
                           {image, channels, channels, workspace()}, attributes);
}

LibraryOperation batch_norm_backward(const TensorSpec& image, const TensorSpec& kept, const Json& attributes) {
  const TensorSpec channels = plain_tensor(image.dtype, {image.dims[1]});
  return library_operation(Op::batch_norm_backward, {"x", "dy", "mean", "var", "weight", "workspace"},
                           {image, image, channels, channels, channels, kept}, {image, channels, channels}, attributes);
}

LibraryOperation lstm(Op op) {
  std::vector<TensorSpec> operands = lstm_operands(), results = {operands[0], lstm_state(), lstm_state()};
  if (op == Op::lstm_train) results.push_back(workspace());
  return library_operation(op, kLstmRoles, std::move(operands), std::move(results), lstm_attributes());
}

LibraryOperation lstm_backward(const TensorSpec& kept) {
  const std::vector<TensorSpec> operands = lstm_operands();
  std::vector<TensorSpec> inputs = operands;
  std::vector<std::string> roles = kLstmRoles;
  const TensorSpec& sequence = operands[0];
  const TensorSpec state = lstm_state();
  for (const auto& [role, tensor] :
       {std::pair("y", &sequence), {"h", &state}, {"c", &state}, {"workspace", &kept}, {"dy", &sequence}}) {
    roles.emplace_back(role);
    inputs.push_back(*tensor);
  }
  return library_operation(Op::lstm_backward, std::move(roles), std::move(inputs), operands, lstm_attributes());
}

}  // namespace sheaf
