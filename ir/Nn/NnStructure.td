// Structure: parallel regions and sums over their replicas, fused groups, printing.
#ifndef SHEAF_NN_STRUCTURE_TD
#define SHEAF_NN_STRUCTURE_TD

include "ir/Nn/NnTensor.td"

def Nn_PrintOp : Op<Nn_Dialect, "print", [DeclareOpInterfaceMethods<Nn_ShapeOpInterface>, Nn_Gradient]> {
  let summary = "passes its first input through and prints `text`, `{i}` being the size of input i";
  let arguments = (ins Variadic<AnyTensor>:$inputs, StrAttr:$text);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$inputs `text` $text attr-dict `:` functional-type(operands, results)";
}

def Nn_DataParallelOp : Op<Nn_Dialect, "data_parallel", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "torch.nn.DataParallel: the body runs once per device, each on its chunk of the inputs";
  let description = [{
    Inputs are split along `dim` over the devices `device_ids` (entries of the run's device list; all of them if
    absent), results are concatenated along `dim` on `output_device`. Parameters are used from outside the body.
    The body's arguments are chunks: their dimension `dim` is `?`. An input without a size that depends on the batch is whole
    on each device, if another input has rows.
  }];
  let arguments = (ins Variadic<AnyTensor>:$inputs, StrAttr:$name, I64Attr:$dim,
                       OptionalAttr<DenseI64ArrayAttr>:$device_ids, OptionalAttr<I64Attr>:$output_device);
  let results = (outs Variadic<AnyTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    /// Whether each replica has the whole of an input; false if its shape isn't known yet.
    bool isReplicated(unsigned input);
  }];
  let assemblyFormat = "$name `(` $inputs `)` attr-dict `:` functional-type(operands, results) $body";
  let hasVerifier = 1;
}

def Nn_SumOverReplicasOp : Op<Nn_Dialect, "sum_over_replicas",
    [Pure, HasParent<"DataParallelOp">, AllTypesMatch<["x", "y"]>, DeclareOpInterfaceMethods<Nn_ShapeOpInterface>]> {
  let summary = "in a parallel region: the sum of the replicas' values, left to right, on each of them";
  let description = [{
    `x` is a value that the region computes, of the same shape on each replica. dist-partition cuts the region here; its gradient is that
    of the `dist.all_reduce` that it becomes.
  }];
  let arguments = (ins AnyTensor:$x);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Nn_FusedOp : Op<Nn_Dialect, "fused", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "ops that become one kernel: element-wise ones, with at most one op over rows among them";
  let description = [{
    The body holds ops with a scalar definition and at most one softmax, norm, sum or mean: the ops before it compute
    its first operand, and the ops after it use its result. The body's arguments are the inputs.
  }];
  let arguments = (ins Variadic<AnyTensor>:$inputs);
  let results = (outs Variadic<AnyTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type(operands, results) $body";
  let hasVerifier = 1;
}

def Nn_YieldOp : Op<Nn_Dialect, "yield", [Pure, ReturnLike, Terminator, ParentOneOf<["DataParallelOp", "FusedOp"]>]> {
  let summary = "the results of a body";
  let arguments = (ins Variadic<AnyTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

#endif
