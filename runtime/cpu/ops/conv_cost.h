// The cost model of convolutions: seconds by each implementation, roughly (docs/cpu-choices.md).
#pragma once

#include "runtime/cpu/ops/conv_direct.h"

namespace sheaf {

double winograd_seconds(const Operation& operation, const ConvShape& shape, ConvResult result);
double pixels_seconds(const Operation& operation, const ConvShape& shape, ConvResult result);
double pointwise_seconds(const Operation& operation, const ConvShape& shape, ConvResult result);
double depthwise_seconds(const Operation& operation, const ConvShape& shape, ConvResult result);
double direct_seconds(const Operation& operation, const ConvShape& shape, ConvResult result, Layout layout);

}  // namespace sheaf
