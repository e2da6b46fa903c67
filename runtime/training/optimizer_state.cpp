// The tensors that a trainer changes besides the model's parameters: the optimiser's state, by name.
#include "runtime/base/exception.h"
#include "runtime/base/suggest.h"
#include "runtime/training/trainer_state.h"

#include <algorithm>

namespace sheaf {

const std::vector<ParameterInfo>& Trainer::state() const { return state_->lasting; }

Result<void> Trainer::read_state(size_t index, std::span<std::byte> plain) const try {
  if (index >= state().size())
    return Error("the optimiser's state has " + std::to_string(state().size()) + " entries; there is no number " +
                 std::to_string(index));
  return state_->model.state()->read(state()[index], plain);
} catch (...) {
  return error_of_exception();
}

Result<HostTensor> Trainer::read_state(std::string_view name) const try {
  const auto found = std::ranges::find(state(), name, &ParameterInfo::name);
  if (found == state().end()) {
    std::vector<std::string> known;
    for (const ParameterInfo& entry : state()) known.push_back(entry.name);
    const auto near = nearest(std::string(name), known);
    return Error("the optimiser's state has no entry '" + std::string(name) + "'" +
                 (near ? "; did you mean '" + *near + "'?" : ""));
  }
  SHEAF_ASSIGN(auto tensor, make_tensor(found->dtype, found->shape));
  SHEAF_TRY(read_state(static_cast<size_t>(found - state().begin()), tensor.bytes));
  return tensor;
} catch (...) {
  return error_of_exception();
}

Result<std::vector<NamedTensor>> Trainer::read_state() const try {
  std::vector<NamedTensor> tensors;
  for (const ParameterInfo& entry : state()) {
    SHEAF_ASSIGN(auto tensor, read_state(entry.name));
    tensors.push_back({entry.name, std::move(tensor)});
  }
  return tensors;
} catch (...) {
  return error_of_exception();
}

Result<void> Trainer::set_state(std::span<const TensorView> tensors) try {
  const std::vector<ParameterInfo>& entries = state();
  std::vector<const TensorView*> found(entries.size(), nullptr);
  std::vector<std::string> problems;
  for (const TensorView& tensor : tensors) {
    const auto i = static_cast<size_t>(std::ranges::find(entries, tensor.name, &ParameterInfo::name) - entries.begin());
    if (i == entries.size()) {
      problems.push_back("superfluous: '" + tensor.name + "'");
    } else if (found[i]) {
      problems.push_back("given twice: '" + tensor.name + "'");
    } else if (found[i] = &tensor; tensor.dtype != entries[i].dtype || tensor.shape != entries[i].shape) {
      problems.push_back("misshapen: '" + tensor.name + "' is " + described(tensor.dtype, tensor.shape) + "; expected " +
                         described(entries[i].dtype, entries[i].shape));
    }
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!found[i]) problems.push_back("missing: '" + entries[i].name + "'");
  }
  ModelState& model = *state_->model.state();
  if (!problems.empty()) {
    Error error("the optimiser's state doesn't fit model '" + model.plan->name + "': " + std::to_string(problems.size()) +
                (problems.size() == 1 ? " problem" : " problems"));
    for (std::string& problem : problems) error.note(std::move(problem));
    return error;
  }
  VariableStore& store = *model.store;
  const auto lock = store.lock();
  for (size_t i = 0; i < entries.size(); ++i) {
    SHEAF_ASSIGN(auto variable, store.variable(entries[i].name));
    SHEAF_TRY(store.write(variable, found[i]->data));
  }
  return {};
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
