// The results of a training step: running statistics, optimiser states, parameters. Formulas are torch.optim's single-tensor
// ones; g is the gradient, p the parameter, lr and step 0-dimensional settings.
#ifndef SHEAF_NN_UPDATE_TD
#define SHEAF_NN_UPDATE_TD

include "ir/Nn/NnGradient.td"

def Nn_AssignOp : Op<Nn_Dialect, "assign", [MemoryEffects<[MemWrite]>, DeclareOpInterfaceMethods<Nn_ShapeOpInterface>]> {
  let summary = "`buffer` holds `value` from the end of the step on";
  let arguments = (ins AnyTensor:$buffer, AnyTensor:$value);
  let assemblyFormat = "$buffer `,` $value attr-dict `:` type(operands)";
}

def Nn_RunningAverageOp : Nn_TrainingElementwiseOp<"running_average", [], [AttrSizedOperandSegments]> {
  let summary = "(1 - m) · running + m · stat: batch norm's running statistics";
  let description = [{
    m is `momentum`, or 1 / num_batches (0-dimensional int64, including this batch): exactly one is given. With
    inverse_count (0-dimensional: 1/n) stat is a biased variance over n values, and is multiplied by n / (n - 1).
  }];
  let arguments = (ins AnyTensor:$running, AnyTensor:$stat, Optional<AnyTensor>:$inverse_count,
                       Optional<AnyTensor>:$num_batches, OptionalAttr<F64Attr>:$momentum);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = [{
    $running `,` $stat (`inverse_count` `(` $inverse_count^ `)`)? (`num_batches` `(` $num_batches^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_IncrementOp : Nn_TrainingElementwiseOp<"increment"> {
  let summary = "x + 1, for integers";
  let arguments = (ins AnyTensor:$x);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def Nn_AccumulateOp : Nn_TrainingElementwiseOp<"accumulate"> {
  let summary = "sum + x; x in the first micro-batch";
  let description = "`micro_batch` (0-dimensional int64, from 0) is the micro-batch's number: `sum` isn't read in the first.";
  let arguments = (ins AnyTensor:$sum, AnyTensor:$x, AnyTensor:$micro_batch);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$sum `,` $x `micro_batch` `(` $micro_batch `)` attr-dict `:` functional-type(operands, results)";
}

def Nn_ClipCoefficientOp : Nn_TrainingElementwiseOp<"clip_coefficient"> {
  let summary = "min(1, max_norm / (√x + 1e-6)), x the sum of all gradients' squares (torch.nn.utils.clip_grad_norm_)";
  let arguments = (ins AnyTensor:$x, F64Attr:$max_norm);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

/// An optimiser's op: the result has its first operand's shape. It works with the gradient g + weight_decay · p, with g negated
/// for `maximize`; p is read only if weight_decay is not 0.
class Nn_PenalisedOp<string mnemonic, dag arguments_, dag attributes> : Nn_TrainingElementwiseOp<mnemonic, ["operandIsRead"]> {
  let arguments = !con(arguments_, attributes, (ins F64Attr:$weight_decay, BoolAttr:$maximize));
  let results = (outs AnyTensor:$y);
}

def Nn_SgdMomentumOp : Nn_PenalisedOp<"sgd_momentum",
    (ins AnyTensor:$buffer, AnyTensor:$g, AnyTensor:$p, AnyTensor:$step), (ins F64Attr:$momentum, F64Attr:$dampening)> {
  let summary = "SGD's new momentum buffer: g in step 1, then momentum · buffer + (1 - dampening) · g";
  let description = "`step` (0-dimensional int64, from 1) is read only if dampening isn't 0: the buffer starts as zeros.";
  let assemblyFormat = "$buffer `,` $g `,` $p `,` $step attr-dict `:` functional-type(operands, results)";
}

def Nn_SgdUpdateOp : Nn_TrainingElementwiseOp<"sgd_update"> {
  let summary = "p - lr · (g + weight_decay · p); with `buffer`, p - lr · (g + weight_decay · p + momentum · buffer)";
  let description = [{
    Plain: g is the gradient. With momentum: g is sgd_momentum's result, and weight_decay 0. With nesterov: g is the
    gradient and `buffer` sgd_momentum's result. Also RMSprop's last step, g being rmsprop_direction or its buffer.
  }];
  let arguments = (ins AnyTensor:$p, AnyTensor:$g, AnyTensor:$lr, Optional<AnyTensor>:$buffer, F64Attr:$momentum,
                       F64Attr:$weight_decay, BoolAttr:$maximize);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$p `,` $g `,` $lr (`buffer` `(` $buffer^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Nn_AdamFirstMomentOp : Nn_PenalisedOp<"adam_first_moment", (ins AnyTensor:$m, AnyTensor:$g, AnyTensor:$p),
                                          (ins F64Attr:$beta)> {
  let summary = "m + (1 - beta) (g - m): Adam's exp_avg, RMSprop's grad_avg";
  let assemblyFormat = "$m `,` $g `,` $p attr-dict `:` functional-type(operands, results)";
}
def Nn_AdamSecondMomentOp : Nn_PenalisedOp<"adam_second_moment", (ins AnyTensor:$v, AnyTensor:$g, AnyTensor:$p),
                                           (ins F64Attr:$beta)> {
  let summary = "beta · v + (1 - beta) g²: Adam's exp_avg_sq, RMSprop's square_avg";
  let assemblyFormat = "$v `,` $g `,` $p attr-dict `:` functional-type(operands, results)";
}
def Nn_AdamMaxOp : Nn_TrainingElementwiseOp<"adam_max"> {
  let summary = "the larger of the two: amsgrad's max_exp_avg_sq";
  let arguments = (ins AnyTensor:$maximum, AnyTensor:$v);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$maximum `,` $v attr-dict `:` functional-type(operands, results)";
}
def Nn_BiasCorrectionOp : Nn_TrainingElementwiseOp<"bias_correction"> {
  let summary = "1 - beta^step: the divisor of a running average that began as zero, after `step` values";
  let description = [{
    `step` is 0-dimensional int64, from 1; the result is 0-dimensional f32. It is computed in double precision, as torch.optim
    does in Python.
  }];
  let arguments = (ins AnyTensor:$step, F64Attr:$beta);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$step attr-dict `:` functional-type(operands, results)";
}
def Nn_AdamUpdateOp : Nn_TrainingElementwiseOp<"adam_update"> {
  let summary = "p - (lr / bias_correction1) · m / (√v / √bias_correction2 + eps)";
  let description = [{
    m and v are the new moments (with amsgrad, v is adam_max's result), the corrections those that bias_correction gives for
    their betas. `weight_decay` is AdamW's: p · (1 - lr · weight_decay) comes first. Adam's own is part of the moments.
  }];
  let arguments = (ins AnyTensor:$p, AnyTensor:$m, AnyTensor:$v, AnyTensor:$lr, AnyTensor:$bias_correction1,
                       AnyTensor:$bias_correction2, F64Attr:$eps, F64Attr:$weight_decay);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = [{
    $p `,` $m `,` $v `,` $lr `,` $bias_correction1 `,` $bias_correction2 attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_RmspropDirectionOp : Nn_TrainingElementwiseOp<"rmsprop_direction", ["operandIsRead"]> {
  let summary = "g / (√v + eps), centered: g / (√(v - average²) + eps)";
  let description = [{
    v is the new square_avg (adam_second_moment), average the new grad_avg (adam_first_moment), present if centered.
    sgd_momentum makes the momentum buffer from the result (dampening and weight_decay 0), sgd_update the update.
  }];
  let arguments = (ins AnyTensor:$g, AnyTensor:$p, AnyTensor:$v, Optional<AnyTensor>:$average, F64Attr:$eps,
                       F64Attr:$weight_decay, BoolAttr:$maximize);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$g `,` $p `,` $v (`average` `(` $average^ `)`)? attr-dict `:` functional-type(operands, results)";
}

#endif
