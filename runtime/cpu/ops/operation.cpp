#include "runtime/cpu/ops/operation.h"

namespace sheaf {

void require(bool condition, const std::string& otherwise) {
  if (!condition) throw OperationError(otherwise);
}

Operation::Operation(const PrepareRequest& request) : request(request) {
  require(request.step.roles.size() == request.inputs.size(), "a step needs one role per input");
  require(request.threads >= 1, "a step needs at least one thread");
  if (!request.inputs.empty() && request.inputs[0].dtype == DType::bfloat16) dtype_ = DType::bfloat16;
}

int Operation::find(std::string_view role) const {
  const auto& roles = request.step.roles;
  for (size_t i = 0; i < roles.size(); ++i)
    if (roles[i] == role) return int(i);
  return -1;
}

const TensorSpec& Operation::operand(std::string_view role, DType dtype) const {
  int index = find(role);
  require(index >= 0, "operand '" + std::string(role) + "' is missing");
  const TensorSpec& tensor = request.inputs[index];
  require(tensor.dtype == dtype, "operand '" + std::string(role) + "' is " + std::string(name_of(tensor.dtype)) +
                                     ", expected " + std::string(name_of(dtype)));
  return tensor;
}

const TensorSpec& Operation::output(size_t index, DType dtype) const {
  require(index < request.outputs.size(), "output " + std::to_string(index) + " is missing");
  const TensorSpec& tensor = request.outputs[index];
  require(tensor.dtype == dtype, "the output is " + std::string(name_of(tensor.dtype)) + ", expected " +
                                     std::string(name_of(dtype)));
  return tensor;
}

bool Operation::constant(std::string_view role) const {
  int index = find(role);
  return index >= 0 && size_t(index) < request.constant.size() && request.constant[index];
}

int64_t Operation::integer(const char* name, int64_t otherwise) const {
  return integers(name, 1, otherwise, INT32_MIN).front();
}

bool Operation::flag(const char* name, bool otherwise) const {
  auto it = request.step.attributes.find(name);
  if (it == request.step.attributes.end() || it->is_null()) return otherwise;
  require(it->is_boolean(), std::string("attribute '") + name + "' should be true or false");
  return it->get<bool>();
}

std::vector<int64_t> Operation::integers(const char* name, size_t count, int64_t otherwise,
                                         int64_t least) const {
  std::vector<int64_t> values(count, otherwise);
  auto it = request.step.attributes.find(name);
  if (it == request.step.attributes.end() || it->is_null()) return values;
  const std::string wanted = std::string("attribute '") + name + "' should be " + std::to_string(count) +
                             " integer(s) from " + std::to_string(least) + " to 2147483647";
  require(!it->is_array() || it->size() == count, wanted);
  for (size_t i = 0; i < count; ++i) {
    const Json& value = it->is_array() ? (*it)[i] : *it;
    require(value.is_number_integer(), wanted);
    values[i] = value.get<int64_t>();
    require(values[i] >= least && values[i] <= INT32_MAX, wanted);
  }
  return values;
}

Prepared Operation::prepared() const {
  Prepared result;
  for (const TensorSpec& tensor : request.inputs)
    result.inputs.push_back(plain_tensor(tensor.dtype, tensor.dims));
  for (const TensorSpec& tensor : request.outputs)
    result.outputs.push_back(plain_tensor(tensor.dtype, tensor.dims));
  return result;
}

std::string to_string(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

int64_t product(const std::vector<int64_t>& dims, size_t begin, size_t end) {
  int64_t result = 1;
  for (size_t i = begin; i < end; ++i) result *= dims[i];
  return result;
}

std::string activation_letters(size_t rank) {
  switch (rank) {
    case 2:
      return "nc";
    case 3:
      return "ncw";
    case 4:
      return "nchw";
    case 5:
      return "ncdhw";
    default:
      return "";
  }
}

}  // namespace sheaf
