// Ops of the dist dialect: groups, conversions between layouts, and the regions that compute.
#ifndef SHEAF_DIST_OPS_TD
#define SHEAF_DIST_OPS_TD

include "ir/Dist/DistDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Dist_GroupOp : Op<Dist_Dialect, "group", [Symbol]> {
  let summary = "the devices of a parallel region, one replica each";
  let description = [{
    `device_ids` are entries of the run's device list, in replica order; all entries if absent. `output_device`
    defaults to the first. As many replicas are used as there are chunks along `dim`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$layer, OptionalAttr<DenseI64ArrayAttr>:$device_ids,
                       OptionalAttr<I64Attr>:$output_device, I64Attr:$dim);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
}

/// A conversion from one layout to another: moves data, computes nothing. `reason` says why it exists.
class Dist_MoveOp<string mnemonic, dag attributes = (ins)> : Op<Dist_Dialect, mnemonic, [Pure]> {
  let arguments = !con((ins Dist_PlacedType:$input, StrAttr:$reason), attributes);
  let results = (outs Dist_PlacedType:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
}

def Dist_ScatterOp : Op<Dist_Dialect, "scatter", [Pure]> {
  let summary = "cuts a value along the dimension of its result's layout: chunk i goes to replica i (torch.chunk)";
  let description = [{
    With `like`, a split value, the chunks have the sizes of its chunks, so that a gather's gradient goes back to its replicas.
    A vector scattered like 0-dimensional values gives each replica its element.
  }];
  let arguments = (ins Dist_PlacedType:$input, Optional<Dist_PlacedType>:$like, StrAttr:$reason);
  let results = (outs Dist_PlacedType:$output);
  let assemblyFormat = "$input (`like` $like^ `:` type($like))? attr-dict `:` type($input) `->` type($output)";
  let builders = [OpBuilder<(ins "::mlir::Type":$output, "::mlir::Value":$input, "::mlir::StringAttr":$reason), [{
    build($_builder, $_state, output, input, /*like=*/::mlir::Value(), reason);
  }]>];
  let hasVerifier = 1;
}
def Dist_ReplicateOp : Dist_MoveOp<"replicate"> {
  let summary = "copies a value to each replica; the first one's copy is the original if it is there";
}
def Dist_GatherOp : Dist_MoveOp<"gather"> {
  let summary = "concatenates the replicas' values along the dimension of the operand's layout, in replica order";
  let description = "0-dimensional values become a vector with one element for each replica.";
}
def Dist_ReduceOp : Dist_MoveOp<"reduce"> {
  let summary = "adds up the replicas' partial sums, left to right from replica 0, on the host or a device";
}
def Dist_AllReduceOp : Dist_MoveOp<"all_reduce"> {
  let summary = "adds up the replicas' partial sums, left to right from replica 0, on each replica";
}
def Dist_ReduceScatterOp : Dist_MoveOp<"reduce_scatter"> {
  let summary = "adds up the replicas' partial sums, left to right from replica 0: each replica gets its run of the sum";
}
def Dist_AllGatherOp : Dist_MoveOp<"all_gather"> {
  let summary = "puts the replicas' runs together again, on each replica";
}
def Dist_ShardOp : Dist_MoveOp<"shard"> {
  let summary = "each replica takes its run of a value that every replica has whole";
}
def Dist_FirstOp : Dist_MoveOp<"first"> {
  let summary = "keeps replica 0's value: a local one, as DataParallel keeps the first replica's buffers, or one that all have";
}
def Dist_TransferOp : Dist_MoveOp<"transfer"> {
  let summary = "copies a value to another device, or between the host and a device";
  let hasFolder = 1;
}

class Dist_ApplyBase<string mnemonic, dag attributes>
    : Op<Dist_Dialect, mnemonic, [RecursiveMemoryEffects, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let arguments = !con((ins Variadic<Dist_PlacedType>:$inputs), attributes);
  let results = (outs Variadic<Dist_PlacedType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
}
def Dist_ApplyOp : Dist_ApplyBase<"apply", (ins AnyAttr:$place)> {
  let summary = "runs its body once, on `place`: #dist.host or #dist.device<k>";
  let description = "Inputs and outputs live on `place`; the body's arguments are their tensors.";
  let assemblyFormat = "`on` $place `(` $inputs `)` attr-dict `:` functional-type(operands, results) $body";
}
def Dist_ParallelApplyOp : Dist_ApplyBase<"parallel_apply", (ins FlatSymbolRefAttr:$group)> {
  let summary = "runs its body once for each replica of a group";
  let description = [{
    Inputs are split over the group, replicated or local to its replicas; outputs are split, partial or local, or replicated if
    they are computed only from replicated inputs. The body sees one replica's tensors. Sharded inputs, with replicated ones,
    give sharded outputs; each replica computes only the elements of its run.
  }];
  let assemblyFormat = "$group `(` $inputs `)` attr-dict `:` functional-type(operands, results) $body";
}
def Dist_YieldOp : Op<Dist_Dialect, "yield", [Pure, ReturnLike, Terminator, ParentOneOf<["ApplyOp", "ParallelApplyOp"]>]> {
  let summary = "the results of a body";
  let arguments = (ins Variadic<AnyTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

#endif
