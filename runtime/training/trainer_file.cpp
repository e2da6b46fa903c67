// A trainer's checkpoints.
#include "runtime/base/exception.h"
#include "runtime/training/checkpoint.h"
#include "runtime/training/checkpoint_json.h"
#include "runtime/training/trainer_state.h"
#include "runtime/training/trainer_tensors.h"

#include <cmath>

namespace sheaf {

const std::string& Trainer::State::hash() const {
  if (plan_hash.empty()) plan_hash = sheaf::plan_hash(model.plan());
  return plan_hash;
}

Result<void> Trainer::save(const std::string& file) const try {
  SHEAF_TRY(state_->check_none_started("save()"));
  if (!std::isfinite(progress().lr)) return Error({file, 0, 0}, "not saved: the learning rate is not a finite number");
  SHEAF_ASSIGN(auto tensors, read_tensors(*this));
  const SavedProgress saved{state_->hash(), state_->model.name(), progress()};
  return write_checked(file, json_of(saved), views_of(tensors));
} catch (...) {
  return error_of_exception();
}

Result<void> Trainer::restore(const std::string& file) try {
  SHEAF_TRY(state_->check_none_started("restore()"));
  SHEAF_ASSIGN(auto opened, CheckedFile::open(file));
  auto saved = progress_of(opened.content());
  if (!saved) return opened.unsound(saved.error().message());
  SHEAF_TRY(check_same_plan(file, *saved, state_->hash(), state_->model.name()));
  SHEAF_ASSIGN(auto tensors, opened.read(checkpoint_tensors(state_->model.plan())));
  SHEAF_TRY(set_tensors(*this, tensors));
  progress() = saved->progress;
  return {};
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
