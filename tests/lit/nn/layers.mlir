// RUN: sheaf-opt %s | sheaf-opt | FileCheck %s

// A linear layer takes any number of leading dimensions; bias, residual and activation may each be absent.
// CHECK-LABEL: func.func @linear(
func.func @linear(%x: tensor<?x7x5xf32>, %w: tensor<2x5xf32>, %b: tensor<2xf32>, %r: tensor<?x7x2xf32>) {
  // CHECK: nn.linear %{{.*}}, %{{.*}} : (tensor<?x7x5xf32>, tensor<2x5xf32>) -> tensor<?x7x2xf32>
  %0 = nn.linear %x, %w : (tensor<?x7x5xf32>, tensor<2x5xf32>) -> tensor<?x7x2xf32>
  // CHECK: nn.linear %{{.*}}, %{{.*}} bias(%{{.*}}) : (tensor<?x7x5xf32>, tensor<2x5xf32>, tensor<2xf32>) -> tensor<?x7x2xf32>
  %1 = nn.linear %x, %w bias(%b) : (tensor<?x7x5xf32>, tensor<2x5xf32>, tensor<2xf32>) -> tensor<?x7x2xf32>
  // CHECK: nn.linear %{{.*}}, %{{.*}} residual(%{{.*}}) : (tensor<?x7x5xf32>, tensor<2x5xf32>, tensor<?x7x2xf32>) -> tensor<?x7x2xf32>
  %2 = nn.linear %x, %w residual(%r) : (tensor<?x7x5xf32>, tensor<2x5xf32>, tensor<?x7x2xf32>) -> tensor<?x7x2xf32>
  // CHECK: nn.linear %{{.*}}, %{{.*}} bias(%{{.*}}) residual(%{{.*}}) {activation = {kind = "relu"}} : (tensor<?x7x5xf32>, tensor<2x5xf32>, tensor<2xf32>, tensor<?x7x2xf32>) -> tensor<?x7x2xf32>
  %3 = nn.linear %x, %w bias(%b) residual(%r) {activation = {kind = "relu"}} : (tensor<?x7x5xf32>, tensor<2x5xf32>, tensor<2xf32>, tensor<?x7x2xf32>) -> tensor<?x7x2xf32>
  return
}

// Convolutions have one or two spatial dimensions and padding of their own at each end; the batch may be absent.
// CHECK-LABEL: func.func @conv(
func.func @conv(%x: tensor<?x4x9x9xf32>, %signal: tensor<4x9xf32>, %w: tensor<6x2x3x3xf32>, %v: tensor<6x4x3xf32>, %b: tensor<6xf32>, %r: tensor<?x6x5x5xf32>) {
  // CHECK: nn.conv %{{.*}}, %{{.*}} bias(%{{.*}}) residual(%{{.*}}) {activation = {kind = "relu"}, dilation = array<i64: 1, 1>, groups = 2 : i64, padding_begin = array<i64: 1, 1>, padding_end = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<?x4x9x9xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>, tensor<?x6x5x5xf32>) -> tensor<?x6x5x5xf32>
  %0 = nn.conv %x, %w bias(%b) residual(%r) {activation = {kind = "relu"}, dilation = array<i64: 1, 1>, groups = 2 : i64, padding_begin = array<i64: 1, 1>, padding_end = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<?x4x9x9xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>, tensor<?x6x5x5xf32>) -> tensor<?x6x5x5xf32>
  // CHECK: nn.conv %{{.*}}, %{{.*}} {dilation = array<i64: 2>, groups = 1 : i64, padding_begin = array<i64: 0>, padding_end = array<i64: 1>, stride = array<i64: 1>} : (tensor<4x9xf32>, tensor<6x4x3xf32>) -> tensor<6x6xf32>
  %1 = nn.conv %signal, %v {dilation = array<i64: 2>, groups = 1 : i64, padding_begin = array<i64: 0>, padding_end = array<i64: 1>, stride = array<i64: 1>} : (tensor<4x9xf32>, tensor<6x4x3xf32>) -> tensor<6x6xf32>
  return
}

// A transposed convolution's weight has the input channels first.
// CHECK-LABEL: func.func @conv_transpose(
func.func @conv_transpose(%x: tensor<?x4x3x3xf32>, %w: tensor<4x3x4x4xf32>, %b: tensor<6xf32>) {
  // CHECK: nn.conv_transpose %{{.*}}, %{{.*}} bias(%{{.*}}) {dilation = array<i64: 1, 1>, groups = 2 : i64, output_padding = array<i64: 1, 1>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<?x4x3x3xf32>, tensor<4x3x4x4xf32>, tensor<6xf32>) -> tensor<?x6x7x7xf32>
  %0 = nn.conv_transpose %x, %w bias(%b) {dilation = array<i64: 1, 1>, groups = 2 : i64, output_padding = array<i64: 1, 1>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<?x4x3x3xf32>, tensor<4x3x4x4xf32>, tensor<6xf32>) -> tensor<?x6x7x7xf32>
  return
}

