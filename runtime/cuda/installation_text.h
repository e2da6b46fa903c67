// An installation as `sheaf devices` prints it.
#pragma once

#include "runtime/cuda/installation.h"
#include "runtime/plan/plan.h"

#include <string>
#include <utility>
#include <vector>

namespace sheaf::cuda {

/// CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, if set, with their values: they decide which GPUs the driver shows,
/// and how it numbers them.
std::vector<std::pair<std::string, std::string>> visible_devices();

Json to_json(const Installation& installation, const std::vector<std::pair<std::string, std::string>>& environment);
/// Lines for people.
std::string to_text(const Installation& installation, const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace sheaf::cuda
