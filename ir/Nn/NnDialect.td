// The nn dialect: what a model computes, layer by layer, on whole tensors. It lives from the model file's import until
// partitioning (passes/dist), and inside the regions of dist.apply and dist.parallel_apply after it.
//
//   NnDialect.td      this file: the dialect and the classes that ops are declared with
//   NnInterfaces.td   what an op knows about itself: shapes, how it splits, its scalar definition
//   NnElementwise.td  activations and arithmetic: one scalar definition each, for generated kernels
//   NnLayers.td       layers with parameters, and pooling: library calls
//   NnTensor.td       operations that move elements: reshape, permute, concat, select, …
//   NnIndexing.td     taking parts of a tensor, or looking elements up: slices, splits, borders, index_select, …
//   NnReduction.td    extrema, variances, running sums
//   NnAttention.td    scaled dot-product attention
//   NnResampling.td   images in other sizes
//   NnStructure.td    data_parallel, fused, print, yield
//   NnLoss.td         a loss as the model file states it
//   NnTraining.td     layers in their training form and their duals: library calls
//   NnGradient.td     the ops that gradients and losses are composed of: generated kernels
//   NnUpdate.td       running statistics and optimisers
//
// An op's dual (GradientOpInterface) is in Gradients*.cpp.
//
// Tensors are builtin ones. A `?` is a dimension that depends on the batch, linearly, or on lengths; ir/Shapes.h computes the
// exact expression. Each op's location is its layer's name, then file, line and column.
#ifndef SHEAF_NN_DIALECT_TD
#define SHEAF_NN_DIALECT_TD

include "mlir/IR/OpBase.td"

def Nn_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::sheaf::nn";
  let summary = "Layers and tensor operations with PyTorch's meaning";
  let description = [{
    Operations take and return builtin tensors. Programs are `func.func`s whose arguments have the attributes
    `nn.role` ("input", "parameter", "buffer") and `nn.name` (the input's, or PyTorch's dotted parameter name);
    the function's `nn.outputs` lists the names of its results. Discardable attributes on ops: `nn.type`, the
    layer's type in the model file; `nn.device`, the annotated or placed device (-1 the host, k the k-th entry
    of the device list); `nn.reason`, why it was placed there; `nn.notes`, what passes decided about it.
    A training program's first result is the loss; its arguments may have the roles "target", "state" and "setting".
    `nn.differentiate` lists the arguments where a backward pass from given gradients ends; its targets are the outputs'
    gradients. `nn.extents` states their sizes, and those of arguments with lengths. The function's `nn.lengths` lists the
    lengths with their largest numbers; `nn.length` on a slice is the length at which it ends, and `nn.named_sizes` on a reshape
    says which sizes are lengths. `nn.constant` marks buffers that no weights file has.
    On the function: `nn.optimizer` (PyTorch's type and arguments), `nn.clip_grad_norm`, `nn.loss_scale` (torch.amp.GradScaler's
    arguments, or `scale`, a constant), and the names of further results: `nn.gradients` (parameters), then `nn.updates`
    (parameters, buffers and states). `nn.momentum` on a batch norm is the share of the new batch in its running statistics,
    `nn.synchronized` says that those of a batch are the whole batch's in a parallel region too; `nn.padding_mode` on a convolution says what fills its padding instead of zeros, until nn-lower-layers puts it there;
    `nn.masked` on a softmax says that rows of only -∞, which a mask hides completely, become zeros.
  }];
  let useDefaultAttributePrinterParser = 0;
  let hasOperationAttrVerify = 1;
}

#endif
