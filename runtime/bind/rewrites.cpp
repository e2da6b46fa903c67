// The order of rewrites, and the reason for each position.
#include "runtime/bind/rewrites.h"

namespace sheaf {
namespace {

constexpr Rewrite kRewrites[] = {
    // Rewrites that move instances come first: rewrites that place values ask which instance comes after which.
    //
    // Between processes the next three find nothing to do; between the GPUs of one, nothing of what links do.
    {"order-messages", order_messages},
    // Before buckets, because it depends on who reads what: a transfer of several inputs, or a bucket, would tie updates to
    // each other.
    {"sink-updates", sink_updates},
    // After updates have moved to the end: instances that only make a variable's new value read variables too.
    {"hoist-from-variables", hoist_from_variables},
    // Before inputs are fetched: copies of bytes are smaller.
    {"fetch-bytes", fetch_bytes},
    // Before buckets, which keep their members together: a copy from the caller is no exchange between devices, and moving it
    // forward has nothing to tear apart.
    {"fetch-inputs", fetch_inputs},
    // While the copies that it replaces still are copies between tensors with their own memory: the rewrites below leave such
    // copies out, or make views of what they copy.
    {"form-collectives", form_collectives},
    // Before outputs are placed, so that the parts of a gathered output are made in the caller's buffer.
    {"place-gathered-parts", place_gathered_parts},
    // Before updates and inputs that die: nothing else may be made in the caller's buffer.
    {"place-outputs", place_outputs},
    // The copies that it adds read variables for the last time; and a variable's memory is a better place for its new value
    // than an input that dies.
    {"place-updates", place_updates},
    // Last: it handles values that no other rewrite had a place for.
    {"place-over-inputs", place_over_inputs},
};

}  // namespace

std::span<const Rewrite> rewrites() { return kRewrites; }

}  // namespace sheaf
