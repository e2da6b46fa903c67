#include "runtime/bind/byte_inputs.h"

#include <algorithm>

namespace sheaf {

Result<void> check_bytes(const Plan& plan, const Program& program, const ByteInputs& bytes) {
  const bool infers = &program == &plan.infer;
  const std::vector<Value>& values = infers ? plan.infer.values : plan.train.values;
  for (const auto& [name, numbers] : bytes) {
    const auto refuse = [&, &name = name](const std::string& why) {
      return Error({plan.file, 0, 0}, "bytes for '" + name + "': " + why);
    };
    const auto input = std::ranges::find_if(values, [&, &name = name](const Value& value) {
      return value.name == name && (value.role == Value::input || value.role == Value::target);
    });
    if (input == values.end())
      return refuse(infers ? "the model has no such input" : "the training step has no such input or target");
    if (input->dtype != DType::float32) return refuse("it is " + std::string(name_of(input->dtype)) + ", not float32");
    const size_t channels = numbers.size() / 256;
    const bool by_channel = input->shape.size() >= 2 && input->shape[1].is_static() &&
                            input->shape[1].constant == static_cast<int64_t>(channels) && channels <= kMostByteChannels;
    if (numbers.size() % 256 != 0 || (channels != 1 && !by_channel))
      return refuse(std::to_string(numbers.size()) + " numbers; there are 256, or 256 for each of at most " +
                    std::to_string(kMostByteChannels) + " channels");
  }
  return {};
}

}  // namespace sheaf
