// The part of the cost model (conv_cost.h) that is about activations pixel by pixel: seconds without those of reorders.
#pragma once

#include "runtime/cpu/ops/conv_result.h"
#include "runtime/cpu/ops/conv_work.h"
#include "runtime/cpu/ops/pixel_operation.h"

namespace sheaf {

double pixels_alone(const Work& work, const ConvShape& shape, ConvResult result, Operands operands);
double winograd_alone(const Work& work, const ConvShape& shape, ConvResult result, Operands operands);

/// The least of those that can make y, or dx.
double least_by_pixels(const Operation& operation, const Work& work, const ConvShape& shape, ConvResult result);

}  // namespace sheaf
