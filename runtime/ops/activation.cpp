#include "runtime/ops/activation.h"

#include <algorithm>

namespace sheaf {
namespace {

// clang-format off
constexpr ActivationTraits kRows[] = {
    {ActivationKind::relu, "relu", {}, 1},
    {ActivationKind::leaky_relu, "leaky_relu", {"negative_slope"}, 2},
    {ActivationKind::elu, "elu", {"alpha"}, 3},
    {ActivationKind::silu, "silu", {}, 4},  // x·σ(x)
    {ActivationKind::gelu, "gelu", {}, 4},  // x/2·(1 + erf(x/√2))
    {ActivationKind::gelu_tanh, "gelu_tanh", {}, 8},
    {ActivationKind::tanh, "tanh", {}, 1},
    {ActivationKind::sigmoid, "sigmoid", {}, 3},
    {ActivationKind::hardtanh, "hardtanh", {"min_val", "max_val"}, 2},
};
// clang-format on

}  // namespace

const ActivationTraits& traits(ActivationKind kind) { return kRows[static_cast<size_t>(kind)]; }

std::optional<ActivationKind> activation_from_name(std::string_view name) {
  for (const ActivationTraits& row : kRows)
    if (row.name == name) return row.kind;
  return std::nullopt;
}

Result<void> check_activation(const nlohmann::ordered_json& activation) {
  const bool named = activation.is_object() && activation.contains("kind") && activation["kind"].is_string();
  const auto kind = named ? activation_from_name(activation["kind"].get_ref<const std::string&>()) : std::nullopt;
  if (!kind) return Error("'activation' must be an object with a known 'kind'");
  size_t numbers = 0;
  bool good = true;
  for (const std::string_view number : traits(*kind).numbers) {
    if (number.empty()) continue;
    ++numbers;
    good = good && activation.contains(number) && activation[std::string(number)].is_number();
  }
  if (good && activation.size() == numbers + 1) return {};
  return Error("the activation '" + std::string(traits(*kind).name) + "' takes other numbers: see docs/steps.md");
}

}  // namespace sheaf
