// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

// Duals of linear layers and convolutions.

// The weight's gradient needs the input, the input's the weight, the bias's neither.
// CHECK-LABEL: func.func @linear(
// CHECK: [[F0:%.+]] = nn.linear
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x2xf32>, [[W:%.+]]: tensor<2x5xf32>, [[X:%.+]]: tensor<?x5xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x2xf32>) -> tensor<?x2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.linear_backward_data [[V0]], [[W]] : (tensor<?x2xf32>, tensor<2x5xf32>) -> tensor<?x5xf32>
// CHECK-NEXT: [[V2:%.+]], [[V3:%.+]] = nn.linear_backward_weight [[X]], [[V0]] {bias = true} : (tensor<?x5xf32>, tensor<?x2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>)
// CHECK-NEXT: dist.yield [[V1]], [[V2]], [[V3]] : tensor<?x5xf32>, tensor<2x5xf32>, tensor<2xf32>
func.func @linear(%x: !dist.tensor<tensor<?x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %w: !dist.tensor<tensor<2x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %b: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %w, %b) : (!dist.tensor<tensor<?x5xf32>, #dist.device<0>>, !dist.tensor<tensor<2x5xf32>, #dist.device<0>>, !dist.tensor<tensor<2xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x5xf32>, %w_: tensor<2x5xf32>, %b_: tensor<2xf32>):
    %y = nn.linear %x_, %w_ bias(%b_) : (tensor<?x5xf32>, tensor<2x5xf32>, tensor<2xf32>) -> tensor<?x2xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x2xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// If the weight is frozen, the bias's gradient is a separate sum; unwanted gradients are not built.
// CHECK-LABEL: func.func @linear_bias_alone(
// CHECK: [[F0:%.+]] = nn.linear
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x3x2xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x3x2xf32>) -> tensor<?x3x2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.sum [[V0]] {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x3x2xf32>) -> tensor<2xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<2xf32>
func.func @linear_bias_alone(%b: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}, %x: !dist.tensor<tensor<?x3x5xf32>, #dist.device<0>> {nn.role = "input", nn.name = "x"}, %w: !dist.tensor<tensor<2x5xf32>, #dist.device<0>> {nn.role = "buffer", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%b, %x, %w) : (!dist.tensor<tensor<2xf32>, #dist.device<0>>, !dist.tensor<tensor<?x3x5xf32>, #dist.device<0>>, !dist.tensor<tensor<2x5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%b_: tensor<2xf32>, %x_: tensor<?x3x5xf32>, %w_: tensor<2x5xf32>):
    %y = nn.linear %x_, %w_ bias(%b_) : (tensor<?x3x5xf32>, tensor<2x5xf32>, tensor<2xf32>) -> tensor<?x3x2xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x3x2xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A convolution: the input's gradient from the weight; the weight's and the bias's in one call.
// CHECK-LABEL: func.func @conv(
// CHECK: [[F0:%.+]] = nn.conv
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x6x5x4xf32>, [[W:%.+]]: tensor<6x4x3x3xf32>, [[X:%.+]]: tensor<?x4x9x8xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x6x5x4xf32>) -> tensor<?x6x5x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.conv_backward_data [[V0]], [[W]] {dilation = array<i64: 1, 1>, groups = 1 : i64, padding_begin = array<i64: 1, 1>, padding_end = array<i64: 1, 1>, size = array<i64: 9, 8>, stride = array<i64: 2, 2>} : (tensor<?x6x5x4xf32>, tensor<6x4x3x3xf32>) -> tensor<?x4x9x8xf32>
// CHECK-NEXT: [[V2:%.+]], [[V3:%.+]] = nn.conv_backward_weight [[X]], [[V0]] {bias = true, dilation = array<i64: 1, 1>, groups = 1 : i64, kernel_size = array<i64: 3, 3>, padding_begin = array<i64: 1, 1>, padding_end = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<?x4x9x8xf32>, tensor<?x6x5x4xf32>) -> (tensor<6x4x3x3xf32>, tensor<6xf32>)
// CHECK-NEXT: dist.yield [[V1]], [[V2]], [[V3]] : tensor<?x4x9x8xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>
func.func @conv(%x: !dist.tensor<tensor<?x4x9x8xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %w: !dist.tensor<tensor<6x4x3x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %b: !dist.tensor<tensor<6xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %w, %b) : (!dist.tensor<tensor<?x4x9x8xf32>, #dist.device<0>>, !dist.tensor<tensor<6x4x3x3xf32>, #dist.device<0>>, !dist.tensor<tensor<6xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x9x8xf32>, %w_: tensor<6x4x3x3xf32>, %b_: tensor<6xf32>):
    %y = nn.conv %x_, %w_ bias(%b_) {stride = array<i64: 2, 2>, padding_begin = array<i64: 1, 1>, padding_end = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<?x4x9x8xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>) -> tensor<?x6x5x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2, 3>, keepdim = false} : (tensor<?x6x5x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A frozen convolution's bias: sums over the batch and over space.
// CHECK-LABEL: func.func @conv_bias_alone(
// CHECK: [[F0:%.+]] = nn.conv
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x6x9xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x6x9xf32>) -> tensor<?x6x9xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.sum [[V0]] {dims = array<i64: 2>, keepdim = false} : (tensor<?x6x9xf32>) -> tensor<?x6xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.sum [[V1]] {dims = array<i64: 0>, keepdim = false} : (tensor<?x6xf32>) -> tensor<6xf32>
// CHECK-NEXT: dist.yield [[V2]] : tensor<6xf32>
func.func @conv_bias_alone(%b: !dist.tensor<tensor<6xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}, %x: !dist.tensor<tensor<?x4x9xf32>, #dist.device<0>> {nn.role = "input", nn.name = "x"}, %w: !dist.tensor<tensor<6x4x4xf32>, #dist.device<0>> {nn.role = "buffer", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%b, %x, %w) : (!dist.tensor<tensor<6xf32>, #dist.device<0>>, !dist.tensor<tensor<?x4x9xf32>, #dist.device<0>>, !dist.tensor<tensor<6x4x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%b_: tensor<6xf32>, %x_: tensor<?x4x9xf32>, %w_: tensor<6x4x4xf32>):
    %y = nn.conv %x_, %w_ bias(%b_) {stride = array<i64: 1>, padding_begin = array<i64: 1>, padding_end = array<i64: 2>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x9xf32>, tensor<6x4x4xf32>, tensor<6xf32>) -> tensor<?x6x9xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x6x9xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// The dual of a transposed convolution is a convolution; its weight's gradient is that of a convolution from y to x.