// torch.matmul: matrices, broadcast batches of them, and vectors, whose extra dimension is dropped again.
// CHECK-LABEL: func.func @matmul(
func.func @matmul(%a: tensor<?x3x2x5xf32>, %b: tensor<3x5x4xf32>, %v: tensor<5xf32>) {
  // CHECK: nn.matmul %{{.*}}, %{{.*}} : (tensor<?x3x2x5xf32>, tensor<3x5x4xf32>) -> tensor<?x3x2x4xf32>
  %0 = nn.matmul %a, %b : (tensor<?x3x2x5xf32>, tensor<3x5x4xf32>) -> tensor<?x3x2x4xf32>
  // CHECK: nn.matmul %{{.*}}, %{{.*}} : (tensor<?x3x2x5xf32>, tensor<5xf32>) -> tensor<?x3x2xf32>
  %1 = nn.matmul %a, %v : (tensor<?x3x2x5xf32>, tensor<5xf32>) -> tensor<?x3x2xf32>
  // CHECK: nn.matmul %{{.*}}, %{{.*}} : (tensor<5xf32>, tensor<3x5x4xf32>) -> tensor<3x4xf32>
  %2 = nn.matmul %v, %b : (tensor<5xf32>, tensor<3x5x4xf32>) -> tensor<3x4xf32>
  return
}

