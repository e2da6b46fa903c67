// Activations and arithmetic: ops with a scalar definition, from which kernels are generated.
#ifndef SHEAF_NN_ELEMENTWISE_TD
#define SHEAF_NN_ELEMENTWISE_TD

include "ir/Nn/NnDialect.td"
include "ir/Nn/NnInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

/// An op with a scalar definition; shapes broadcast as in PyTorch.
class Nn_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Op<Nn_Dialect, mnemonic, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<Nn_ShapeOpInterface>, DeclareOpInterfaceMethods<Nn_SplitOpInterface>])>;

class Nn_UnaryOp<string mnemonic, string math, dag attributes = (ins)>
    : Nn_ElementwiseOp<mnemonic, [DeclareOpInterfaceMethods<Nn_ElementwiseOpInterface>,
                                  DeclareOpInterfaceMethods<Nn_GradientOpInterface>]> {
  let summary = math;
  let arguments = !con((ins AnyTensor:$x), attributes);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

class Nn_BinaryOp<string mnemonic, string math>
    : Nn_ElementwiseOp<mnemonic, [DeclareOpInterfaceMethods<Nn_ElementwiseOpInterface>,
                                  DeclareOpInterfaceMethods<Nn_GradientOpInterface>]> {
  let summary = math;
  let arguments = (ins AnyTensor:$a, AnyTensor:$b);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` functional-type(operands, results)";
}

def Nn_ReluOp : Nn_UnaryOp<"relu", "max(x, 0); NaN stays NaN"> { let hasFolder = 1; }
def Nn_LeakyReluOp : Nn_UnaryOp<"leaky_relu", "x if x > 0, else negative_slope · x", (ins F64Attr:$negative_slope)>;
def Nn_EluOp : Nn_UnaryOp<"elu", "x if x > 0, else alpha · (exp(x) - 1)", (ins F64Attr:$alpha)>;
def Nn_SiluOp : Nn_UnaryOp<"silu", "x / (1 + exp(-x))">;
def Nn_GeluOp : Nn_UnaryOp<"gelu", "x · Φ(x), or the tanh form", (ins BoolAttr:$tanh_form)>;
def Nn_TanhOp : Nn_UnaryOp<"tanh", "tanh(x)">;
def Nn_SigmoidOp : Nn_UnaryOp<"sigmoid", "1 / (1 + exp(-x))">;
def Nn_HardtanhOp : Nn_UnaryOp<"hardtanh", "min(max(x, min_val), max_val)", (ins F64Attr:$min_val, F64Attr:$max_val)>;
def Nn_ScaleOp : Nn_UnaryOp<"scale", "x · value", (ins F64Attr:$value)> { let hasFolder = 1; }

def Nn_AddOp : Nn_BinaryOp<"add", "a + b, broadcast as in PyTorch">;
def Nn_SubOp : Nn_BinaryOp<"sub", "a - b, broadcast as in PyTorch">;
def Nn_MulOp : Nn_BinaryOp<"mul", "a · b, broadcast as in PyTorch">;

def Nn_MapOp : Nn_ElementwiseOp<"map", [DeclareOpInterfaceMethods<Nn_ElementwiseOpInterface, ["operandDims"]>,
                                        DeclareOpInterfaceMethods<Nn_GradientOpInterface>]> {
  let summary = "a function of one element of each input, by its name in ir/ElementFunctions.cpp";
  let description = [{
    Inputs broadcast as in PyTorch, except those that run along dimension 1 (the slopes of prelu). `numbers` are the function's
    own, such as a slope; if there is one input too few, the last number replaces it.
  }];
  let arguments = (ins Variadic<AnyTensor>:$inputs, StrAttr:$function, DenseF64ArrayAttr:$numbers);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$function $inputs attr-dict `:` functional-type(operands, results)";
}

def Nn_ExpandOp : Nn_ElementwiseOp<"expand", [
    DeclareOpInterfaceMethods<Nn_ElementwiseOpInterface, ["operandIsRead", "operandDims"]>,
    DeclareOpInterfaceMethods<Nn_GradientOpInterface>]> {
  let summary = "x repeated along dimensions of size 1, and along new ones in front";
  let description = [{
    `shape` has a size for each dimension of the result: -1 is x's own, -2 that of dimension `like_dim` of `like`, which is
    not used otherwise.
  }];
  let arguments = (ins AnyTensor:$x, Optional<AnyTensor>:$like, DenseI64ArrayAttr:$shape, I64Attr:$like_dim);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x (`like` $like^)? attr-dict `:` functional-type(operands, results)";
}

def Nn_CastOp : Nn_UnaryOp<"cast", "x with elements of the type `to`", (ins StrAttr:$to)> {
  let description = [{
    `to` is a dtype's name. Narrowing floats round to nearest, ties to even, NaN stays NaN; floats become integers towards
    zero; a bool is whether the element isn't 0. nn-set-precision inserts casts among floats. The gradient of its result may
    be wider than the result: a gradient computed as float32 stays so.
  }];
  let hasFolder = 1;
}

def Nn_BatchNormOp : Nn_ElementwiseOp<"batch_norm", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Nn_ElementwiseOpInterface, ["operandDims"]>,
    DeclareOpInterfaceMethods<Nn_GradientOpInterface>]> {
  let summary = "batch norm with given statistics, as in inference";
  let description = [{
    `(x - mean) · rsqrt(var + eps) · weight + bias`, the statistics and parameters running along dimension 1 of x
    (torch.nn.BatchNorm1d/2d in evaluation mode).
  }];
  let arguments = (ins AnyTensor:$x, AnyTensor:$mean, AnyTensor:$var, Optional<AnyTensor>:$weight,
                       Optional<AnyTensor>:$bias, F64Attr:$eps);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = [{
    $x `mean` `(` $mean `)` `var` `(` $var `)` (`weight` `(` $weight^ `)`)? (`bias` `(` $bias^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_FoldWeightOp : Nn_ElementwiseOp<"fold_weight", [
    DeclareOpInterfaceMethods<Nn_ElementwiseOpInterface, ["operandDims"]>]> {
  let summary = "a convolution's weight times the scale of the batch norm that follows it";
  let description = "`kernel · weight · rsqrt(var + eps)`, the last two along dimension `axis` of kernel.";
  let arguments = (ins AnyTensor:$kernel, AnyTensor:$var, Optional<AnyTensor>:$weight, F64Attr:$eps, I64Attr:$axis);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = [{
    $kernel `var` `(` $var `)` (`weight` `(` $weight^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_FoldBiasOp : Nn_ElementwiseOp<"fold_bias", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Nn_ElementwiseOpInterface>]> {
  let summary = "a convolution's bias after the batch norm that follows it is folded in";
  let description = "`(bias0 - mean) · weight · rsqrt(var + eps) + bias`; bias0 is the convolution's (0 if absent).";
  let arguments = (ins AnyTensor:$mean, AnyTensor:$var, Optional<AnyTensor>:$bias0, Optional<AnyTensor>:$weight,
                       Optional<AnyTensor>:$bias, F64Attr:$eps);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = [{
    $mean `var` `(` $var `)` (`conv_bias` `(` $bias0^ `)`)? (`weight` `(` $weight^ `)`)? (`bias` `(` $bias^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
}

#endif
