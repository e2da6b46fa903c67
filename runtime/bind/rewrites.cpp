// The order of rewrites, and the reason for each one's place.
#include "runtime/bind/rewrites.h"

namespace sheaf {
namespace {

constexpr Rewrite kRewrites[] = {
    // Rewrites that move instances come first: those that place values ask who comes after whom.
    //
    // Between processes alone, where the next three find nothing to do.
    {"order-messages", order_messages},
    // Before buckets, because it depends on who reads what: a transfer of several inputs, or a bucket, would tie updates to each
    // other.
    {"sink-updates", sink_updates},
    // After those have gone to the end: what only makes a variable's new value reads variables too.
    {"hoist-from-variables", hoist_from_variables},
    // Before buckets, which keep their members together: a copy from the caller is no exchange between devices, and what
    // brings it forward then has nothing to tear apart.
    {"fetch-inputs", fetch_inputs},
    // While what it replaces are still copies between tensors that have their own memory: the rewrites below leave such copies
    // out, or make views of what they copy.
    {"form-collectives", form_collectives},
    // Before outputs are placed, so that the parts of a gathered output are made in the caller's buffer.
    {"place-gathered-parts", place_gathered_parts},
    // Before updates and inputs that die: nothing else may be made in the caller's buffer.
    {"place-outputs", place_outputs},
    // The copies that it adds read variables for the last time; and a variable's memory is a better place for its new value
    // than an input that dies.
    {"place-updates", place_updates},
    // Last: it handles what no other rewrite had a place for.
    {"place-over-inputs", place_over_inputs},
};

}  // namespace

std::span<const Rewrite> rewrites() { return kRewrites; }

}  // namespace sheaf