// Norms over rows and groups keep the shape.
// CHECK-LABEL: func.func @norms(
func.func @norms(%x: tensor<?x4x6xf32>, %w: tensor<4x6xf32>, %c: tensor<4xf32>) {
  // CHECK: nn.layer_norm %{{.*}} weight(%{{.*}}) bias(%{{.*}}) {eps = 1.000000e-05 : f64, normalized_shape = array<i64: 4, 6>} : (tensor<?x4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<?x4x6xf32>
  %0 = nn.layer_norm %x weight(%w) bias(%w) {eps = 1.000000e-05 : f64, normalized_shape = array<i64: 4, 6>} : (tensor<?x4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<?x4x6xf32>
  // CHECK: nn.layer_norm %{{.*}} {eps = 1.000000e-05 : f64, normalized_shape = array<i64: 6>} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %1 = nn.layer_norm %x {eps = 1.000000e-05 : f64, normalized_shape = array<i64: 6>} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  // CHECK: nn.group_norm %{{.*}} weight(%{{.*}}) bias(%{{.*}}) {eps = 1.000000e-05 : f64, num_groups = 2 : i64} : (tensor<?x4x6xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x6xf32>
  %2 = nn.group_norm %x weight(%c) bias(%c) {eps = 1.000000e-05 : f64, num_groups = 2 : i64} : (tensor<?x4x6xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x6xf32>
  return
}

// An embedding appends the table's width to the shape of the indices, which may be int64 or int32.
// CHECK-LABEL: func.func @embedding(
func.func @embedding(%x: tensor<?x7xi64>, %y: tensor<?xi32>, %table: tensor<100x8xf32>) {
  // CHECK: nn.embedding %{{.*}}, %{{.*}} : (tensor<?x7xi64>, tensor<100x8xf32>) -> tensor<?x7x8xf32>
  %0 = nn.embedding %x, %table : (tensor<?x7xi64>, tensor<100x8xf32>) -> tensor<?x7x8xf32>
  // CHECK: nn.embedding %{{.*}}, %{{.*}} : (tensor<?xi32>, tensor<100x8xf32>) -> tensor<?x8xf32>
  %1 = nn.embedding %y, %table : (tensor<?xi32>, tensor<100x8xf32>) -> tensor<?x8xf32>
  return
}

// Recurrent layers return all outputs and the last state; initial states may be absent.
// CHECK-LABEL: func.func @recurrent(
func.func @recurrent(%x: tensor<7x?x5xf32>, %h: tensor<1x?x4xf32>, %ri: tensor<4x5xf32>, %rh: tensor<4x4xf32>, %wi: tensor<16x5xf32>, %wh: tensor<16x4xf32>, %gi: tensor<12x5xf32>, %gh: tensor<12x4xf32>, %b: tensor<12xf32>) {
  // CHECK: nn.lstm %{{.*}} h0(%{{.*}}) c0(%{{.*}}) weights(%{{.*}}, %{{.*}}) {batch_first = false, bias = false, bidirectional = false, hidden_size = 4 : i64, num_layers = 1 : i64} : (tensor<7x?x5xf32>, tensor<1x?x4xf32>, tensor<1x?x4xf32>, tensor<16x5xf32>, tensor<16x4xf32>) -> (tensor<7x?x4xf32>, tensor<1x?x4xf32>, tensor<1x?x4xf32>)
  %y, %hn, %cn = nn.lstm %x h0(%h) c0(%h) weights(%wi, %wh) {batch_first = false, bias = false, bidirectional = false, hidden_size = 4 : i64, num_layers = 1 : i64} : (tensor<7x?x5xf32>, tensor<1x?x4xf32>, tensor<1x?x4xf32>, tensor<16x5xf32>, tensor<16x4xf32>) -> (tensor<7x?x4xf32>, tensor<1x?x4xf32>, tensor<1x?x4xf32>)
  // CHECK: nn.gru %{{.*}} weights(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {batch_first = false, bias = true, bidirectional = true, hidden_size = 4 : i64, num_layers = 1 : i64} : (tensor<7x?x5xf32>, tensor<12x5xf32>, tensor<12x4xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12x5xf32>, tensor<12x4xf32>, tensor<12xf32>, tensor<12xf32>) -> (tensor<7x?x8xf32>, tensor<2x?x4xf32>)
  %z, %zn = nn.gru %x weights(%gi, %gh, %b, %b, %gi, %gh, %b, %b) {batch_first = false, bias = true, bidirectional = true, hidden_size = 4 : i64, num_layers = 1 : i64} : (tensor<7x?x5xf32>, tensor<12x5xf32>, tensor<12x4xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12x5xf32>, tensor<12x4xf32>, tensor<12xf32>, tensor<12xf32>) -> (tensor<7x?x8xf32>, tensor<2x?x4xf32>)
  // CHECK: nn.rnn %{{.*}} h0(%{{.*}}) weights(%{{.*}}, %{{.*}}) {batch_first = false, bias = false, bidirectional = false, hidden_size = 4 : i64, num_layers = 1 : i64, relu = true} : (tensor<7x?x5xf32>, tensor<1x?x4xf32>, tensor<4x5xf32>, tensor<4x4xf32>) -> (tensor<7x?x4xf32>, tensor<1x?x4xf32>)
  %r, %rn = nn.rnn %x h0(%h) weights(%ri, %rh) {batch_first = false, bias = false, bidirectional = false, hidden_size = 4 : i64, num_layers = 1 : i64, relu = true} : (tensor<7x?x5xf32>, tensor<1x?x4xf32>, tensor<4x5xf32>, tensor<4x4xf32>) -> (tensor<7x?x4xf32>, tensor<1x?x4xf32>)
  return
}

// Attention also returns its weights, averaged over heads.
// CHECK-LABEL: func.func @attention(
func.func @attention(%q: tensor<?x7x4xf32>, %k: tensor<?x9x4xf32>, %wi: tensor<12x4xf32>, %bi: tensor<12xf32>, %wo: tensor<4x4xf32>, %bo: tensor<4xf32>) {
  // CHECK: nn.multihead_attention %{{.*}}, %{{.*}}, %{{.*}} in_proj(%{{.*}}, %{{.*}}) out_proj(%{{.*}}, %{{.*}}) {batch_first = true, num_heads = 2 : i64} : (tensor<?x7x4xf32>, tensor<?x9x4xf32>, tensor<?x9x4xf32>, tensor<12x4xf32>, tensor<12xf32>, tensor<4x4xf32>, tensor<4xf32>) -> (tensor<?x7x4xf32>, tensor<?x7x9xf32>)
  %y, %w = nn.multihead_attention %q, %k, %k in_proj(%wi, %bi) out_proj(%wo, %bo) {batch_first = true, num_heads = 2 : i64} : (tensor<?x7x4xf32>, tensor<?x9x4xf32>, tensor<?x9x4xf32>, tensor<12x4xf32>, tensor<12xf32>, tensor<4x4xf32>, tensor<4xf32>) -> (tensor<?x7x4xf32>, tensor<?x7x9xf32>)
  return
}

// Pooling is over the last two dimensions; ceil_mode allows a last window that the input doesn't fill.
// CHECK-LABEL: func.func @pooling(
func.func @pooling(%x: tensor<?x3x8x8xf32>) {
  // CHECK: nn.max_pool %{{.*}} {ceil_mode = false, dilation = array<i64: 1, 1>, kernel_size = array<i64: 3, 3>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x3x3xf32>
  %0 = nn.max_pool %x {ceil_mode = false, dilation = array<i64: 1, 1>, kernel_size = array<i64: 3, 3>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x3x3xf32>
  // CHECK: nn.max_pool %{{.*}} {ceil_mode = true, dilation = array<i64: 1, 1>, kernel_size = array<i64: 3, 3>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x4x4xf32>
  %1 = nn.max_pool %x {ceil_mode = true, dilation = array<i64: 1, 1>, kernel_size = array<i64: 3, 3>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x4x4xf32>
  // CHECK: nn.avg_pool %{{.*}} {ceil_mode = false, count_include_pad = true, divisor_override = 0 : i64, kernel_size = array<i64: 2, 2>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x5x5xf32>
  %2 = nn.avg_pool %x {ceil_mode = false, count_include_pad = true, divisor_override = 0 : i64, kernel_size = array<i64: 2, 2>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x5x5xf32>
  // CHECK: nn.adaptive_avg_pool %{{.*}} {output_size = array<i64: 1, -1>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x1x8xf32>
  %3 = nn.adaptive_avg_pool %x {output_size = array<i64: 1, -1>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x1x8xf32>
  return
}
