// Runs on data that isn't all finite. They are rare, and one thing is different in them: operations of a library that
// make a number of NaN (a ReLU fused into a convolution) have to be seen to, which costs as much again.
#pragma once

#include "runtime/device/operation.h"

namespace sheaf {

/// Whether all numbers of a tensor, of a floating-point type, are finite; true for other types.
bool all_finite(const TensorSpec& tensor, const void* data);

/// While one of these lives, a run on such data may be under way. Operations are prepared long before they know their
/// data, so they ask for it in run(); another run at the same time merely takes longer.
class NonFiniteRun {
 public:
  NonFiniteRun();
  ~NonFiniteRun();
  NonFiniteRun(const NonFiniteRun&) = delete;
  NonFiniteRun& operator=(const NonFiniteRun&) = delete;
  static bool under_way();
};

/// Whether an operation of the plan, a product with a ReLU or the like, makes a number of NaN unless it is seen to
/// (runtime/cpu/ops/keep_nan.h).
bool cuts_nan_off(const Step& step);

}  // namespace sheaf
