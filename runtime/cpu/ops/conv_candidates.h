// Building blocks of the candidate lists for a convolution and its gradients.
#pragma once

#include "runtime/cpu/ops/candidate.h"
#include "runtime/cpu/ops/conv_cost.h"
#include "runtime/cpu/ops/conv_depthwise.h"
#include "runtime/cpu/ops/conv_pixels.h"
#include "runtime/cpu/ops/conv_pointwise.h"
#include "runtime/cpu/ops/conv_winograd.h"
#include "runtime/cpu/ops/pixel_operation.h"

#include <algorithm>
#include <array>

namespace sheaf {

using ConvCandidate = Candidate<ConvShape>;

inline constexpr Operands whole = Operands::whole, split = Operands::split;

/// The functions of a candidate, made from functions that also take the result's kind, the operands, or the layout.
template <double (*of)(const Operation&, const ConvShape&, ConvResult), ConvResult result>
double seconds(const Operation& operation, const ConvShape& shape) {
  return of(operation, shape, result);
}
template <double (*of)(const Operation&, const ConvShape&, ConvResult, Operands), ConvResult result, Operands operands>
double seconds(const Operation& operation, const ConvShape& shape) {
  return of(operation, shape, result, operands);
}
template <ConvResult result, Layout layout>
double seconds(const Operation& operation, const ConvShape& shape) {
  return direct_seconds(operation, shape, result, layout);
}
template <ConvResult result, Layout layout>
bool fits(const Operation& operation, const ConvShape& shape) {
  return direct_fits(operation, shape, result, layout);
}
/// Where `by` fits and its operands can be split.
template <bool (*by)(const Operation&, const ConvShape&)>
bool fits_split(const Operation& operation, const ConvShape& shape) {
  return by(operation, shape) && split_fits(operation, shape);
}
template <Prepared (*by)(const Operation&, const ConvShape&, Operands), Operands operands>
Prepared prepare(const Operation& operation, const ConvShape& shape) {
  return by(operation, shape, operands);
}
template <Prepared (*by)(const Operation&, const ConvShape&, Layout), Layout layout>
Prepared prepare(const Operation& operation, const ConvShape& shape) {
  return by(operation, shape, layout);
}

/// Of dx by products over the batch and by Winograd's algorithm; of a transposed convolution too, which is its mirror's dx.
inline constexpr auto by_pixels_dx = std::to_array<ConvCandidate>({
    {"winograd", winograd_fits, seconds<winograd_seconds, ConvResult::dx, whole>,
     prepare<prepare_conv_backward_data_winograd, whole>},
    {"winograd_split", fits_split<winograd_fits>, seconds<winograd_seconds, ConvResult::dx, split>,
     prepare<prepare_conv_backward_data_winograd, split>},
    {"pixels", pixels_fit, seconds<pixels_seconds, ConvResult::dx, whole>, prepare<prepare_conv_backward_data_pixels, whole>},
    {"pixels_split", fits_split<pixels_fit>, seconds<pixels_seconds, ConvResult::dx, split>,
     prepare<prepare_conv_backward_data_pixels, split>},
});

template <size_t M, size_t N>
constexpr auto joined(const std::array<ConvCandidate, M>& first, const std::array<ConvCandidate, N>& then) {
  std::array<ConvCandidate, M + N> all{};
  std::copy(then.begin(), then.end(), std::copy(first.begin(), first.end(), all.begin()));
  return all;
}

}  // namespace sheaf
