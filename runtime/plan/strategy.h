// What the replicas of a training step keep (docs/strategies.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sheaf {

struct Plan;

/// Where parameters and the optimiser's state live. `data_parallel`: on the first of a region's devices, as in nn.DataParallel.
/// `replicated`: on each of its replicas, as in PyTorch's DistributedDataParallel. `sharded`: parameters on each replica and a
/// share of the state, as with PyTorch's ZeroRedundancyOptimizer. `fully_sharded`: parameters in shares too, as in FSDP.
enum class Strategy : uint8_t { data_parallel, replicated, sharded, fully_sharded };

/// Its name in plans and on the command line.
std::string to_string(Strategy strategy);
std::optional<Strategy> strategy_from_name(std::string_view name);
/// The strategy of a plan's training programs: unless it is the default, the plan lists it in Plan::requires_.
Strategy strategy_of(const Plan& plan);
/// All names, the default first.
std::span<const std::string_view> strategy_names();

}  // namespace sheaf
