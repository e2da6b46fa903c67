// RUN: sheaf-opt %s -verify-diagnostics -split-input-file

func.func @nothing(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{takes nothing of dimension 1 of [?, 4]}}
  %0 = nn.strided_slice %x {dim = 1 : i64, start = 3 : i64, end = 2 : i64, step = 1 : i64} : (tensor<?x4xf32>) -> tensor<?x0xf32>
  return
}

// -----

func.func @parts(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{expects parts that make up dimension 1 of [?, 4], but got [1, 2]}}
  %0:2 = nn.split %x {sections = array<i64: 1, 2>, dim = 1 : i64} : (tensor<?x4xf32>) -> (tensor<?x1xf32>, tensor<?x2xf32>)
  return
}

// -----

func.func @too_many_parts(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{gives 2 parts of dimension 1 of [?, 4], but 3 are used}}
  %0:3 = nn.split %x {sections = array<i64: 2>, dim = 1 : i64} : (tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>)
  return
}

// -----

func.func @reflect(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{has no more than 3 entries of dimension 1 of [?, 4] to pad it with, but got 4}}
  %0 = nn.border %x {mode = "reflect", pad = array<i64: 4, 0>, value = 0.0 : f64} : (tensor<?x4xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @index(%x: tensor<?x4xf32>, %i: tensor<2xf32>) {
  // expected-error @+1 {{expects an index of dtype int64 or int32, but it is float32}}
  %0 = nn.index_select %i, %x {dim = 1 : i64} : (tensor<2xf32>, tensor<?x4xf32>) -> tensor<?x2xf32>
  return
}

// -----

func.func @gather(%x: tensor<?x4x6xf32>, %i: tensor<?x2x5xi64>) {
  // expected-error @+1 {{expects an index of shape [?, 2, 6], but got [?, 2, 5]}}
  %0 = nn.gather_elements %i, %x {dim = 1 : i64} : (tensor<?x2x5xi64>, tensor<?x4x6xf32>) -> tensor<?x2x5xf32>
  return
}

// -----

func.func @slice_beyond(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{expects a range inside dimension 1 of [?, 4]}}
  %0 = nn.slice %x {begin = 2 : i64, dim = 1 : i64, size = 3 : i64, step = -2 : i64} : (tensor<?x4xf32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @variance(%x: tensor<?x4x1xf32>) {
  // expected-error @+1 {{takes the variance of 1 elements with a correction of 1}}
  %0 = nn.var %x {correction = 1.0 : f64, dims = array<i64: 2>, keepdim = false} : (tensor<?x4x1xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @mode(%x: tensor<?x8x4xf32>) {
  // expected-error @+1 {{expects an input [N, C, s…] with 2 spatial sizes for mode 'bilinear', but got [?, 8, 4]}}
  %0 = nn.upsample %x {align_corners = false, mode = "bilinear", scale_factor = array<f64: 2.0>, size = array<i64>} : (tensor<?x8x4xf32>) -> tensor<?x8x8xf32>
  return
}

// -----

func.func @unflatten(%x: tensor<?x12xf32>) {
  // expected-error @+1 {{cannot view dimension 1 of [?, 12] as [5, -1]}}
  %0 = nn.unflatten %x {dim = 1 : i64, sizes = array<i64: 5, -1>} : (tensor<?x12xf32>) -> tensor<?x5x2xf32>
  return
}

// -----

func.func @unflatten_sizes(%x: tensor<?x12xf32>) {
  // expected-error @+1 {{cannot view dimension 1 of [?, 12] as [2, 3]}}
  %0 = nn.unflatten %x {dim = 1 : i64, sizes = array<i64: 2, 3>} : (tensor<?x12xf32>) -> tensor<?x2x3xf32>
  return
}

// -----

func.func @unflatten_twice(%x: tensor<?x12xf32>) {
  // expected-error @+1 {{expects sizes of at least 1, or one of -1, but got [-1, -1]}}
  %0 = nn.unflatten %x {dim = 1 : i64, sizes = array<i64: -1, -1>} : (tensor<?x12xf32>) -> tensor<?x3x4xf32>
  return
}

// -----

func.func @adaptive_pool(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{expects an input of 3 or 4 dimensions, but got [?, 8]}}
  %0 = nn.adaptive_max_pool %x {output_size = array<i64: 2, 2>} : (tensor<?x8xf32>) -> tensor<?x2x2xf32>
  return
}

// -----

func.func @margins(%x: tensor<?x3x4xf32>, %t: tensor<?x3xi64>) {
  // expected-error @+1 {{takes scores of shape [batch, classes], but they are [?, 3, 4]}}
  %0 = nn.loss "MultiMarginLoss" %x, %t {arguments = {p = 1 : i64, margin = 1.0}} : (tensor<?x3x4xf32>, tensor<?x3xi64>) -> tensor<f32>
  return
}

// -----

func.func @margins_of_lists(%x: tensor<?x4xf32>, %t: tensor<?xi64>) {
  // expected-error @+1 {{takes scores of shape [?, 4] with a target of shape [?, 4], but the target is [?]}}
  %0 = nn.loss "MultiLabelMarginLoss" %x, %t {arguments = {}} : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<f32>
  return
}

// -----

func.func @margin_weights(%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) {
  // expected-error @+1 {{has 2 numbers in 'weight', but the dimension of the classes has 4}}
  %0 = nn.loss "MultiLabelSoftMarginLoss" %x, %t {arguments = {weight = [1.0, 2.0]}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @shuffle(%x: tensor<?x6x4x4xf32>) {
  // expected-error @+1 {{expects channels divisible by 4, but the input is [?, 6, 4, 4]}}
  %0 = nn.pixel_shuffle %x {factor = 2 : i64} : (tensor<?x6x4x4xf32>) -> tensor<?x1x8x8xf32>
  return
}

// -----

func.func @mask(%q: tensor<?x4x3x8xf32>, %mask: tensor<4x3xui8>) {
  // expected-error @+1 {{expects a mask that stretches to [?, 4, 3, 3], but got [4, 3]}}
  %0 = nn.attention %q, %q, %q mask(%mask) {enable_gqa = false, is_causal = false} : (tensor<?x4x3x8xf32>, tensor<?x4x3x8xf32>, tensor<?x4x3x8xf32>, tensor<4x3xui8>) -> tensor<?x4x3x8xf32>
  return
}

// -----

func.func @heads(%q: tensor<?x4x3x8xf32>, %k: tensor<?x3x3x8xf32>) {
  // expected-error @+1 {{expects a number of heads that key's divides, but got [?, 4, 3, 8] and [?, 3, 3, 8]}}
  %0 = nn.attention %q, %k, %k {enable_gqa = true, is_causal = false} : (tensor<?x4x3x8xf32>, tensor<?x3x3x8xf32>, tensor<?x3x3x8xf32>) -> tensor<?x4x3x8xf32>
  return
}

// -----

func.func @unpool_size(%x: tensor<?x3x2x2xf32>, %p: tensor<?x3x2x2xi64>) {
  // expected-error @+1 {{can't make dimension 2 of [?, 3, 2, 2] one of 6; it takes 3 to 5}}
  %0 = nn.max_unpool %x, %p {kernel_size = array<i64: 2, 2>, output_size = array<i64: 6, 4>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x3x2x2xf32>, tensor<?x3x2x2xi64>) -> tensor<?x3x6x4xf32>
  return
}

// -----

func.func @unpool_places(%x: tensor<?x3x2x2xf32>, %p: tensor<?x3x2x1xi64>) {
  // expected-error @+1 {{expects positions of shape [?, 3, 2, 2], but got [?, 3, 2, 1]}}
  %0 = nn.max_unpool %x, %p {kernel_size = array<i64: 2, 2>, output_size = array<i64>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x3x2x2xf32>, tensor<?x3x2x1xi64>) -> tensor<?x3x4x4xf32>
  return
}

// -----

func.func @unpool_numbers(%x: tensor<?x3x2x2xf32>, %p: tensor<?x3x2x2xi32>) {
  // expected-error @+1 {{expects positions of int64, but they are int32}}
  %0 = nn.max_unpool %x, %p {kernel_size = array<i64: 2, 2>, output_size = array<i64>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x3x2x2xf32>, tensor<?x3x2x2xi32>) -> tensor<?x3x4x4xf32>
  return
}

// -----

func.func @positions(%x: tensor<?x3x5xf32>) {
  // expected-error @+1 {{'padding' must be at most half of the window of 3, found 2}}
  %0 = nn.max_pool_positions %x {ceil_mode = false, dilation = array<i64: 1>, kernel_size = array<i64: 3>, padding = array<i64: 2>, stride = array<i64: 2>} : (tensor<?x3x5xf32>) -> tensor<?x3x3xi64>
  return
}
