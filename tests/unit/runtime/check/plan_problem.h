// check()'s objection to a plan.
#pragma once

#include "runtime/check/check.h"
#include "tests/unit/runtime/check/plan_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace sheaf {

/// Empty if the plan is sound.
inline std::string problem(const Plan& plan) {
  const auto checked = check(plan, "m.plan");
  return checked ? "" : to_string(checked.error());
}

/// The plan is refused, first at `path`, and for `reason`.
inline void expect_refused(const Plan& plan, const std::string& path, const std::string& reason) {
  const std::string text = problem(plan);
  EXPECT_THAT(text, testing::StartsWith("m.plan: error: " + path)) << reason;
  EXPECT_THAT(text, testing::HasSubstr(reason));
}

/// The same after a change.
inline void expect_refused(Plan plan, const std::function<void(Plan&)>& change, const std::string& path,
                           const std::string& reason) {
  change(plan);
  expect_refused(plan, path, reason);
}

/// The sample plan after a change.
inline void refuse_sample(const std::function<void(Plan&)>& change, const std::string& path, const std::string& reason) {
  expect_refused(samples::sample_plan(), change, path, reason);
}

/// A plan of one step is refused because of it.
inline void refuse_step(const Plan& plan, const std::string& reason) {
  expect_refused(plan, "programs.infer.steps[0]: ", reason);
}

}  // namespace sheaf
