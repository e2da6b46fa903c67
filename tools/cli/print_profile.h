// Profiles for people and for programs: `run --profile`, `train --profile`, `bench --profile`.
#pragma once

#include "runtime/plan/plan.h"
#include "sheaf/profile.h"

#include <span>
#include <string>

namespace sheaf {

/// Tables: lanes with their waiting, time by layer and by kind of operation; with `operations` also each operation.
std::string profile_text(const Profile& profile, bool operations = false);
/// The same for several programs and batch sizes, the one that took longest first.
std::string profiles_text(std::span<const Profile> profiles);

/// {"program", "batch", "steps", "step_seconds", "data_wait_seconds", "lanes": […], "by_layer": […], "by_kind": […],
/// "operations": […]}; rates in units per second, "roofline_share" if the roofline says anything (docs/trace.md).
Json profile_json(const Profile& profile);

}  // namespace sheaf
