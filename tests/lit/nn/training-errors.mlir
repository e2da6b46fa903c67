// RUN: sheaf-opt %s -verify-diagnostics -split-input-file

// The gradient is that of the convolution's result.
func.func @conv_data(%w: tensor<6x4x3x3xf32>, %dy: tensor<?x6x5x5xf32>) {
  // expected-error @+1 {{expects a gradient of shape [?, 6, 4, 4], but got [?, 6, 5, 5]}}
  %0 = nn.conv_backward_data %dy, %w {stride = array<i64: 2, 2>, padding_begin = array<i64: 0, 0>, padding_end = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64, size = array<i64: 9, 9>} : (tensor<?x6x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<?x4x9x9xf32>
  return
}

// -----

func.func @conv_weight(%x: tensor<?x4x9x9xf32>, %dy: tensor<?x6x5x5xf32>) {
  // expected-error @+1 {{expects a gradient of shape [?, 6, 7, 7], but got [?, 6, 5, 5]}}
  %0 = nn.conv_backward_weight %x, %dy {stride = array<i64: 1, 1>, padding_begin = array<i64: 0, 0>, padding_end = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64, kernel_size = array<i64: 3, 3>, bias = false} : (tensor<?x4x9x9xf32>, tensor<?x6x5x5xf32>) -> tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv_groups(%x: tensor<?x4x9x9xf32>, %dy: tensor<?x6x7x7xf32>) {
  // expected-error @+1 {{expects channels divisible by 3 groups, but the input is [?, 4, 9, 9]}}
  %0 = nn.conv_backward_weight %x, %dy {stride = array<i64: 1, 1>, padding_begin = array<i64: 0, 0>, padding_end = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 3 : i64, kernel_size = array<i64: 3, 3>, bias = false} : (tensor<?x4x9x9xf32>, tensor<?x6x7x7xf32>) -> tensor<6x1x3x3xf32>
  return
}

// -----

// The bias's gradient is a result if requested.
func.func @conv_bias(%x: tensor<?x4x9x9xf32>, %dy: tensor<?x6x7x7xf32>) {
  // expected-error @+1 {{expects 2 results by its operands and attributes, but has 1}}
  %0 = nn.conv_backward_weight %x, %dy {stride = array<i64: 1, 1>, padding_begin = array<i64: 0, 0>, padding_end = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64, kernel_size = array<i64: 3, 3>, bias = true} : (tensor<?x4x9x9xf32>, tensor<?x6x7x7xf32>) -> tensor<6x4x3x3xf32>
  return
}

// -----

func.func @linear_bias(%x: tensor<?x5xf32>, %dy: tensor<?x2xf32>) {
  // expected-error @+1 {{expects 1 results by its operands and attributes, but has 2}}
  %0:2 = nn.linear_backward_weight %x, %dy {bias = false} : (tensor<?x5xf32>, tensor<?x2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>)
  return
}

// -----

func.func @linear_data(%w: tensor<2x5xf32>, %dy: tensor<?x3xf32>) {
  // expected-error @+1 {{expects a gradient of 2 features, but got [?, 3]}}
  %0 = nn.linear_backward_data %dy, %w : (tensor<?x3xf32>, tensor<2x5xf32>) -> tensor<?x5xf32>
  return
}

// -----

func.func @linear_weight(%x: tensor<?x7x5xf32>, %dy: tensor<?x8x2xf32>) {
  // expected-error @+1 {{expects a gradient of shape [?, 7, 2], but got [?, 8, 2]}}
  %0 = nn.linear_backward_weight %x, %dy {bias = false} : (tensor<?x7x5xf32>, tensor<?x8x2xf32>) -> tensor<2x5xf32>
  return
}

// -----

// A vector has no transpose.
func.func @vector(%a: tensor<5xf32>, %b: tensor<5x3xf32>) {
  // expected-error @+1 {{cannot transpose a vector}}
  %0 = nn.matmul %a, %b {transpose_a} : (tensor<5xf32>, tensor<5x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @transposed(%a: tensor<?x5x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @+1 {{expects matrices that fit, as torch.matmul, but got [?, 3, 5] and [3, 5]}}
  %0 = nn.matmul %a, %b {transpose_a} : (tensor<?x5x3xf32>, tensor<3x5xf32>) -> tensor<?x3x5xf32>
  return
}

// -----

// Weight and bias come together.
func.func @half_affine(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{expects a weight and a bias, or neither}}
  %0:3 = nn.batch_norm_train %x weight(%w) {eps = 1.0e-5 : f64} : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @activation(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{takes in no activation but relu}}
  %0:4 = nn.batch_norm_train %x {eps = 1.0e-5 : f64, activation = {kind = "tanh"}} : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1xui8>)
  return
}

// -----

func.func @workspace(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{expects 4 results by its operands and attributes, but has 3}}
  %0:3 = nn.batch_norm_train %x {eps = 1.0e-5 : f64, activation = {kind = "relu"}} : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @parameters(%x: tensor<?x4xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{expects 3 results by its operands and attributes, but has 1}}
  %0 = nn.batch_norm_backward %x, %x mean(%s) var(%s) weight(%s) {eps = 1.0e-5 : f64} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @statistics(%x: tensor<?x4xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{expects 4 channels, but a statistic or parameter has shape [3]}}
  %0 = nn.batch_norm_backward %x, %x mean(%s) var(%s) {eps = 1.0e-5 : f64} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x4xf32>
  return
}

// -----

// The pool of the gradient's shape must be the gradient's.
func.func @pool(%dy: tensor<?x4x5x4xf32>) {
  // expected-error @+1 {{expects a gradient of shape [?, 4, 4, 4], but got [?, 4, 5, 4]}}
  %0 = nn.avg_pool_backward %dy {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, ceil_mode = false, count_include_pad = true, divisor_override = 0 : i64, size = array<i64: 9, 8>} : (tensor<?x4x5x4xf32>) -> tensor<?x4x9x8xf32>
  return
}

// -----

func.func @pool_size(%dy: tensor<?x4x5x4xf32>) {
  // expected-error @+1 {{expects a gradient of 3 dimensions (or 2 without the batch), but got [?, 4, 5, 4]}}
  %0 = nn.adaptive_avg_pool_backward %dy {size = array<i64: 9>} : (tensor<?x4x5x4xf32>) -> tensor<?x4x9x9xf32>
  return
}

// -----

// A recurrent layer's dual needs something to start from.
func.func @no_gradient(%x: tensor<7x?x3xf32>, %w: tensor<6x3xf32>, %u: tensor<6x2xf32>, %y: tensor<7x?x2xf32>, %h: tensor<1x?x2xf32>, %s: tensor<1xui8>) {
  // expected-error @+1 {{expects the gradient of at least one result}}
  %0:3 = nn.gru_backward %x weights(%w, %u) results(%y, %h) workspace(%s) {hidden_size = 2 : i64, num_layers = 1 : i64, bidirectional = false, batch_first = false, bias = false} : (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>, tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>) -> (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>)
  return
}

// -----

func.func @state_gradient(%x: tensor<7x?x3xf32>, %w: tensor<6x3xf32>, %u: tensor<6x2xf32>, %y: tensor<7x?x2xf32>, %h: tensor<1x?x2xf32>, %s: tensor<1xui8>) {
  // expected-error @+1 {{expects dh of shape [1, ?, 2], but got [7, ?, 2]}}
  %0:3 = nn.gru_backward %x weights(%w, %u) results(%y, %h) workspace(%s) dh(%y) {hidden_size = 2 : i64, num_layers = 1 : i64, bidirectional = false, batch_first = false, bias = false} : (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>, tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>, tensor<7x?x2xf32>) -> (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>)
  return
}
