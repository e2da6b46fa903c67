// The loss of a training program as the model file states it, and constants.
#ifndef SHEAF_NN_LOSS_TD
#define SHEAF_NN_LOSS_TD

include "ir/Nn/NnLayers.td"

def Nn_LossOp : Nn_LayerOp<"loss"> {
  let summary = "a loss by PyTorch's name, of a model's value and a target: a 0-dimensional tensor";
  let description = [{
    `kind` is CrossEntropyLoss, NLLLoss (x `[N, C, d…]` or `[C]`, target `[N, d…]` or `[]` of integers), MSELoss, L1Loss,
    BCELoss or BCEWithLogitsLoss (x and target of one shape); `arguments` are PyTorch's. nn-expand-loss takes it apart.
  }];
  let arguments = (ins AnyTensor:$x, AnyTensor:$target, StrAttr:$kind, DictionaryAttr:$arguments);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$kind $x `,` $target attr-dict `:` functional-type(operands, results)";
}

def Nn_FillOp : Op<Nn_Dialect, "fill", [Pure, DeclareOpInterfaceMethods<Nn_ShapeOpInterface>,
    DeclareOpInterfaceMethods<Nn_ElementwiseOpInterface>]> {
  let summary = "a 0-dimensional float32 tensor that holds `value`";
  let arguments = (ins F64Attr:$value);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$value attr-dict `:` functional-type(operands, results)";
}

#endif
