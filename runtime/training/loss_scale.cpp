#include "runtime/training/loss_scale.h"

#include "runtime/base/exception.h"
#include "runtime/training/trainer_state.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace sheaf {
namespace {

/// The plan's setting: a number, which stays, or an object, and then the scale adapts; null: the loss isn't scaled.
const Json& setting_of(const Plan& plan) {
  static const Json none;
  const auto found = plan.training.find("loss_scale");
  return found == plan.training.end() ? none : *found;
}

Result<float> read_number(const Trainer& trainer, std::string_view name) {
  SHEAF_ASSIGN(const HostTensor tensor, trainer.read_state(name));
  float number = 0;
  if (tensor.dtype != DType::float32 || tensor.bytes.size() != sizeof number)
    return Error("internal error: state '" + std::string(name) + "' is no float32 number");
  std::memcpy(&number, tensor.bytes.data(), sizeof number);
  return number;
}

std::string text_of(float number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", static_cast<double>(number));
  return text;
}

}  // namespace

bool scales_loss(const Plan& plan) { return !setting_of(plan).is_null(); }

Result<void> LossScaleWatch::see(int64_t steps, const LossScale& now) {
  if (now.updates != updates_) {
    updated_ = now.updates == 0 ? 0 : steps;
    updates_ = now.updates;
    if (now.updates != 0) return {};
  }
  const int64_t skipped = steps - updated_;
  const bool too_small = now.adapts && now.scale < kLeastScale && skipped > 0;
  if (!too_small && skipped < kMostSkipped) return {};
  Error error("the last " + std::to_string(skipped) + (skipped == 1 ? " step was" : " steps were") +
              " skipped, because gradients weren't finite; the loss's scale is " + text_of(now.scale) + " now" +
              (too_small ? ", and no smaller one can help" : ""));
  if (!now.adapts) {
    error.note("\"loss_scale\" in the model's training section is a number, so the scale stays: {} makes it adapt");
  }
  error.note("a gradient can be NaN or infinite where the loss is finite: Sqrt and Pow at 0, a division by a number near 0");
  return error.note(
      "compiled with --precision bf16, whose range is float32's, or f32, the model shows whether it is float16's range");
}

Result<std::optional<LossScale>> Trainer::loss_scale() const try {
  const Json& setting = setting_of(state_->model.plan());
  if (setting.is_null()) return std::optional<LossScale>();
  LossScale found;
  found.adapts = !setting.is_number();
  SHEAF_ASSIGN(const float updates, read_number(*this, "loss_scale.steps"));
  found.updates = static_cast<int64_t>(updates);
  found.skipped = std::max<int64_t>(state_->progress.steps - found.updates, 0);
  if (!found.adapts) {
    found.scale = setting.get<float>();
    return std::optional(found);
  }
  SHEAF_ASSIGN(found.scale, read_number(*this, "loss_scale.scale"));
  SHEAF_ASSIGN(const float growth, read_number(*this, "loss_scale.growth_tracker"));
  found.growth_count = static_cast<int64_t>(growth);
  return std::optional(found);
} catch (...) {
  return error_of_exception();
}

Result<std::optional<LossScale>> Trainer::watch_loss_scale() try {
  SHEAF_ASSIGN(const auto found, loss_scale());
  if (found) SHEAF_TRY(state_->watch.see(state_->progress.steps, *found));
  return found;
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
