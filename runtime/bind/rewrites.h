// What binding does to a bound program, from its creation to the order and the memory of its lanes.
#pragma once

#include "runtime/bind/bound_program.h"

#include <span>
#include <string_view>

namespace sheaf {

/// Turns steps into instances and values into tensors; prepares operations. Views (of scatter, replicate, transfer, view,
/// print) are found here too. Errors: an index beyond the device list (located at the layer), inputs that split differently, an
/// operation that cannot be prepared (as "replica i on device d: …").
Result<BoundProgram> expand(const BindContext& context);

/// A change to a bound program that does not change what it computes.
struct Rewrite {
  std::string_view name;  ///< of its function, with hyphens
  Result<void> (*apply)(BoundProgram& program, const BindContext& context);
};

/// All of them, in the order in which they are applied; rewrites.cpp has the reasons for it.
std::span<const Rewrite> rewrites();

/// In a world, brings parameters in shares together ahead of their readers, and makes new values of variables that come from messages at
/// once. Errors, as for the next five: those of rearrange() (runtime/bind/order.h).
Result<void> order_messages(BoundProgram& program, const BindContext& context);

/// Moves operations that only make new values of variables to the end of asynchronous lanes.
Result<void> sink_updates(BoundProgram& program, const BindContext& context);

/// Moves generated kernels that read only variables to the front of asynchronous lanes, equal ones together.
Result<void> hoist_from_variables(BoundProgram& program, const BindContext& context);

/// Inputs whose data are bytes cross to devices that look up numbers as bytes, if nothing else reads them. Also an error: an operation that
/// cannot be prepared.
Result<void> fetch_bytes(BoundProgram& program, const BindContext& context);

/// Fetches what asynchronous lanes read from the caller before anything else, small tensors in one transfer.
Result<void> fetch_inputs(BoundProgram& program, const BindContext& context);

/// Puts what a step sends between distinct devices of one kind into buckets, each of which is one operation of all of them.
/// If they have no such operations, copies stay. Also an error: an operation that cannot be prepared.
Result<void> form_collectives(BoundProgram& program, const BindContext& context);

/// Makes a gathered part that has no fixed place yet in its slice of the whole, and leaves out the copy.
Result<void> place_gathered_parts(BoundProgram& program, const BindContext& context);

/// Makes a program output that has planned host memory to itself in the caller's buffer; copies others there.
Result<void> place_outputs(BoundProgram& program, const BindContext& context);

/// Makes the new value of a variable over the old one if nobody needs the old one any more, else copies it there at the end; in
/// either case after all readers of the old value, after the check of the loss, and after everything else that may fail.
Result<void> place_updates(BoundProgram& program, const BindContext& context);

/// Lets an operation's output overwrite an input that dies there.
Result<void> place_over_inputs(BoundProgram& program, const BindContext& context);

}  // namespace sheaf
