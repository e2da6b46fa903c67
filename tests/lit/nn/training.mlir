// RUN: sheaf-opt %s | sheaf-opt | FileCheck %s

// The duals of a convolution: the input's gradient, the weight's, the weight's and the bias's.
// CHECK-LABEL: func.func @convolution(
func.func @convolution(%x: tensor<?x4x9x9xf32>, %w: tensor<6x2x3x3xf32>, %dy: tensor<?x6x4x4xf32>) {
  // CHECK: nn.conv_backward_data %{{.*}}, %{{.*}} {dilation = array<i64: 1, 1>, groups = 2 : i64, padding_begin = array<i64: 0, 0>, padding_end = array<i64: 0, 0>, size = array<i64: 9, 9>, stride = array<i64: 2, 2>} : (tensor<?x6x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<?x4x9x9xf32>
  %0 = nn.conv_backward_data %dy, %w {stride = array<i64: 2, 2>, padding_begin = array<i64: 0, 0>, padding_end = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 2 : i64, size = array<i64: 9, 9>} : (tensor<?x6x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<?x4x9x9xf32>
  // CHECK: nn.conv_backward_weight %{{.*}}, %{{.*}} {bias = false, dilation = array<i64: 1, 1>, groups = 2 : i64, kernel_size = array<i64: 3, 3>, padding_begin = array<i64: 0, 0>, padding_end = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x4x9x9xf32>, tensor<?x6x4x4xf32>) -> tensor<6x2x3x3xf32>
  %1 = nn.conv_backward_weight %x, %dy {stride = array<i64: 2, 2>, padding_begin = array<i64: 0, 0>, padding_end = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 2 : i64, kernel_size = array<i64: 3, 3>, bias = false} : (tensor<?x4x9x9xf32>, tensor<?x6x4x4xf32>) -> tensor<6x2x3x3xf32>
  // CHECK: nn.conv_backward_weight %{{.*}}, %{{.*}} {bias = true, dilation = array<i64: 1, 1>, groups = 2 : i64, kernel_size = array<i64: 3, 3>, padding_begin = array<i64: 0, 0>, padding_end = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x4x9x9xf32>, tensor<?x6x4x4xf32>) -> (tensor<6x2x3x3xf32>, tensor<6xf32>)
  %2:2 = nn.conv_backward_weight %x, %dy {stride = array<i64: 2, 2>, padding_begin = array<i64: 0, 0>, padding_end = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 2 : i64, kernel_size = array<i64: 3, 3>, bias = true} : (tensor<?x4x9x9xf32>, tensor<?x6x4x4xf32>) -> (tensor<6x2x3x3xf32>, tensor<6xf32>)
  return
}

// Those of a linear layer, of any number of leading dimensions.
// CHECK-LABEL: func.func @linear(
func.func @linear(%x: tensor<?x3x5xf32>, %w: tensor<2x5xf32>, %dy: tensor<?x3x2xf32>) {
  // CHECK: nn.linear_backward_data %{{.*}}, %{{.*}} : (tensor<?x3x2xf32>, tensor<2x5xf32>) -> tensor<?x3x5xf32>
  %0 = nn.linear_backward_data %dy, %w : (tensor<?x3x2xf32>, tensor<2x5xf32>) -> tensor<?x3x5xf32>
  // CHECK: nn.linear_backward_weight %{{.*}}, %{{.*}} {bias = true} : (tensor<?x3x5xf32>, tensor<?x3x2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>)
  %1:2 = nn.linear_backward_weight %x, %dy {bias = true} : (tensor<?x3x5xf32>, tensor<?x3x2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>)
  // CHECK: nn.linear_backward_weight %{{.*}}, %{{.*}} {bias = false} : (tensor<?x3x5xf32>, tensor<?x3x2xf32>) -> tensor<2x5xf32>
  %2 = nn.linear_backward_weight %x, %dy {bias = false} : (tensor<?x3x5xf32>, tensor<?x3x2xf32>) -> tensor<2x5xf32>
  return
}

// A matrix product takes its factors as they are or transposed.
// CHECK-LABEL: func.func @matmul(
func.func @matmul(%a: tensor<?x5x3xf32>, %b: tensor<7x5xf32>, %v: tensor<3xf32>) {
  // CHECK: nn.matmul %{{.*}}, %{{.*}} {transpose_a, transpose_b} : (tensor<?x5x3xf32>, tensor<7x5xf32>) -> tensor<?x3x7xf32>
  %0 = nn.matmul %a, %b {transpose_a, transpose_b} : (tensor<?x5x3xf32>, tensor<7x5xf32>) -> tensor<?x3x7xf32>
  // CHECK: nn.matmul %{{.*}}, %{{.*}} : (tensor<?x5x3xf32>, tensor<3xf32>) -> tensor<?x5xf32>
  %1 = nn.matmul %a, %v : (tensor<?x5x3xf32>, tensor<3xf32>) -> tensor<?x5xf32>
  return
}

// Batch norm in training, with parameters, without, and with the relu after it.
// CHECK-LABEL: func.func @batch_norm(
func.func @batch_norm(%x: tensor<?x4x3x3xf32>, %p: tensor<4xf32>, %w: tensor<1xui8>) {
  // CHECK: nn.batch_norm_train %{{.*}} weight(%{{.*}}) bias(%{{.*}}) {eps = 1.000000e-05 : f64} : (tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>)
  %0:3 = nn.batch_norm_train %x weight(%p) bias(%p) {eps = 1.0e-5 : f64} : (tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: nn.batch_norm_train %{{.*}} {eps = 1.000000e-05 : f64} : (tensor<?x4x3x3xf32>) -> (tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>)
  %1:3 = nn.batch_norm_train %x {eps = 1.0e-5 : f64} : (tensor<?x4x3x3xf32>) -> (tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: nn.batch_norm_train %{{.*}} weight(%{{.*}}) bias(%{{.*}}) {activation = {kind = "relu"}, eps = 1.000000e-05 : f64} : (tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1xui8>)
  %2:4 = nn.batch_norm_train %x weight(%p) bias(%p) {eps = 1.0e-5 : f64, activation = {kind = "relu"}} : (tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1xui8>)
  // CHECK: nn.batch_norm_backward %{{.*}}, %{{.*}} mean(%{{.*}}) var(%{{.*}}) {eps = 1.000000e-05 : f64} : (tensor<?x4x3x3xf32>, tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x3x3xf32>
  %3 = nn.batch_norm_backward %x, %x mean(%p) var(%p) {eps = 1.0e-5 : f64} : (tensor<?x4x3x3xf32>, tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x3x3xf32>
  // CHECK: nn.batch_norm_backward %{{.*}}, %{{.*}} mean(%{{.*}}) var(%{{.*}}) weight(%{{.*}}) workspace(%{{.*}}) {activation = {kind = "relu"}, eps = 1.000000e-05 : f64} : (tensor<?x4x3x3xf32>, tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1xui8>) -> (tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>)
  %4:3 = nn.batch_norm_backward %x, %x mean(%p) var(%p) weight(%p) workspace(%w) {eps = 1.0e-5 : f64, activation = {kind = "relu"}} : (tensor<?x4x3x3xf32>, tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1xui8>) -> (tensor<?x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// Pooling.
// CHECK-LABEL: func.func @pooling(
func.func @pooling(%x: tensor<?x4x9x8xf32>, %dy: tensor<?x4x5x4xf32>) {
  // CHECK: nn.max_pool_train %{{.*}} {ceil_mode = true, dilation = array<i64: 1, 1>, kernel_size = array<i64: 2, 2>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x4x9x8xf32>) -> (tensor<?x4x5x4xf32>, tensor<1xui8>)
  %0:2 = nn.max_pool_train %x {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, ceil_mode = true} : (tensor<?x4x9x8xf32>) -> (tensor<?x4x5x4xf32>, tensor<1xui8>)
  // CHECK: nn.max_pool_backward %{{.*}}, %{{.*}} {ceil_mode = true, dilation = array<i64: 1, 1>, kernel_size = array<i64: 2, 2>, padding = array<i64: 0, 0>, size = array<i64: 9, 8>, stride = array<i64: 2, 2>} : (tensor<?x4x5x4xf32>, tensor<1xui8>) -> tensor<?x4x9x8xf32>
  %1 = nn.max_pool_backward %dy, %0#1 {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, ceil_mode = true, size = array<i64: 9, 8>} : (tensor<?x4x5x4xf32>, tensor<1xui8>) -> tensor<?x4x9x8xf32>
  // CHECK: nn.avg_pool_backward %{{.*}} {ceil_mode = true, count_include_pad = true, divisor_override = 0 : i64, kernel_size = array<i64: 2, 2>, padding = array<i64: 0, 0>, size = array<i64: 9, 8>, stride = array<i64: 2, 2>} : (tensor<?x4x5x4xf32>) -> tensor<?x4x9x8xf32>
  %2 = nn.avg_pool_backward %dy {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, ceil_mode = true, count_include_pad = true, divisor_override = 0 : i64, size = array<i64: 9, 8>} : (tensor<?x4x5x4xf32>) -> tensor<?x4x9x8xf32>
  // CHECK: nn.adaptive_avg_pool_backward %{{.*}} {size = array<i64: 9, 8>} : (tensor<?x4x5x4xf32>) -> tensor<?x4x9x8xf32>
  %3 = nn.adaptive_avg_pool_backward %dy {size = array<i64: 9, 8>} : (tensor<?x4x5x4xf32>) -> tensor<?x4x9x8xf32>
  return
}

// Recurrent layers: a workspace comes last; the dual takes the gradients that exist.
// CHECK-LABEL: func.func @recurrent(
func.func @recurrent(%x: tensor<7x?x3xf32>, %w: tensor<8x3xf32>, %u: tensor<8x2xf32>, %h: tensor<1x?x2xf32>, %w3: tensor<6x3xf32>, %u3: tensor<6x2xf32>, %w1: tensor<2x3xf32>, %u1: tensor<2x2xf32>) {
  // CHECK: nn.lstm_train %{{.*}} h0(%{{.*}}) c0(%{{.*}}) weights(%{{.*}}, %{{.*}}) {batch_first = false, bias = false, bidirectional = false, hidden_size = 2 : i64, num_layers = 1 : i64} : (tensor<7x?x3xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>) -> (tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>)
  %0:4 = nn.lstm_train %x h0(%h) c0(%h) weights(%w, %u) {hidden_size = 2 : i64, num_layers = 1 : i64, bidirectional = false, batch_first = false, bias = false} : (tensor<7x?x3xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>) -> (tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>)
  // CHECK: nn.lstm_backward %{{.*}} h0(%{{.*}}) c0(%{{.*}}) weights(%{{.*}}, %{{.*}}) results(%{{.*}}, %{{.*}}, %{{.*}}) workspace(%{{.*}}) dy(%{{.*}}) dc(%{{.*}}) {batch_first = false, bias = false, bidirectional = false, hidden_size = 2 : i64, num_layers = 1 : i64} : (tensor<7x?x3xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>, tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>, tensor<7x?x2xf32>, tensor<1x?x2xf32>) -> (tensor<7x?x3xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>)
  %1:5 = nn.lstm_backward %x h0(%h) c0(%h) weights(%w, %u) results(%0#0, %0#1, %0#2) workspace(%0#3) dy(%0#0) dc(%h) {hidden_size = 2 : i64, num_layers = 1 : i64, bidirectional = false, batch_first = false, bias = false} : (tensor<7x?x3xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>, tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>, tensor<7x?x2xf32>, tensor<1x?x2xf32>) -> (tensor<7x?x3xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>)
  // CHECK: nn.gru_train %{{.*}} weights(%{{.*}}, %{{.*}}) {batch_first = false, bias = false, bidirectional = false, hidden_size = 2 : i64, num_layers = 1 : i64} : (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>) -> (tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>)
  %2:3 = nn.gru_train %x weights(%w3, %u3) {hidden_size = 2 : i64, num_layers = 1 : i64, bidirectional = false, batch_first = false, bias = false} : (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>) -> (tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>)
  // CHECK: nn.gru_backward %{{.*}} weights(%{{.*}}, %{{.*}}) results(%{{.*}}, %{{.*}}) workspace(%{{.*}}) dh(%{{.*}}) {batch_first = false, bias = false, bidirectional = false, hidden_size = 2 : i64, num_layers = 1 : i64} : (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>, tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>, tensor<1x?x2xf32>) -> (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>)
  %3:3 = nn.gru_backward %x weights(%w3, %u3) results(%2#0, %2#1) workspace(%2#2) dh(%h) {hidden_size = 2 : i64, num_layers = 1 : i64, bidirectional = false, batch_first = false, bias = false} : (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>, tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>, tensor<1x?x2xf32>) -> (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>)
  // CHECK: nn.rnn_train %{{.*}} weights(%{{.*}}, %{{.*}}) {batch_first = false, bias = false, bidirectional = false, hidden_size = 2 : i64, num_layers = 1 : i64, relu = false} :
  %4:3 = nn.rnn_train %x weights(%w1, %u1) {batch_first = false, bias = false, bidirectional = false, hidden_size = 2 : i64, num_layers = 1 : i64, relu = false} : (tensor<7x?x3xf32>, tensor<2x3xf32>, tensor<2x2xf32>) -> (tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>)
  // CHECK: nn.rnn_backward %{{.*}} weights(%{{.*}}, %{{.*}}) results(%{{.*}}, %{{.*}}) workspace(%{{.*}}) dh(%{{.*}}) {batch_first = false, bias = false, bidirectional = false, hidden_size = 2 : i64, num_layers = 1 : i64, relu = false} :
  %5:3 = nn.rnn_backward %x weights(%w1, %u1) results(%4#0, %4#1) workspace(%4#2) dh(%h) {batch_first = false, bias = false, bidirectional = false, hidden_size = 2 : i64, num_layers = 1 : i64, relu = false} : (tensor<7x?x3xf32>, tensor<2x3xf32>, tensor<2x2xf32>, tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>, tensor<1x?x2xf32>) -> (tensor<7x?x3xf32>, tensor<2x3xf32>, tensor<2x2xf32>)
  return
}
