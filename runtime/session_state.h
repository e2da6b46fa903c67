// What a Model is made of (internal to the C++ interface's sources).
#pragma once

#include "runtime/bind/constants.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan.h"
#include "runtime/sheaf.h"

#include <map>
#include <memory>
#include <mutex>

namespace sheaf {

struct Model::State {
  Plan plan;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<ParameterInfo> parameters;
  std::shared_ptr<ConstantStore> constants;
  std::map<const Device*, std::shared_ptr<const Kernels>> kernels;
  std::mutex mutex;  ///< of `kernels`

  Result<std::shared_ptr<const Kernels>> kernels_for(Device& device);
};

}  // namespace sheaf
