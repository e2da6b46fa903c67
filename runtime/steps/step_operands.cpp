#include "runtime/steps/step_operands.h"

namespace sheaf {

void require(bool condition, const std::string& otherwise) {
  if (!condition) throw OperationError(otherwise);
}

StepOperands::StepOperands(const PrepareRequest& request) : request(request) {
  require(request.step.roles.size() == request.inputs.size(), "a step needs one role per input");
  require(request.threads >= 1, "a step needs at least one thread");
  if (request.inputs.empty()) return;
  const DType first = request.inputs[0].dtype;
  if (first == DType::bfloat16 || first == DType::float16) dtype_ = first;
}

int StepOperands::find(std::string_view role) const {
  const auto& roles = request.step.roles;
  for (size_t i = 0; i < roles.size(); ++i)
    if (roles[i] == role) return int(i);
  return -1;
}

const TensorSpec& StepOperands::operand(std::string_view role, DType dtype) const {
  int index = find(role);
  require(index >= 0, "operand '" + std::string(role) + "' is missing");
  const TensorSpec& tensor = request.inputs[index];
  require(tensor.dtype == dtype, "operand '" + std::string(role) + "' is " + std::string(name_of(tensor.dtype)) +
                                     ", expected " + std::string(name_of(dtype)));
  return tensor;
}

const TensorSpec& StepOperands::output(size_t index, DType dtype) const {
  require(index < request.outputs.size(), "output " + std::to_string(index) + " is missing");
  const TensorSpec& tensor = request.outputs[index];
  require(tensor.dtype == dtype,
          "the output is " + std::string(name_of(tensor.dtype)) + ", expected " + std::string(name_of(dtype)));
  return tensor;
}

bool StepOperands::constant(std::string_view role) const {
  int index = find(role);
  return index >= 0 && size_t(index) < request.constant.size() && request.constant[index];
}

int64_t StepOperands::integer(const char* name, int64_t otherwise) const {
  return integers(name, 1, otherwise, INT32_MIN).front();
}

bool StepOperands::flag(const char* name, bool otherwise) const {
  auto it = request.step.attributes.find(name);
  if (it == request.step.attributes.end() || it->is_null()) return otherwise;
  require(it->is_boolean(), std::string("attribute '") + name + "' should be true or false");
  return it->get<bool>();
}

Dims StepOperands::integers(const char* name, size_t count, int64_t otherwise, int64_t least) const {
  Dims values(count, otherwise);
  auto it = request.step.attributes.find(name);
  if (it == request.step.attributes.end() || it->is_null()) return values;
  const std::string wanted = std::string("attribute '") + name + "' should be " + std::to_string(count) + " integer(s) from " +
                             std::to_string(least) + " to 2147483647";
  require(!it->is_array() || it->size() == count, wanted);
  for (size_t i = 0; i < count; ++i) {
    const Json& value = it->is_array() ? (*it)[i] : *it;
    require(value.is_number_integer(), wanted);
    values[i] = value.get<int64_t>();
    require(values[i] >= least && values[i] <= INT32_MAX, wanted);
  }
  return values;
}

Prepared StepOperands::prepared() const {
  Prepared result;
  for (const TensorSpec& tensor : request.inputs) result.inputs.push_back(plain_tensor(tensor.dtype, tensor.dims));
  for (const TensorSpec& tensor : request.outputs) result.outputs.push_back(plain_tensor(tensor.dtype, tensor.dims));
  return result;
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

int64_t product(const Dims& dims, size_t begin, size_t end) {
  int64_t result = 1;
  for (size_t i = begin; i < end; ++i) result *= dims[i];
  return result;
}

}  // namespace sheaf
