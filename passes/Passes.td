// Sheaf's passes, in the order in which pipelines.cpp runs them. Each has a test tests/lit/passes/<name>.mlir and a twin
// <name>-errors.mlir.
#ifndef SHEAF_PASSES_TD
#define SHEAF_PASSES_TD

include "mlir/Pass/PassBase.td"

//===-- nn: what ------------------------------------------------------------------------------------===//

def NnInferShapes : Pass<"nn-infer-shapes", "::mlir::func::FuncOp"> {
  let summary = "Gives every value its ranked type";
  let description = [{
    Runs each op's shape function in order, from the function's arguments on, and refines result types. Sizes that
    cannot be proved to fit are errors at the layer's line.

    ```mlir
    %y = nn.linear %x, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<*xf32>
    // becomes
    %y = nn.linear %x, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
    ```
  }];
}

def NnPlace : Pass<"nn-place", "::mlir::func::FuncOp"> {
  let summary = "Gives every op outside parallel regions a device and a reason";
  let description = [{
    In order: the model's annotation; an embedding table beyond `device-memory` goes to the host; an op stays where
    its first placed input is; otherwise the first device. Inside a parallel region every op runs on its replica's
    device, and an annotation that says otherwise is an error.
  }];
  let options = [
    Option<"deviceMemory", "device-memory", "int64_t", "0", "bytes of memory of a device; 0: not stated">,
  ];
}

def NnSetPrecision : Pass<"nn-set-precision", "::mlir::func::FuncOp"> {
  let summary = "Chooses the arithmetic of each layer and inserts the casts it needs";
  let description = [{
    With `precision` bf16 or f16, as torch.autocast: linear layers, convolutions and matrix products take narrow inputs and
    weights and sum in f32; softmax, row norms, sums, losses and recurrent layers compute and return f32; all other ops work in
    their operands' type. Parameters, statistics, inputs and outputs keep their type. With f32 every layer that computes does so
    in f32; a bfloat16 or float16 input is cast at the first such layer.

    ```mlir
    %y = nn.linear %x, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
    // becomes
    %a = nn.cast %x {to = "bfloat16"} : (tensor<?x5xf32>) -> tensor<?x5xbf16>
    %b = nn.cast %w {to = "bfloat16"} : (tensor<2x5xf32>) -> tensor<2x5xbf16>
    %y = nn.linear %a, %b : (tensor<?x5xbf16>, tensor<2x5xbf16>) -> tensor<?x2xbf16>
    ```
  }];
  let options = [Option<"precision", "precision", "std::string", "\"f32\"", "f32, bf16 or f16">];
}

def NnInlineRegions : Pass<"nn-inline-regions", "::mlir::func::FuncOp"> {
  let summary = "Removes parallel regions, giving the unpartitioned program that `verify` compares with";
  let description = [{
    An `nn.data_parallel` becomes its body. All ops lose their device, so that placement leaves nothing to move.
  }];
}

def NnWarnMixing : Pass<"nn-warn-mixing", "::mlir::func::FuncOp"> {
  let summary = "Warns of layers in a parallel region that mix the rows that the region splits";
  let description = [{
    Each replica takes a mean over the batch, say, over its own chunk. DataParallel is defined this way, but it is seldom
    intended. Each op's split rule says where a cut dimension goes.
  }];
}

def NnTrainingMode : Pass<"nn-training-mode", "::mlir::func::FuncOp"> {
  let summary = "Puts layers into their training form and lowers the loss";
  let description = [{
    A batch norm uses its batch's statistics and assigns the running ones; a dropout draws its mask, an RReLU its slopes from
    the settings `step` and `seed`, which become arguments of the program; the loss becomes softmax, element-wise ops and a sum.

    With `accumulate` the program is for a micro-batch: the loss is a sum even if it is a mean over the whole batch, its
    divisor is a second output, `divisor`, and what draws takes the setting `first_row`.
  }];
  let options = [Option<"accumulate", "accumulate", "bool", "false", "for a part of a batch">];
}

def NnSynchronize : Pass<"nn-synchronize", "::mlir::func::FuncOp"> {
  let summary = "Gives a SyncBatchNorm in a parallel region the statistics of the whole batch";
  let description = [{
    A `nn.batch_norm_train` that is marked `nn.synchronized` becomes arithmetic in f32 in which `nn.sum_over_replicas` adds up what each
    replica sums: Σ x, then Σ (x - mean)². Its gradient is that of its parts.
  }];
}

//===-- dist: where ---------------------------------------------------------------------------------===//

