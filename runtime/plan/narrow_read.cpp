#include "runtime/plan/narrow_read.h"

#include <algorithm>

namespace sheaf {

std::optional<NarrowRead> narrow_read(const Step& step) {
  const auto found = step.attributes.find("narrow");
  if (found == step.attributes.end() || !found->is_object() || found->size() != 3) return std::nullopt;
  const auto input = found->find("input"), dtype = found->find("dtype"), kernel = found->find("kernel");
  if (input == found->end() || dtype == found->end() || kernel == found->end()) return std::nullopt;
  if (!input->is_number_integer() || !dtype->is_string() || !kernel->is_string()) return std::nullopt;
  // A negative number is beyond any count as an unsigned one.
  if (input->get<uint64_t>() >= step.inputs.size()) return std::nullopt;
  const auto type = dtype_from_name(dtype->get<std::string>());
  if (!type || (*type != DType::bfloat16 && *type != DType::float16)) return std::nullopt;
  return NarrowRead{input->get<size_t>(), *type, kernel->get<std::string>()};
}

Json to_json(const NarrowRead& narrow) {
  return {{"input", narrow.input}, {"dtype", std::string(name_of(narrow.dtype))}, {"kernel", narrow.kernel}};
}

Step narrowed(const Step& step, const NarrowRead& narrow) {
  Step other = step;
  other.kernel = narrow.kernel;
  const auto pairs = other.attributes.find("in_place");
  if (pairs != other.attributes.end() && pairs->is_array())
    pairs->erase(std::remove_if(pairs->begin(), pairs->end(),
                                [&](const Json& pair) { return pair.is_array() && !pair.empty() && pair[0] == narrow.input; }),
                 pairs->end());
  return other;
}

}  // namespace sheaf
