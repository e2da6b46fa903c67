// RUN: sheaf-opt %s -verify-diagnostics -split-input-file

// A linear layer wants its input features last.
func.func @linear(%x: tensor<?x6xf32>, %w: tensor<2x5xf32>) {
  // expected-error @+1 {{expects 5 input features, but the input is [?, 6]}}
  %0 = nn.linear %x, %w : (tensor<?x6xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
  return
}

// -----

// Indices are no features.
func.func @linear_of_integers(%x: tensor<?x5xi64>, %w: tensor<2x5xf32>) {
  // expected-error @+1 {{computes with floating-point numbers, but an input is int64; declare the model's input as float32}}
  %0 = nn.linear %x, %w : (tensor<?x5xi64>, tensor<2x5xf32>) -> tensor<?x2xf32>
  return
}

// -----

// A convolution's weight has a dimension for each spatial one.
func.func @weight_rank(%x: tensor<?x4x9x9xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects a weight of 4 dimensions}}
  %0 = nn.conv %x, %w {stride = array<i64: 1, 1>, padding_begin = array<i64: 0, 0>, padding_end = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<?x4x9x9xf32>, tensor<6x4x3xf32>) -> tensor<?x6x7x7xf32>
  return
}

// -----

// Input channels are those of the weight times the groups.
func.func @channels(%x: tensor<?x4x9xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects 8 input channels, but the input is [?, 4, 9]}}
  %0 = nn.conv %x, %w {stride = array<i64: 1>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 1>, groups = 2 : i64} : (tensor<?x4x9xf32>, tensor<6x4x3xf32>) -> tensor<?x6x7xf32>
  return
}

// -----

// The input's rank is the weight's, or one less without the batch.
func.func @rank(%x: tensor<4xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects an input of 3 dimensions (or 2 without the batch), but got [4]}}
  %0 = nn.conv %x, %w {stride = array<i64: 1>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<4xf32>, tensor<6x4x3xf32>) -> tensor<6xf32>
  return
}

// -----

// A dilated kernel must fit into the padded input.
func.func @kernel(%x: tensor<?x4x4xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{dimension 2 of [?, 4, 4]: a window that spans 5 finds no place in 4 elements}}
  %0 = nn.conv %x, %w {stride = array<i64: 1>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 2>, groups = 1 : i64} : (tensor<?x4x4xf32>, tensor<6x4x3xf32>) -> tensor<?x6x1xf32>
  return
}

// -----

// A bias has an element for each output channel.
func.func @bias(%x: tensor<?x4x4xf32>, %w: tensor<6x4x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{expects a bias of 6 elements, but got [4]}}
  %0 = nn.conv %x, %w bias(%b) {stride = array<i64: 1>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x4xf32>, tensor<6x4x3xf32>, tensor<4xf32>) -> tensor<?x6x2xf32>
  return
}

// -----

// A transposed convolution's weight has the input channels first, and the message says so.
func.func @transpose(%x: tensor<?x4x3xf32>, %w: tensor<5x3x4xf32>) {
  // expected-error @+1 {{expects 5 input channels, but the input is [?, 4, 3]}}
  %0 = nn.conv_transpose %x, %w {stride = array<i64: 2>, padding = array<i64: 1>, output_padding = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x3xf32>, tensor<5x3x4xf32>) -> tensor<?x3x6xf32>
  return
}

// -----

// Padding reduces its output, even to nothing.
func.func @transpose_size(%x: tensor<?x4x1xf32>, %w: tensor<4x3x2xf32>) {
  // expected-error @+1 {{gives an output of size 0 from an input of [?, 4, 1]}}
  %0 = nn.conv_transpose %x, %w {stride = array<i64: 1>, padding = array<i64: 1>, output_padding = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x1xf32>, tensor<4x3x2xf32>) -> tensor<?x3x1xf32>
  return
}

// -----

// The inner sizes of a matrix product are equal.
func.func @matmul(%a: tensor<?x5xf32>, %b: tensor<4x5xf32>) {
  // expected-error @+1 {{expects matrices that fit, as torch.matmul, but got [?, 5] and [4, 5]}}
  %0 = nn.matmul %a, %b : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<?x5xf32>
  return
}

// -----

