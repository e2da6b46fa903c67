// What binding does to a bound program, from its making to the order and the memory of its lanes.
#pragma once

#include "runtime/bind/bound_program.h"

#include <span>
#include <string_view>

namespace sheaf {

/// Steps to instances, values to tensors; operations are prepared here. Views (of scatter, replicate, transfer, view, print)
/// are found here too. Errors: an index beyond the device list (located at the layer), inputs that split differently, an
/// operation that cannot be prepared (as "replica i on device d: …").
Result<BoundProgram> expand(const BindContext& context);

/// A change to a bound program that does not change what it computes.
struct Rewrite {
  std::string_view name;  ///< of its function, with hyphens
  Result<void> (*apply)(BoundProgram& program, const BindContext& context);
};

/// All of them, in the order in which they are applied; rewrites.cpp has the reason for it.
std::span<const Rewrite> rewrites();

/// Operations that only make new values of variables come last on asynchronous lanes.
/// Errors, as of the next three: those of rearrange() (runtime/bind/order.h).
Result<void> sink_updates(BoundProgram& program, const BindContext& context);

/// Generated kernels that read nothing but variables come first on asynchronous lanes, equal ones together.
Result<void> hoist_from_variables(BoundProgram& program, const BindContext& context);

/// What asynchronous lanes read from the caller is fetched before anything else, small tensors in one transfer.
Result<void> fetch_inputs(BoundProgram& program, const BindContext& context);

/// What a step sends between distinct devices of one kind goes in buckets, each of which is one operation of all of them.
/// If they have no such operations, copies stay. Errors: also an operation that cannot be prepared.
Result<void> form_collectives(BoundProgram& program, const BindContext& context);

/// A gathered part that has no place of its own yet is made in its slice of the whole, and the copy is left out.
Result<void> place_gathered_parts(BoundProgram& program, const BindContext& context);

/// A program output that has planned host memory to itself is made in the caller's buffer; others are copied there.
Result<void> place_outputs(BoundProgram& program, const BindContext& context);

/// The new value of a variable is made over the old one if nobody needs the old one any more, else copied there at the end; in
/// either case after all readers of the old value, after the check of the loss, and after whatever else may fail.
Result<void> place_updates(BoundProgram& program, const BindContext& context);

/// An operation's output overwrites an input that dies there.
Result<void> place_over_inputs(BoundProgram& program, const BindContext& context);

}  // namespace sheaf
