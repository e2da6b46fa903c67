// Tensors that a caller gives to a run: matches them with the model's values and checks that they fit.
#pragma once

#include "runtime/session/bound_sizes.h"
#include "sheaf/model.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// A TensorView or a MutableTensorView.
struct GivenTensor {
  std::string_view name;
  DType dtype = DType::float32;
  std::span<const int64_t> shape;
  const void* data = nullptr;
};

template <typename View>
std::vector<GivenTensor> given_tensors(std::span<const View> views) {
  std::vector<GivenTensor> given;
  for (const View& view : views) given.push_back({view.name, view.dtype, view.shape, view.data});
  return given;
}

/// `given` in the order of `values`: by name, or in the given order if none has a name. `what` they are: "input". Errors: some
/// have names and some don't; one is missing, superfluous or given twice.
Result<std::vector<GivenTensor>> in_order(std::string_view what, std::span<const ValueInfo> values,
                                          std::vector<GivenTensor> given);

/// The number of rows in `given`, in the order of `values`: from the first whose sizes depend on the batch; none if none does.
std::optional<int64_t> rows_of(std::span<const ValueInfo> values, std::span<const GivenTensor> given);

/// Notes in `inputs` which of those in `bytes` a binding takes as bytes: it takes input i as dtype(i). `whole`: it is the whole
/// batch's, the first one. Error: another size's takes other data than the whole batch's.
template <typename DtypeOf>
Result<void> take_bytes(std::vector<ValueInfo>& inputs, const std::map<std::string, ByteNumbers>& bytes, bool whole,
                        DtypeOf dtype) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!bytes.contains(inputs[i].name) || dtype(i) == inputs[i].dtype) continue;
    if (!whole) return Error("internal error: batches of other sizes take '" + inputs[i].name + "' as other data");
    inputs[i].dtype = dtype(i);
  }
  return {};
}
/// The rows and lengths that `given` has, in the order of `values`; `whole` where it doesn't say. Errors: a length below 1 or above
/// its largest number; two that give a length two numbers.
Result<BoundSize> size_of(std::string_view what, std::span<const ValueInfo> values, std::span<const GivenTensor> given,
                          const std::vector<Length>& lengths, const BoundSize& whole);

/// The address of `tensor`, which is `value` and must have `shape`. Errors: it has another dtype or shape; it has elements but
/// no address.
Result<const void*> buffer_of(std::string_view what, const ValueInfo& value, std::span<const int64_t> shape,
                              const GivenTensor& tensor);

}  // namespace sheaf
