// Operations on rows and elements without parameters: softmax, mean, and ops that only move elements.
#ifndef SHEAF_NN_TENSOR_TD
#define SHEAF_NN_TENSOR_TD

include "ir/Nn/NnLayers.td"

class Nn_TensorOp<string mnemonic, dag attributes, list<Trait> traits = [Nn_Gradient]> : Nn_LayerOp<mnemonic, traits> {
  let arguments = !con((ins AnyTensor:$x), attributes);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def Nn_SoftmaxOp : Nn_TensorOp<"softmax", (ins I64Attr:$dim, BoolAttr:$log)> {
  let summary = "softmax over `dim` (may be negative), or its logarithm";
}
def Nn_MeanOp : Nn_TensorOp<"mean", (ins DenseI64ArrayAttr:$dims, BoolAttr:$keepdim)> { let summary = "mean over `dims`"; }
def Nn_ReshapeOp : Nn_TensorOp<"reshape", (ins DenseI64ArrayAttr:$shape)> {
  let summary = "the elements in row-major order under another shape; one size may be -1";
  let hasFolder = 1;
}
def Nn_FlattenOp : Nn_TensorOp<"flatten", (ins I64Attr:$start_dim, I64Attr:$end_dim)> {
  let summary = "dimensions start_dim … end_dim become one";
}
def Nn_UnflattenOp : Nn_TensorOp<"unflatten", (ins I64Attr:$dim, DenseI64ArrayAttr:$sizes), []> {
  let summary = "torch.nn.Unflatten: dimension `dim` becomes several of `sizes`, one of which may be -1";
}
def Nn_PermuteOp : Nn_TensorOp<"permute", (ins DenseI64ArrayAttr:$dims)> {
  let summary = "y's dimension i is x's dimension dims[i]";
  let hasFolder = 1;
}
def Nn_SelectOp : Nn_TensorOp<"select", (ins I64Attr:$dim, I64Attr:$index)> { let summary = "x[…, index, …] along `dim`, which is dropped"; }
def Nn_SliceOp : Nn_TensorOp<"slice", (ins I64Attr:$dim, I64Attr:$begin, I64Attr:$size,
    DefaultValuedAttr<I64Attr, "1">:$step)> {
  let summary = "`size` entries of x along `dim`: the one at `begin`, then each `step` further on (back if negative)";
}
def Nn_DropoutOp : Nn_TensorOp<"dropout", (ins F64Attr:$p, OptionalAttr<StrAttr>:$mask, OptionalAttr<I64Attr>:$spatial_dims), []> {
  let summary = "the identity in inference";
  let description = [{
    `mask` is the unit that is dropped: "channel" (all of the last `spatial_dims` dimensions; torch.nn.Dropout1d, 2d, 3d), "row"
    or "batch" (torchvision's StochasticDepth), else each element. "alpha": each element, as torch.nn.AlphaDropout; "feature_alpha": each
    channel, as torch.nn.FeatureAlphaDropout.
  }];
}
def Nn_GluOp : Nn_TensorOp<"glu", (ins I64Attr:$dim), []> {
  let summary = "a · sigmoid(b), where x is a followed by b along `dim`";
}
def Nn_IdentityOp : Nn_TensorOp<"identity", (ins)> { let summary = "x itself"; }

def Nn_ConcatOp : Nn_LayerOp<"concat", [Nn_Gradient]> {
  let summary = "the inputs one after the other along `dim`";
  let arguments = (ins Variadic<AnyTensor>:$inputs, I64Attr:$dim);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
}

#endif
