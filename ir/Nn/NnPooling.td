// Pools, as they run in inference and in training, and their gradients: all library calls.
#ifndef SHEAF_NN_POOLING_TD
#define SHEAF_NN_POOLING_TD

include "ir/Nn/NnTraining.td"

class Nn_PoolOp<string mnemonic, dag attributes, list<Trait> traits = []> : Nn_LayerOp<mnemonic, traits> {
  let arguments = !con((ins AnyTensor:$x), attributes);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
def Nn_MaxPoolOp : Nn_PoolOp<"max_pool", (ins DenseI64ArrayAttr:$kernel_size, DenseI64ArrayAttr:$stride,
    DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation, BoolAttr:$ceil_mode)> {
  let summary = "torch.nn.MaxPool2d; x `[N, C, h, w]` or `[C, h, w]`";
}
def Nn_AvgPoolOp : Nn_PoolOp<"avg_pool", (ins DenseI64ArrayAttr:$kernel_size, DenseI64ArrayAttr:$stride,
    DenseI64ArrayAttr:$padding, BoolAttr:$ceil_mode, BoolAttr:$count_include_pad, I64Attr:$divisor_override), [Nn_Gradient]> {
  let summary = "torch.nn.AvgPool2d; divisor_override 0 means none";
}
def Nn_AdaptiveAvgPoolOp : Nn_PoolOp<"adaptive_avg_pool", (ins DenseI64ArrayAttr:$output_size), [Nn_Gradient]> {
  let summary = "torch.nn.AdaptiveAvgPool2d; an output size of -1 keeps the input's";
}
def Nn_AdaptiveMaxPoolOp : Nn_PoolOp<"adaptive_max_pool", (ins DenseI64ArrayAttr:$output_size)> {
  let summary = "torch.nn.AdaptiveMaxPool2d; an output size of -1 keeps the input's. nn-lower-layers makes it a max_pool";
}
def Nn_MaxPoolPositionsOp : Nn_PoolOp<"max_pool_positions", (ins DenseI64ArrayAttr:$kernel_size, DenseI64ArrayAttr:$stride,
    DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation, BoolAttr:$ceil_mode)> {
  let summary = "where max_pool's maxima are (int64): their numbers in the image, row by row; of equal ones the first";
  let description = "nn-lower-layers makes it an arg_extremum of the windows and arithmetic on their places.";
}
def Nn_AdaptiveMaxPoolPositionsOp : Nn_PoolOp<"adaptive_max_pool_positions", (ins DenseI64ArrayAttr:$output_size)> {
  let summary = "the same of adaptive_max_pool";
}
def Nn_MaxUnpoolOp : Nn_LayerOp<"max_unpool"> {
  let summary = "torch.nn.MaxUnpool2d: zeros, and x's elements at their positions in an image";
  let description = [{
    `output_size` holds the image's sizes; if it is empty, they are those of the smallest image in which the windows have as many
    places as x has elements. Of several elements for one place, the last one counts. nn-lower-layers makes it a scatter_elements.
  }];
  let arguments = (ins AnyTensor:$x, AnyTensor:$positions, DenseI64ArrayAttr:$kernel_size, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$output_size);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x `,` $positions attr-dict `:` functional-type(operands, results)";
}

// Training.

def Nn_MaxPoolTrainOp : Nn_TrainOp<"max_pool_train"> {
  let summary = "max_pool with a workspace that records where each maximum was";
  let arguments = (ins AnyTensor:$x, DenseI64ArrayAttr:$kernel_size, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation, BoolAttr:$ceil_mode);
  let results = (outs AnyTensor:$y, AnyTensor:$workspace);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def Nn_MaxPoolBackwardOp : Nn_LayerOp<"max_pool_backward"> {
  let summary = "the dual of max_pool_train; `size` is x's height and width";
  let arguments = (ins AnyTensor:$dy, AnyTensor:$workspace, DenseI64ArrayAttr:$kernel_size, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation, BoolAttr:$ceil_mode,
                       DenseI64ArrayAttr:$size);
  let results = (outs AnyTensor:$dx);
  let assemblyFormat = "$dy `,` $workspace attr-dict `:` functional-type(operands, results)";
}

def Nn_AvgPoolBackwardOp : Nn_LayerOp<"avg_pool_backward"> {
  let summary = "the dual of avg_pool; `size` is x's height and width";
  let arguments = (ins AnyTensor:$dy, DenseI64ArrayAttr:$kernel_size, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$padding, BoolAttr:$ceil_mode, BoolAttr:$count_include_pad,
                       I64Attr:$divisor_override, DenseI64ArrayAttr:$size);
  let results = (outs AnyTensor:$dx);
  let assemblyFormat = "$dy attr-dict `:` functional-type(operands, results)";
}

def Nn_AdaptiveAvgPoolBackwardOp : Nn_LayerOp<"adaptive_avg_pool_backward"> {
  let summary = "the dual of adaptive_avg_pool; `size` is x's height and width";
  let arguments = (ins AnyTensor:$dy, DenseI64ArrayAttr:$size);
  let results = (outs AnyTensor:$dx);
  let assemblyFormat = "$dy attr-dict `:` functional-type(operands, results)";
}

#endif
