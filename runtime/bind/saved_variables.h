// Values of variables, saved on their own devices to be restored.
#pragma once

#include "runtime/bind/variable_store.h"

#include <vector>

namespace sheaf {

/// To be used only between runs. The store must outlive it.
class SavedVariables {
 public:
  explicit SavedVariables(VariableStore& store) : store_(&store) {}
  /// Adds a variable that some binding uses. Errors: too little memory.
  Result<void> add(NodeId variable);
  /// Saves the current values. Errors, also of restore(): a device's.
  Result<void> keep();
  /// Restores the saved values.
  Result<void> restore();

 private:
  struct Saved {
    void* home;
    DeviceBuffer copy;
    size_t bytes;
    Queue* queue;
  };
  Result<void> finish();

  VariableStore* store_;
  std::vector<Saved> saved_;
};

}  // namespace sheaf
