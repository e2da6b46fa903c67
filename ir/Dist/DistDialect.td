// The dist dialect: where each value lives and each op runs. dist-partition makes it from nn, and code generation reads it.
// Placement is part of a value's type, so a missing transfer is a verifier error.
//
//   DistDialect.td  this file: dialect, layouts, the placed tensor type
//   DistOps.td      group, conversions between layouts, apply and parallel_apply
//
// The layouts of a tensor, drawn for two devices and a tensor of rows A B:
//
//   host            device<0>         split<@g, 0>       replicated<@g>
//   host: A B       dev 0: A B        replica 0: A       replica 0: A B
//                                     replica 1: B       replica 1: A B
//
// and two of the backward pass, where each replica has a tensor of its own: partial<@g>, which stands for the sum (a
// parameter's gradient), and local<@g>, which doesn't (an activation kept for the backward pass). State that a training step
// keeps in shares is sharded<@g>: each replica has a run of its elements, in row-major order, all runs of equal length except
// the last ones (5 elements over three replicas: 2, 2, 1).
//
// Groups are symbolic: the IR does not know how many devices a run has.
#ifndef SHEAF_DIST_DIALECT_TD
#define SHEAF_DIST_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::sheaf::dist";
  let summary = "Placed tensors and the movements between places";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Dist_Layout<string name, string mnem> : AttrDef<Dist_Dialect, name> { let mnemonic = mnem; }

def Dist_HostAttr : Dist_Layout<"Host", "host"> {
  let summary = "on the machine's CPU";
}
def Dist_DeviceAttr : Dist_Layout<"Device", "device"> {
  let summary = "on one device: an entry of the run's device list";
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}
def Dist_SplitAttr : Dist_Layout<"Split", "split"> {
  let summary = "cut along a dimension: replica i of the group has chunk i";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$group, "int64_t":$dim);
  let assemblyFormat = "`<` $group `,` $dim `>`";
}
def Dist_ReplicatedAttr : Dist_Layout<"Replicated", "replicated"> {
  let summary = "a whole copy on each replica of the group";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$group);
  let assemblyFormat = "`<` $group `>`";
}

def Dist_PartialAttr : Dist_Layout<"Partial", "partial"> {
  let summary = "a summand on each replica of the group; the tensor is their sum";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$group);
  let assemblyFormat = "`<` $group `>`";
}
def Dist_LocalAttr : Dist_Layout<"Local", "local"> {
  let summary = "each replica's own value, meaningless outside the replica";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$group);
  let assemblyFormat = "`<` $group `>`";
}

def Dist_ShardedAttr : Dist_Layout<"Sharded", "sharded"> {
  let summary = "the elements, flattened, in equal runs over the replicas of the group, the last one shorter";
  let description = "The type's tensor is the whole; a replica has its run of it, and works on that element by element.";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$group);
  let assemblyFormat = "`<` $group `>`";
}

def Dist_PlacedType : TypeDef<Dist_Dialect, "Placed"> {
  let mnemonic = "tensor";
  let summary = "a tensor and where it lives";
  let description = [{
    `!dist.tensor<tensor<?x10xf32>, #dist.split<@net, 0>>`. The tensor is what one device sees: for split, a chunk; but for
    sharded it is the whole.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor, "::mlir::Attribute":$layout);
  let assemblyFormat = "`<` $tensor `,` $layout `>`";
  let genVerifyDecl = 1;
}

#endif
