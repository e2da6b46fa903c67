#include "runtime/training/model_learner.h"

#include <algorithm>

namespace sheaf {

Result<std::unique_ptr<ModelLearner>> ModelLearner::make(Model model, std::shared_ptr<const DeviceSet> devices, int64_t rows,
                                                         int64_t batch_size, const TrainingProgress& progress,
                                                         const BindOptions& options) {
  std::unique_ptr<ModelLearner> learner(new ModelLearner(std::move(model), std::make_shared<TrainingProgress>(progress)));
  const std::vector<ValueInfo> expected = training_values(learner->model_.plan());
  for (const int64_t batch : {std::min(batch_size, rows), rows % batch_size}) {
    if (batch == 0 || learner->trainers_.contains(batch)) continue;
    SHEAF_ASSIGN(auto trainer, Trainer::bind(learner->model_, devices, batch, learner->progress_, options));
    const auto same_name = [](const ValueInfo& a, const ValueInfo& b) { return a.name == b.name; };
    if (!std::equal(expected.begin(), expected.end(), trainer.inputs().begin(), trainer.inputs().end(), same_name))
      return Error("internal error: the train program takes its values in another order than the data has them");
    learner->trainers_.emplace(batch, std::move(trainer));
  }
  return learner;
}

Result<float> ModelLearner::step(int64_t rows, std::span<const void* const> buffers) {
  return trainers_.at(rows).step(buffers, run_);
}

std::string ModelLearner::first_not_finite(int64_t rows, std::span<const void* const> buffers) {
  return trainers_.at(rows).first_not_finite(buffers);
}

double ModelLearner::learning_rate() const { return sheaf::learning_rate(model_.plan(), progress_->lr, progress_->epochs); }

Result<std::vector<HostTensor>> ModelLearner::parameters() const {
  std::vector<HostTensor> tensors;
  for (size_t i = 0; i < model_.parameters().size(); ++i) {
    const ParameterInfo& info = model_.parameters()[i];
    SHEAF_ASSIGN(auto tensor, make_tensor(info.dtype, info.shape));
    SHEAF_TRY(model_.read_parameter(i, tensor.bytes.data()));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<std::vector<HostTensor>> ModelLearner::tensors() const {
  auto tensors = parameters();
  if (!tensors) return tensors;
  const auto state = lasting_state(model_.plan());
  for (size_t i = 0; i < state.size(); ++i) {
    SHEAF_ASSIGN(auto tensor, make_tensor(state[i].dtype, state[i].shape));
    SHEAF_TRY(trainers_.begin()->second.read_state(i, tensor.bytes.data()));
    tensors->push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<const Parameter*> ModelLearner::declarations() const {
  std::vector<const Parameter*> all;
  for (const Parameter& parameter : model_.plan().parameters) all.push_back(&parameter);
  for (const Parameter& state : lasting_state(model_.plan())) all.push_back(&state);
  return all;
}

Result<void> ModelLearner::restore(const std::vector<HostTensor>& tensors) {
  const std::vector<const Parameter*> declared = declarations();
  std::vector<TensorView> views;
  for (size_t i = 0; i < tensors.size(); ++i)
    views.push_back({declared[i]->name, tensors[i].dtype, tensors[i].shape, tensors[i].bytes.data()});
  const std::span<const TensorView> all(views);
  const size_t parameters = model_.plan().parameters.size();
  if (auto ok = model_.set_parameters(all.first(parameters)); !ok) return ok;
  return trainers_.begin()->second.set_state(all.subspan(parameters));
}

}  // namespace sheaf
