// Images in other sizes: interpolation, and channels that become pixels.
#ifndef SHEAF_NN_RESAMPLING_TD
#define SHEAF_NN_RESAMPLING_TD

include "ir/Nn/NnTensor.td"

def Nn_UpsampleOp : Nn_TensorOp<"upsample", (ins DenseI64ArrayAttr:$size, DenseF64ArrayAttr:$scale_factor, StrAttr:$mode,
    BoolAttr:$align_corners), []> {
  let summary = "torch.nn.Upsample of x `[N, C, s…]`; either `size` or `scale_factor` is given, the other empty";
  let description = "One number per spatial dimension, or one for all. nn-lower-layers lowers it to an nn.resample along each.";
}
def Nn_ResampleOp : Nn_TensorOp<"resample", (ins I64Attr:$dim, DenseI64ArrayAttr:$starts, DenseF64ArrayAttr:$weights)> {
  let summary = "y[…, j, …] = Σ weights[j, k] · x[…, starts[j] + k, …] along `dim`";
  let description = [{
    y has as many entries as `starts`; `weights` has as many rows, of equal length. Entries with a weight of -0 are not read. Its
    dual is the same with the transposed matrix.
  }];
}
def Nn_PixelShuffleOp : Nn_TensorOp<"pixel_shuffle", (ins I64Attr:$factor), []> {
  let summary = "torch.nn.PixelShuffle: `[…, C·r², H, W]` → `[…, C, H·r, W·r]`";
}
def Nn_PixelUnshuffleOp : Nn_TensorOp<"pixel_unshuffle", (ins I64Attr:$factor), []> {
  let summary = "torch.nn.PixelUnshuffle: `[…, C, H·r, W·r]` → `[…, C·r², H, W]`";
}
def Nn_ChannelShuffleOp : Nn_TensorOp<"channel_shuffle", (ins I64Attr:$groups), []> {
  let summary = "torch.nn.ChannelShuffle: x `[N, C, s…]`, channel g·(C/groups) + c becomes channel c·groups + g";
}

class Nn_WindowsOp<string mnemonic, dag more> : Nn_TensorOp<mnemonic, !con((ins DenseI64ArrayAttr:$kernel_size,
    DenseI64ArrayAttr:$dilation, DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$stride), more), []>;
def Nn_UnfoldOp : Nn_WindowsOp<"unfold", (ins)> {
  let summary = "torch.nn.Unfold: windows of x `[N, C, H, W]` as columns `[N, C·kh·kw, L]`";
}
def Nn_FoldOp : Nn_WindowsOp<"fold", (ins DenseI64ArrayAttr:$output_size)> {
  let summary = "torch.nn.Fold: columns `[N, C·kh·kw, L]` added up where their windows are in `[N, C, H, W]`";
}

#endif
