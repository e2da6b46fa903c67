#include "runtime/training/trainer_tensors.h"

#include "runtime/training/optimizer_state.h"

#include <iterator>

namespace sheaf {

std::vector<const Parameter*> checkpoint_tensors(const Plan& plan) {
  std::vector<const Parameter*> all;
  for (const Parameter& parameter : plan.weights()) all.push_back(&parameter);
  for (const Parameter& state : lasting_state(plan)) all.push_back(&state);
  return all;
}

Result<std::vector<NamedTensor>> read_tensors(const Trainer& trainer) {
  SHEAF_ASSIGN(auto tensors, trainer.model().read_parameters());
  SHEAF_ASSIGN(auto state, trainer.read_state());
  std::move(state.begin(), state.end(), std::back_inserter(tensors));
  return tensors;
}

Result<void> set_tensors(Trainer& trainer, std::span<const HostTensor> tensors) {
  Model model = trainer.model();
  const std::vector<const Parameter*> declared = checkpoint_tensors(model.plan());
  std::vector<TensorView> views;
  for (size_t i = 0; i < tensors.size(); ++i)
    views.push_back({declared[i]->name, tensors[i].dtype, tensors[i].shape, tensors[i].bytes.data()});
  const std::span<const TensorView> all(views);
  const size_t parameters = model.parameters().size();
  SHEAF_TRY(model.set_parameters(all.first(parameters)));
  return trainer.set_state(all.subspan(parameters));
}

}  // namespace sheaf
