// Values of variables set aside, on the devices that they live on, to be put back.
#pragma once

#include "runtime/bind/constants.h"

#include <vector>

namespace sheaf {

/// Between runs alone. The store must outlive it.
class SavedVariables {
 public:
  explicit SavedVariables(ConstantStore& constants) : constants_(&constants) {}
  /// One more, which some binding uses. Errors: too little memory.
  Result<void> add(NodeId variable);
  /// Takes the values as they are now. Errors, as of restore(): a device's.
  Result<void> keep();
  /// Puts back what was kept.
  Result<void> restore();

 private:
  struct Saved {
    void* home;
    DeviceBuffer copy;
    size_t bytes;
    Queue* queue;
  };
  Result<void> finish();

  ConstantStore* constants_;
  std::vector<Saved> saved_;
};

}  // namespace sheaf
