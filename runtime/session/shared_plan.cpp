// A plan in memory, as the C++ interface hands it around.
#include "runtime/base/exception.h"
#include "runtime/base/file.h"
#include "runtime/check/reader.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/serialize.h"
#include "runtime/plan/strategy.h"
#include "sheaf/plan.h"

namespace sheaf {

SharedPlan::SharedPlan(Plan plan) : plan_(std::make_shared<const Plan>(std::move(plan))) {}

Result<SharedPlan> SharedPlan::load(const std::string& file) try {
  SHEAF_ASSIGN(auto plan, load_plan(file));
  return SharedPlan(std::move(plan));
} catch (...) {
  return error_of_exception();
}

Result<SharedPlan> SharedPlan::parse(std::string_view text, const std::string& name) try {
  SHEAF_ASSIGN(auto plan, parse_plan(name, text));
  return SharedPlan(std::move(plan));
} catch (...) {
  return error_of_exception();
}

const std::string& SharedPlan::name() const { return plan_->name; }
const std::string& SharedPlan::precision() const { return plan_->precision; }
std::string SharedPlan::strategy() const { return to_string(strategy_of(*plan_)); }

std::vector<std::string> SharedPlan::programs() const {
  std::vector<std::string> names{"infer"};
  if (!plan_->train.steps.empty()) names.push_back("train");
  if (!plan_->accumulate.steps.empty()) names.insert(names.end(), {"accumulate", "update"});
  if (!plan_->forward.steps.empty()) names.insert(names.end(), {"forward", "backward"});
  return names;
}

std::string SharedPlan::training() const { return plan_->training.is_null() ? "" : plan_->training.dump(); }
std::string SharedPlan::text() const { return serialize(*plan_); }

Result<void> SharedPlan::write(const std::string& file) const try {
  return write_file_atomically(file, serialize(*plan_));
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
