// Activations that a library call can include: the attribute `activation`, an object with a kind and that kind's numbers.
#pragma once

#include "runtime/base/error.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sheaf {

enum class ActivationKind : uint8_t { relu, leaky_relu, elu, silu, gelu, gelu_tanh, tanh, sigmoid, hardtanh };

struct ActivationTraits {
  ActivationKind kind;
  std::string_view name;
  std::array<std::string_view, 2> numbers = {};  ///< all of them accompany the kind
  double flops = 0;                              ///< scalar functions for each element (docs/estimate.md)
};

const ActivationTraits& traits(ActivationKind kind);
/// The activation of this name; none if there is none.
std::optional<ActivationKind> activation_from_name(std::string_view name);

/// `activation` is an object with a known kind and its numbers.
Result<void> check_activation(const nlohmann::ordered_json& activation);

}  // namespace sheaf
