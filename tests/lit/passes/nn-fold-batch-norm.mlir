// RUN: sheaf-opt %s --nn-fold-batch-norm | FileCheck %s

// A batch norm behind a convolution goes into its weight, along output channels, and its bias, which is added if
// absent.
// CHECK-LABEL: func.func @conv(
// CHECK: %[[W:.*]] = nn.fold_weight %arg1 var(%arg3) {axis = 0 : i64, eps = 1.000000e-05 : f64}
// CHECK: %[[B:.*]] = nn.fold_bias %arg2 var(%arg3) {eps = 1.000000e-05 : f64}
// CHECK: %[[Y:.*]] = nn.conv %arg0, %[[W]] bias(%[[B]])
// CHECK-SAME: nn.notes = ["the batch norm of 'batch_norm' is folded into its weight and bias, once: in inference it is a scale and a shift per channel"]
// CHECK-NOT: nn.batch_norm
// CHECK: return %[[Y]]
func.func @conv(%x: tensor<?x4x9xf32> {nn.role = "input"}, %w: tensor<6x4x3xf32> {nn.role = "parameter"}, %m: tensor<6xf32> {nn.role = "buffer"}, %v: tensor<6xf32> {nn.role = "buffer"}) -> tensor<?x6x7xf32> {
  %0 = nn.conv %x, %w {stride = array<i64: 1>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x9xf32>, tensor<6x4x3xf32>) -> tensor<?x6x7xf32>
  %1 = nn.batch_norm %0 mean(%m) var(%v) {eps = 1.0e-05 : f64} : (tensor<?x6x7xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6x7xf32>
  return %1 : tensor<?x6x7xf32>
}

// Behind a linear layer too; its bias and the norm's weight and bias take part.
// CHECK-LABEL: func.func @linear(
// CHECK: nn.fold_weight %arg1 var(%arg2) weight(%arg2) {axis = 0 : i64
// CHECK: nn.fold_bias %arg2 var(%arg2) conv_bias(%arg2) weight(%arg2) bias(%arg2)
// CHECK: nn.linear
// CHECK-NOT: nn.batch_norm
// CHECK: return
func.func @linear(%x: tensor<?x5xf32> {nn.role = "input"}, %w: tensor<6x5xf32> {nn.role = "parameter"}, %c: tensor<6xf32> {nn.role = "parameter"}) -> tensor<?x6xf32> {
  %0 = nn.linear %x, %w bias(%c) : (tensor<?x5xf32>, tensor<6x5xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  %1 = nn.batch_norm %0 mean(%c) var(%c) weight(%c) bias(%c) {eps = 1.0e-05 : f64} : (tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  return %1 : tensor<?x6xf32>
}

// A transposed convolution's output channels are its weight's dimension 1.
// CHECK-LABEL: func.func @transpose(
// CHECK: nn.fold_weight %arg1 var(%arg2) {axis = 1 : i64
// CHECK-NOT: nn.batch_norm
// CHECK: return
func.func @transpose(%x: tensor<?x4x3xf32> {nn.role = "input"}, %w: tensor<4x6x4xf32> {nn.role = "parameter"}, %c: tensor<6xf32> {nn.role = "buffer"}) -> tensor<?x6x8xf32> {
  %0 = nn.conv_transpose %x, %w {stride = array<i64: 2>, padding = array<i64: 0>, output_padding = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x3xf32>, tensor<4x6x4xf32>) -> tensor<?x6x8xf32>
  %1 = nn.batch_norm %0 mean(%c) var(%c) {eps = 1.0e-05 : f64} : (tensor<?x6x8xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6x8xf32>
  return %1 : tensor<?x6x8xf32>
}

// With groups its channels are spread over two dimensions of the weight: not folded.
// CHECK-LABEL: func.func @grouped_transpose(
// CHECK: nn.batch_norm {{.*}}nn.notes = ["not folded into the weight of 'conv_transpose': with groups the weight's output channels are spread over two dimensions"]
func.func @grouped_transpose(%x: tensor<?x4x3xf32> {nn.role = "input"}, %w: tensor<4x3x4xf32> {nn.role = "parameter"}, %c: tensor<6xf32> {nn.role = "buffer"}) -> tensor<?x6x8xf32> {
  %0 = nn.conv_transpose %x, %w {stride = array<i64: 2>, padding = array<i64: 0>, output_padding = array<i64: 0>, dilation = array<i64: 1>, groups = 2 : i64} : (tensor<?x4x3xf32>, tensor<4x3x4xf32>) -> tensor<?x6x8xf32>
  %1 = nn.batch_norm %0 mean(%c) var(%c) {eps = 1.0e-05 : f64} : (tensor<?x6x8xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6x8xf32>
  return %1 : tensor<?x6x8xf32>
}

// If another op needs the layer's own result, it stays as it is.
// CHECK-LABEL: func.func @two_users(
// CHECK-NOT: nn.fold_weight
// CHECK: nn.batch_norm {{.*}}nn.notes = ["not folded into the weight of 'linear': something else needs that layer's own result"]
func.func @two_users(%x: tensor<?x5xf32> {nn.role = "input"}, %w: tensor<6x5xf32> {nn.role = "parameter"}, %c: tensor<6xf32> {nn.role = "buffer"}) -> (tensor<?x6xf32>, tensor<?x6xf32>) {
  %0 = nn.linear %x, %w : (tensor<?x5xf32>, tensor<6x5xf32>) -> tensor<?x6xf32>
  %1 = nn.batch_norm %0 mean(%c) var(%c) {eps = 1.0e-05 : f64} : (tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  return %0, %1 : tensor<?x6xf32>, tensor<?x6xf32>
}

// Statistics that are computed from an input would be folded in anew at each step.
// CHECK-LABEL: func.func @statistics(
// CHECK-NOT: nn.fold_weight
// CHECK: nn.batch_norm {{.*}}nn.notes = ["not folded into the weight of 'linear': its statistics or weights are computed at each step"]
func.func @statistics(%x: tensor<?x5xf32> {nn.role = "input"}, %c: tensor<6xf32> {nn.role = "input"}, %w: tensor<6x5xf32> {nn.role = "parameter"}) -> tensor<?x6xf32> {
  %0 = nn.linear %x, %w : (tensor<?x5xf32>, tensor<6x5xf32>) -> tensor<?x6xf32>
  %1 = nn.batch_norm %0 mean(%c) var(%c) {eps = 1.0e-05 : f64} : (tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  return %1 : tensor<?x6xf32>
}

// An activation is between them: its result cannot be scaled in advance.
// CHECK-LABEL: func.func @activation(
// CHECK-NOT: nn.fold_weight
// CHECK: nn.batch_norm {{.*}}nn.notes = ["not folded into the weight of 'linear': an activation is between them"]
func.func @activation(%x: tensor<?x5xf32> {nn.role = "input"}, %w: tensor<6x5xf32> {nn.role = "parameter"}, %c: tensor<6xf32> {nn.role = "buffer"}) -> tensor<?x6xf32> {
  %0 = nn.linear %x, %w {activation = {kind = "relu"}} : (tensor<?x5xf32>, tensor<6x5xf32>) -> tensor<?x6xf32>
  %1 = nn.batch_norm %0 mean(%c) var(%c) {eps = 1.0e-05 : f64} : (tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  return %1 : tensor<?x6xf32>
}

// The same for a residual: folding would leave it unscaled.
// CHECK-LABEL: func.func @residual(
// CHECK-NOT: nn.fold_weight
// CHECK: nn.batch_norm {{.*}}nn.notes = ["not folded into the weight of 'linear': a residual sum is between them, which it would have to scale too"]
func.func @residual(%x: tensor<?x5xf32> {nn.role = "input"}, %r: tensor<?x6xf32> {nn.role = "input"}, %w: tensor<6x5xf32> {nn.role = "parameter"}, %c: tensor<6xf32> {nn.role = "buffer"}) -> tensor<?x6xf32> {
  %0 = nn.linear %x, %w residual(%r) : (tensor<?x5xf32>, tensor<6x5xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
  %1 = nn.batch_norm %0 mean(%c) var(%c) {eps = 1.0e-05 : f64} : (tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  return %1 : tensor<?x6xf32>
}

// Channels are dimension 1 of a norm's input. Without a batch that is no channel of the convolution, and with further
// dimensions none of the linear layer.
// CHECK-LABEL: func.func @other_channels(
// CHECK-NOT: nn.fold_weight
// CHECK: nn.batch_norm
// CHECK: nn.batch_norm
func.func @other_channels(%x: tensor<4x8xf32> {nn.role = "input"}, %y: tensor<?x6x5xf32> {nn.role = "input"}, %w: tensor<6x4x3xf32> {nn.role = "parameter"}, %v: tensor<6x5xf32> {nn.role = "parameter"}, %c: tensor<6xf32> {nn.role = "buffer"}) -> (tensor<6x6xf32>, tensor<?x6x6xf32>) {
  %0 = nn.conv %x, %w {stride = array<i64: 1>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<4x8xf32>, tensor<6x4x3xf32>) -> tensor<6x6xf32>
  %1 = nn.batch_norm %0 mean(%c) var(%c) {eps = 1.0e-05 : f64} : (tensor<6x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<6x6xf32>
  %2 = nn.linear %y, %v : (tensor<?x6x5xf32>, tensor<6x5xf32>) -> tensor<?x6x6xf32>
  %3 = nn.batch_norm %2 mean(%c) var(%c) {eps = 1.0e-05 : f64} : (tensor<?x6x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6x6xf32>
  return %1, %3 : tensor<6x6xf32>, tensor<?x6x6xf32>
}