// CHECK-LABEL: func.func @conv_transpose(
// CHECK: [[F0:%.+]] = nn.conv_transpose
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x6x10x8xf32>, [[W:%.+]]: tensor<4x3x3x3xf32>, [[X:%.+]]: tensor<?x4x5x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x6x10x8xf32>) -> tensor<?x6x10x8xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.sum [[V0]] {dims = array<i64: 2, 3>, keepdim = false} : (tensor<?x6x10x8xf32>) -> tensor<?x6xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.sum [[V1]] {dims = array<i64: 0>, keepdim = false} : (tensor<?x6xf32>) -> tensor<6xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.conv [[V0]], [[W]] {dilation = array<i64: 1, 1>, groups = 2 : i64, padding_begin = array<i64: 1, 1>, padding_end = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<?x6x10x8xf32>, tensor<4x3x3x3xf32>) -> tensor<?x4x5x4xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.conv_backward_weight [[V0]], [[X]] {bias = false, dilation = array<i64: 1, 1>, groups = 2 : i64, kernel_size = array<i64: 3, 3>, padding_begin = array<i64: 1, 1>, padding_end = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<?x6x10x8xf32>, tensor<?x4x5x4xf32>) -> tensor<4x3x3x3xf32>
// CHECK-NEXT: dist.yield [[V3]], [[V4]], [[V2]] : tensor<?x4x5x4xf32>, tensor<4x3x3x3xf32>, tensor<6xf32>
func.func @conv_transpose(%x: !dist.tensor<tensor<?x4x5x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %w: !dist.tensor<tensor<4x3x3x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %b: !dist.tensor<tensor<6xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %w, %b) : (!dist.tensor<tensor<?x4x5x4xf32>, #dist.device<0>>, !dist.tensor<tensor<4x3x3x3xf32>, #dist.device<0>>, !dist.tensor<tensor<6xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x5x4xf32>, %w_: tensor<4x3x3x3xf32>, %b_: tensor<6xf32>):
    %y = nn.conv_transpose %x_, %w_ bias(%b_) {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, output_padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<?x4x5x4xf32>, tensor<4x3x3x3xf32>, tensor<6xf32>) -> tensor<?x6x10x8xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2, 3>, keepdim = false} : (tensor<?x6x10x8xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Output padding that a stride doesn't swallow: no window reaches the last row, which is cut off.
// CHECK-LABEL: func.func @conv_transpose_margin(
// CHECK: [[F0:%.+]] = nn.conv_transpose
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x3x10xf32>, [[W:%.+]]: tensor<4x3x3xf32>, [[X:%.+]]: tensor<?x4x5xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x3x10xf32>) -> tensor<?x3x10xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.slice [[V0]] {begin = 0 : i64, dim = 2 : i64, size = 9 : i64} : (tensor<?x3x10xf32>) -> tensor<?x3x9xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.conv [[V1]], [[W]] {dilation = array<i64: 2>, groups = 1 : i64, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, stride = array<i64: 1>} : (tensor<?x3x9xf32>, tensor<4x3x3xf32>) -> tensor<?x4x5xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.conv_backward_weight [[V1]], [[X]] {bias = false, dilation = array<i64: 2>, groups = 1 : i64, kernel_size = array<i64: 3>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, stride = array<i64: 1>} : (tensor<?x3x9xf32>, tensor<?x4x5xf32>) -> tensor<4x3x3xf32>
// CHECK-NEXT: dist.yield [[V2]], [[V3]] : tensor<?x4x5xf32>, tensor<4x3x3xf32>
func.func @conv_transpose_margin(%x: !dist.tensor<tensor<?x4x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %w: !dist.tensor<tensor<4x3x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %w) : (!dist.tensor<tensor<?x4x5xf32>, #dist.device<0>>, !dist.tensor<tensor<4x3x3xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x5xf32>, %w_: tensor<4x3x3xf32>):
    %y = nn.conv_transpose %x_, %w_ {stride = array<i64: 1>, padding = array<i64: 0>, output_padding = array<i64: 1>, dilation = array<i64: 2>, groups = 1 : i64} : (tensor<?x4x5xf32>, tensor<4x3x3xf32>) -> tensor<?x3x10xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x3x10xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}