// Batches of matrices broadcast or are equal.
func.func @matmul_batches(%a: tensor<2x4x5xf32>, %b: tensor<3x5x4xf32>) {
  // expected-error @+1 {{expects matrices that fit, as torch.matmul, but got [2, 4, 5] and [3, 5, 4]}}
  %0 = nn.matmul %a, %b : (tensor<2x4x5xf32>, tensor<3x5x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

// A layer norm is over the last dimensions, with their sizes.
func.func @layer_norm(%x: tensor<?x4x6xf32>) {
  // expected-error @+1 {{expects the last dimensions to be [4], but the input is [?, 4, 6]}}
  %0 = nn.layer_norm %x {eps = 1.0e-05 : f64, normalized_shape = array<i64: 4>} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  return
}

// -----

// Groups of channels have equal sizes.
func.func @group_norm(%x: tensor<?x4x6xf32>) {
  // expected-error @+1 {{expects channels divisible by 3 groups, but the input is [?, 4, 6]}}
  %0 = nn.group_norm %x {eps = 1.0e-05 : f64, num_groups = 3 : i64} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  return
}

// -----

// Neighbouring channels have places of their own.
func.func @local_response_norm(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{expects an input of at least 3 dimensions, but got [?, 4]}}
  %0 = nn.local_response_norm %x {alpha = 1.0 : f64, beta = 0.5 : f64, k = 2.0 : f64, size = 5 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// A group norm's parameters have an element for each channel.
func.func @group_norm_weight(%x: tensor<?x4x6xf32>, %w: tensor<6xf32>) {
  // expected-error @+1 {{expects 6 channels, but the input is [?, 4, 6]}}
  %0 = nn.group_norm %x weight(%w) {eps = 1.0e-05 : f64, num_groups = 2 : i64} : (tensor<?x4x6xf32>, tensor<6xf32>) -> tensor<?x4x6xf32>
  return
}

// -----

// Rows of a table are picked by integers.
func.func @embedding(%x: tensor<?x7xf32>, %table: tensor<100x8xf32>) {
  // expected-error @+1 {{expects an input of dtype int64 or int32, but it is float32}}
  %0 = nn.embedding %x, %table : (tensor<?x7xf32>, tensor<100x8xf32>) -> tensor<?x7x8xf32>
  return
}

// -----

// An LSTM's input features are its first weight's columns.
func.func @lstm(%x: tensor<7x?x6xf32>, %wi: tensor<16x5xf32>, %wh: tensor<16x4xf32>) {
  // expected-error @+1 {{expects 5 input features, but the input is [7, ?, 6]}}
  %y, %hn, %cn = nn.lstm %x weights(%wi, %wh) {batch_first = false, bias = false, bidirectional = false, hidden_size = 4 : i64, num_layers = 1 : i64} : (tensor<7x?x6xf32>, tensor<16x5xf32>, tensor<16x4xf32>) -> (tensor<7x?x4xf32>, tensor<1x?x4xf32>, tensor<1x?x4xf32>)
  return
}

// -----

// A GRU's first state has a row for each layer and direction.
func.func @gru(%x: tensor<7x3x5xf32>, %h: tensor<1x3x4xf32>, %wi: tensor<12x5xf32>, %wh: tensor<12x4xf32>) {
  // expected-error @+1 {{expects an initial state of shape [2, 3, 4], but got [1, 3, 4]}}
  %y, %hn = nn.gru %x h0(%h) weights(%wi, %wh, %wi, %wh) {batch_first = false, bias = false, bidirectional = true, hidden_size = 4 : i64, num_layers = 1 : i64} : (tensor<7x3x5xf32>, tensor<1x3x4xf32>, tensor<12x5xf32>, tensor<12x4xf32>, tensor<12x5xf32>, tensor<12x4xf32>) -> (tensor<7x3x8xf32>, tensor<2x3x4xf32>)
  return
}

// -----

// Key and value have as many rows.
func.func @attention(%q: tensor<?x7x4xf32>, %k: tensor<?x9x4xf32>, %v: tensor<?x8x4xf32>, %wi: tensor<12x4xf32>, %wo: tensor<4x4xf32>) {
  // expected-error @+1 {{expects query [L, N, E] and key and value [S, N, E] (N first if batch_first), but got [?, 7, 4], [?, 9, 4] and [?, 8, 4]}}
  %y, %w = nn.multihead_attention %q, %k, %v in_proj(%wi) out_proj(%wo) {batch_first = true, num_heads = 2 : i64} : (tensor<?x7x4xf32>, tensor<?x9x4xf32>, tensor<?x8x4xf32>, tensor<12x4xf32>, tensor<4x4xf32>) -> (tensor<?x7x4xf32>, tensor<?x7x9xf32>)
  return
}

// -----

// All of them have the width that the projections expect.
func.func @attention_width(%q: tensor<?x7x6xf32>, %wi: tensor<12x4xf32>, %wo: tensor<4x4xf32>) {
  // expected-error @+1 {{expects inputs of 4 features, but got [?, 7, 6]}}
  %y, %w = nn.multihead_attention %q, %q, %q in_proj(%wi) out_proj(%wo) {batch_first = true, num_heads = 2 : i64} : (tensor<?x7x6xf32>, tensor<?x7x6xf32>, tensor<?x7x6xf32>, tensor<12x4xf32>, tensor<4x4xf32>) -> (tensor<?x7x6xf32>, tensor<?x7x7xf32>)
  return
}

// -----

// A window must fit at least once.
func.func @pool(%x: tensor<?x3x2x8xf32>) {
  // expected-error @+1 {{dimension 2 of [?, 3, 2, 8]: a window that spans 3 finds no place in 2 elements}}
  %0 = nn.max_pool %x {ceil_mode = false, dilation = array<i64: 1, 1>, kernel_size = array<i64: 3, 3>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x3x2x8xf32>) -> tensor<?x3x1x3xf32>
  return
}

// -----

// Pooling is over two dimensions.
func.func @pool_rank(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{expects an input of 4 dimensions (or 3 without the batch), but got [?, 8]}}
  %0 = nn.avg_pool %x {ceil_mode = false, count_include_pad = true, divisor_override = 0 : i64, kernel_size = array<i64: 2, 2>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// Adaptive pooling too.
func.func @adaptive_pool_rank(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{expects an input of 4 dimensions (or 3 without the batch), but got [?, 8]}}
  %0 = nn.adaptive_avg_pool %x {output_size = array<i64: 1, 1>} : (tensor<?x8xf32>) -> tensor<?x1xf32>
  return
}

// -----

// A table has rows.
func.func @table(%x: tensor<?xi64>, %table: tensor<8xf32>) {
  // expected-error @+1 {{expects a table [V, D], but got [8]}}
  %0 = nn.embedding %x, %table : (tensor<?xi64>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// A linear layer's weight is a matrix.
func.func @linear_weight(%x: tensor<?x5xf32>, %w: tensor<5xf32>) {
  // expected-error @+1 {{expects a weight [out, in], but got [5]}}
  %0 = nn.linear %x, %w : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  return
}

// -----

// Strides are positive, and as many as there are spatial dimensions.
func.func @stride(%x: tensor<?x4x9xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{'stride' must be a list of 1 integers from 1 to}}
  %0 = nn.conv %x, %w {stride = array<i64: 0>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x9xf32>, tensor<6x4x3xf32>) -> tensor<?x6x7xf32>
  return
}

// -----

// So are a transposed convolution's.
func.func @transpose_lists(%x: tensor<?x4x3xf32>, %w: tensor<4x3x4xf32>) {
  // expected-error @+1 {{'padding' must be a list of 1 integers from 0 to}}
  %0 = nn.conv_transpose %x, %w {stride = array<i64: 2>, padding = array<i64>, output_padding = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x3xf32>, tensor<4x3x4xf32>) -> tensor<?x3x6xf32>
  return
}

// -----

// And a pool's.
func.func @pool_lists(%x: tensor<?x3x8x8xf32>) {
  // expected-error @+1 {{'kernel_size' must be a list of 2 integers from 1 to}}
  %0 = nn.max_pool %x {ceil_mode = false, dilation = array<i64: 1, 1>, kernel_size = array<i64: 3>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x3x3xf32>
  return
}

// -----

// There is at least one group to normalise.
func.func @no_groups(%x: tensor<?x4x6xf32>) {
  // expected-error @+1 {{expects at least one group, but got 0}}
  %0 = nn.group_norm %x {eps = 1.0e-05 : f64, num_groups = 0 : i64} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  return
}

// -----

// A recurrent layer has weights.
func.func @no_weights(%x: tensor<7x?x5xf32>) {
  // expected-error @+1 {{needs an operand 'weight_ih_l0'}}
  %y, %hn = nn.gru %x weights() {batch_first = false, bias = false, bidirectional = false, hidden_size = 4 : i64, num_layers = 1 : i64} : (tensor<7x?x5xf32>) -> (tensor<7x?x4xf32>, tensor<1x?x4xf32>)
  return
}