def DistPartition : Pass<"dist-partition", "::mlir::ModuleOp"> {
  let summary = "Makes places explicit: nn programs become dist programs";
  let description = [{
    Every op moves into a `dist.apply` on its device, every `nn.data_parallel` becomes a group with scatter,
    replicate, `dist.parallel_apply` and gather, and every value used on a device other than its own is transferred.
    Each inserted op has a reason. A region with `nn.sum_over_replicas` becomes several `dist.parallel_apply`, with an all_reduce
    between what is summed and what uses the sum.
  }];
  let dependentDialects = ["::sheaf::dist::DistDialect"];
}

def DistSimplify : Pass<"dist-simplify", "::mlir::ModuleOp"> {
  let summary = "Removes movements that change nothing";
  let description = [{
    A gather that is scattered again in the same chunks over the same devices disappears, together with the second group; equal
    movements become one; unused values are removed.
  }];
}

def DistMergeApplies : Pass<"dist-merge-applies", "::mlir::func::FuncOp"> {
  let summary = "Merges neighbouring dist.apply ops on the same device";
  let description = "Later passes then see the chain of ops that one device runs without interruption.";
}

def DistCollectUpdates : Pass<"dist-collect-updates", "::mlir::func::FuncOp"> {
  let summary = "Turns the values that layers assign to their buffers into results of the program";
  let description = [{
    The values of `nn.assign` leave their bodies (for replicas, the first one's is kept) and are returned;
    `nn.updates` names the buffers.
  }];
  let dependentDialects = ["::sheaf::dist::DistDialect"];
}

def DistDifferentiate : Pass<"dist-differentiate", "::mlir::func::FuncOp"> {
  let summary = "Builds the backward pass: each op's dual, in reverse";
  let description = [{
    The first result of the function is the loss. The parameters' gradients become its last results, in the order of
    `nn.gradients`. Parameters that the loss doesn't depend on have none; one warning names them.

    With `nn.differentiate`, names of inputs and parameters, there is no loss: the gradients of the outputs become arguments,
    targets called `OUTPUT.grad`, and the results are the gradients of the listed values.
  }];
  let dependentDialects = ["::sheaf::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def DistTakeParameters : Pass<"dist-take-parameters", "::mlir::func::FuncOp"> {
  let summary = "Turns parameters and buffers into inputs, and their new values and gradients into outputs";
  let description = [{
    For a caller who has them in host memory and passes them at each run: each used one is moved from there to its home. Buffers'
    new values follow the outputs under the buffers' names, then gradients, called `NAME.grad`. Tensors that no weights file has
    (`nn.constant`) stay in the plan.
  }];
  let dependentDialects = ["::sheaf::dist::DistDialect"];
}

def DistReplicateState : Pass<"dist-replicate-state", "::mlir::func::FuncOp"> {
  let summary = "Parameters live on each replica: strategy `replicated`";
  let description = [{
    A parameter that only a single parallel region uses has its home on each of the region's replicas: it is no
    longer replicated at each step, and its gradient's `reduce` becomes an `all_reduce`. dist-optimize then puts the optimiser's
    state and the update there too. Buffers stay where they are, and so do parameters of layers outside of regions.

    ```mlir
    %g = dist.reduce %p {reason = "…"} : <tensor<4xf32>, #dist.partial<@net>> -> <tensor<4xf32>, #dist.device<0>>
    // becomes
    %g = dist.all_reduce %p {reason = "…"} : <tensor<4xf32>, #dist.partial<@net>> -> <tensor<4xf32>, #dist.replicated<@net>>
    ```
  }];
  let dependentDialects = ["::sheaf::dist::DistDialect"];
}

def DistShardState : Pass<"dist-shard-state", "::mlir::func::FuncOp"> {
  let summary = "The optimiser's state lives in shares, one on each replica: strategy `sharded`";
  let description = [{
    A parameter that only a single parallel region uses has its home on each of the region's replicas, as with
    `dist-replicate-state`. Its gradient's `reduce` becomes a `reduce_scatter`: each replica gets the sum of its share.
    dist-optimize then puts the optimiser's state and the update into shares too, followed by an `all_gather` of the new value.

    ```mlir
    %g = dist.reduce %p {reason = "…"} : <tensor<4xf32>, #dist.partial<@net>> -> <tensor<4xf32>, #dist.device<0>>
    // becomes
    %g = dist.reduce_scatter %p {reason = "…"} : <tensor<4xf32>, #dist.partial<@net>> -> <tensor<4xf32>, #dist.sharded<@net>>
    ```
  }];
  let dependentDialects = ["::sheaf::dist::DistDialect"];
}

def DistShardParameters : Pass<"dist-shard-parameters", "::mlir::func::FuncOp"> {
  let summary = "Parameters and the optimiser's state live in shares, one on each replica: strategy `fully_sharded`";
  let description = [{
    As in `dist-shard-state`, and the parameters live in shares too: each `parallel_apply` that uses one, in the forward and in
    the backward pass, has its own `all_gather`, so that the values gathered for one are dropped before the other.

    ```mlir
    %w = dist.replicate %home {reason = "…"} : <tensor<4xf32>, #dist.device<0>> -> <tensor<4xf32>, #dist.replicated<@net>>
    // becomes, with %home an argument in shares,
    %w = dist.all_gather %home {reason = "…"} : <tensor<4xf32>, #dist.sharded<@net>> -> <tensor<4xf32>, #dist.replicated<@net>>
    ```
  }];
  let dependentDialects = ["::sheaf::dist::DistDialect"];
}

def DistOptimize : Pass<"dist-optimize", "::mlir::func::FuncOp"> {
  let summary = "Turns gradients into updates: clipping, and the optimiser's arithmetic where each parameter lives";
  let description = [{
    Reads `nn.optimizer` (PyTorch's name and arguments), `nn.clip_grad_norm` and `nn.loss_scale`. The gradients that dist-differentiate
    returns are replaced by the parameters' and states' new values, named in `nn.updates`; states and settings become
    arguments.
  }];
  let dependentDialects = ["::sheaf::dist::DistDialect"];
}

def DistAccumulate : Pass<"dist-accumulate", "::mlir::ModuleOp"> {
  let summary = "Splits a training step into one that accumulates gradients and one that updates";
  let description = [{
    The function with gradients, for a micro-batch, becomes `accumulate`: it adds its loss, divisor and gradients to
    accumulators, arguments that `nn.updates` names. A second function, `update`, divides them and returns loss and
    gradients; `nn.optimizer`, `nn.clip_grad_norm` and `nn.loss_scale` move there, so dist-optimize makes it the rest of the step.
  }];
  let dependentDialects = ["::sheaf::dist::DistDialect"];
}

//===-- nn inside regions: towards kernels and library calls ----------------------------------------===//

def NnLowerLayers : Pass<"nn-lower-layers", "::mlir::func::FuncOp"> {
  let summary = "Lowers layers that neither a library nor a single kernel computes";
  let description = [{
    MultiheadAttention becomes linear layers, matrix products and a softmax; inputs without a batch dimension get one; a mean
    over non-adjacent dimensions is taken one by one; dropout and identity are removed. Slices, splits, borders, resampling,
    variances, and layers over one or three spatial dimensions become ops that have kernels or library calls.
  }];
  let options = [Option<"beforeGradients", "before-gradients", "bool", "false",
                        "attentions with many queries stay, and losses over many classes, so that their duals can be built">];
}

def NnKeepWorkspaces : Pass<"nn-keep-workspaces", "::mlir::func::FuncOp"> {
  let summary = "Makes pooling and recurrent layers keep what their backward pass needs";
  let description = "max_pool, lstm, gru and rnn become max_pool_train, lstm_train and so on, which also give a workspace.";
}

def NnFoldBatchNorm : Pass<"nn-fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Folds a batch norm into the convolution before it";
  let description = [{
    In inference a batch norm is a linear map per channel. Its scale goes into the convolution's weight, its shift
    into the bias; both depend only on parameters, so they are computed once.
  }];
}

def NnSplitSums : Pass<"nn-split-sums", "::mlir::func::FuncOp"> {
  let summary = "Takes long sums to one number in two steps";
  let description = [{
    A sum, mean or extremum of all of a tensor is one item of work: one thread of a CPU, one block of a GPU's threads. If it is long, it is
    taken along the outermost dimension first, row by row, then of what the rows gave, unless rows have fewer than 32 elements. A row's order of
    additions depends on its length alone, as any sum's: which devices or chunks there are changes no bits.
  }];
}

def NnFuseLibrary : Pass<"nn-fuse-library", "::mlir::func::FuncOp"> {
  let summary = "Moves a residual sum and an activation into the library call before them";
  let description = "`relu(add(conv(x), r))` becomes one `nn.conv` with `residual` and `activation`.";
}

def NnFuseElementwise : Pass<"nn-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Groups element-wise ops, and the op over rows they surround, into nn.fused: one kernel, one pass over memory";
  let description = [{
    Every element-wise op, softmax and norm over rows becomes an `nn.fused` of its own, then a producer joins its only
    consumer if their results have the same shape. One that only spreads smaller tensors, such as the weights of all classes by
    their targets, joins each of its consumers. A group holds at most one op over rows.
  }];
  let options = [
    Option<"join", "join", "bool", "true", "false: each op stays in a group of its own">,
  ];
}

#endif
