#include "runtime/session/given_tensors.h"

#include "runtime/base/suggest.h"
#include "runtime/check/lengths.h"
#include "runtime/session/model_state.h"

#include <algorithm>

namespace sheaf {

Result<std::vector<GivenTensor>> in_order(std::string_view what, std::span<const ValueInfo> values,
                                          std::vector<GivenTensor> given) {
  const auto named =
      static_cast<size_t>(std::ranges::count_if(given, [](const GivenTensor& tensor) { return !tensor.name.empty(); }));
  std::vector<std::string> known;
  for (const ValueInfo& value : values) known.push_back(value.name);
  const std::string expected = known.empty() ? "none" : quoted_list(known);
  if (named == 0) {
    if (given.size() == values.size()) return given;
    return Error(std::to_string(given.size()) + " " + std::string(what) + "s are given; the model has " + expected);
  }
  if (named < given.size())
    return Error("of the " + std::string(what) + "s some have names and some don't: name all, or none and give them in order");
  std::vector<GivenTensor> ordered(values.size());
  std::vector<bool> found(values.size());
  for (const GivenTensor& tensor : given) {
    const std::string name(tensor.name);
    const auto at = static_cast<size_t>(std::ranges::find(known, name) - known.begin());
    if (at == known.size()) {
      const auto near = nearest(name, known);
      return Error("there is no " + std::string(what) + " '" + name + "'; the model has " + expected +
                   (near ? "; did you mean '" + *near + "'?" : ""));
    }
    if (found[at]) return Error(std::string(what) + " '" + name + "' is given twice");
    found[at] = true;
    ordered[at] = tensor;
  }
  const auto missing = static_cast<size_t>(std::ranges::find(found, false) - found.begin());
  if (missing < values.size()) return Error(std::string(what) + " '" + known[missing] + "' is missing");
  return ordered;
}

std::optional<int64_t> rows_of(std::span<const ValueInfo> values, std::span<const GivenTensor> given) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto dim = static_cast<size_t>(values[i].batch_dim);
    if (values[i].batch_dim >= 0 && dim < given[i].shape.size()) return given[i].shape[dim];
  }
  return {};
}

Result<BoundSize> size_of(std::string_view what, std::span<const ValueInfo> values, std::span<const GivenTensor> given,
                          const std::vector<Length>& lengths, const BoundSize& whole) {
  BoundSize size{rows_of(values, given).value_or(whole.rows), whole.lengths};
  if (lengths.empty()) return size;
  GivenLengths stated;
  for (size_t i = 0; i < given.size(); ++i)
    SHEAF_TRY(stated.add(lengths, values[i].shape, given[i].shape, std::string(what) + " '" + values[i].name + "'"));
  for (const auto& [length, number] : stated.numbers()) size.lengths[length] = number;
  return size;
}

Result<const void*> buffer_of(std::string_view what, const ValueInfo& value, std::span<const int64_t> shape,
                              const GivenTensor& tensor) {
  if (tensor.dtype != value.dtype || !std::ranges::equal(tensor.shape, shape)) {
    return Error(std::string(what) + " '" + value.name + "' is " + described(tensor.dtype, tensor.shape) + "; expected " +
                 described(value.dtype, shape));
  }
  if (tensor.data) return tensor.data;
  // A run wants an address for what has no bytes, too.
  alignas(64) static std::byte nothing;
  if (std::ranges::count(shape, 0) > 0) return static_cast<const void*>(&nothing);
  return Error(std::string(what) + " '" + value.name + "' has no address");
}

}  // namespace sheaf
