// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

// Duals of pooling and recurrent layers.

// Max pooling keeps a workspace, and not x.
// CHECK-LABEL: func.func @max_pool(
// CHECK: [[F0:%.+]], [[F1:%.+]] = nn.max_pool_train
// CHECK: dist.yield %{{.*}}, [[F0]], [[F1]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %{{[0-9]+}}#2)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4x5x4xf32>, [[SAVED2:%.+]]: tensor<1xui8>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4x5x4xf32>) -> tensor<?x4x5x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.max_pool_backward [[V0]], [[SAVED2]] {ceil_mode = true, dilation = array<i64: 1, 1>, kernel_size = array<i64: 3, 2>, padding = array<i64: 1, 0>, size = array<i64: 9, 7>, stride = array<i64: 2, 2>} : (tensor<?x4x5x4xf32>, tensor<1xui8>) -> tensor<?x4x9x7xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4x9x7xf32>
func.func @max_pool(%x: !dist.tensor<tensor<?x4x9x7xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4x9x7xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x9x7xf32>):
    %y, %ws = nn.max_pool_train %x_ {kernel_size = array<i64: 3, 2>, stride = array<i64: 2, 2>, padding = array<i64: 1, 0>, dilation = array<i64: 1, 1>, ceil_mode = true} : (tensor<?x4x9x7xf32>) -> (tensor<?x4x5x4xf32>, tensor<1xui8>)
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2, 3>, keepdim = false} : (tensor<?x4x5x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Average pooling keeps nothing.
// CHECK-LABEL: func.func @avg_pool(
// CHECK: [[F0:%.+]] = nn.avg_pool
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4x5x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4x5x4xf32>) -> tensor<?x4x5x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.avg_pool_backward [[V0]] {ceil_mode = true, count_include_pad = false, divisor_override = 0 : i64, kernel_size = array<i64: 3, 2>, padding = array<i64: 1, 0>, size = array<i64: 9, 7>, stride = array<i64: 2, 2>} : (tensor<?x4x5x4xf32>) -> tensor<?x4x9x7xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4x9x7xf32>
func.func @avg_pool(%x: !dist.tensor<tensor<?x4x9x7xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4x9x7xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x9x7xf32>):
    %y = nn.avg_pool %x_ {kernel_size = array<i64: 3, 2>, stride = array<i64: 2, 2>, padding = array<i64: 1, 0>, ceil_mode = true, count_include_pad = false, divisor_override = 0 : i64} : (tensor<?x4x9x7xf32>) -> tensor<?x4x5x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2, 3>, keepdim = false} : (tensor<?x4x5x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// The sizes of an adaptive pool are those of its input and its gradient.
// CHECK-LABEL: func.func @adaptive_avg_pool(
// CHECK: [[F0:%.+]] = nn.adaptive_avg_pool
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4x4x7xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4x4x7xf32>) -> tensor<?x4x4x7xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.adaptive_avg_pool_backward [[V0]] {size = array<i64: 9, 7>} : (tensor<?x4x4x7xf32>) -> tensor<?x4x9x7xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4x9x7xf32>
func.func @adaptive_avg_pool(%x: !dist.tensor<tensor<?x4x9x7xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4x9x7xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x9x7xf32>):
    %y = nn.adaptive_avg_pool %x_ {output_size = array<i64: 4, -1>} : (tensor<?x4x9x7xf32>) -> tensor<?x4x4x7xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2, 3>, keepdim = false} : (tensor<?x4x4x7xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// An LSTM of which only the output is used: one call for all gradients.
// CHECK-LABEL: func.func @lstm(
// CHECK: [[F0:%.+]], [[F1:%.+]], [[F2:%.+]], [[F3:%.+]] = nn.lstm_train
// CHECK: dist.yield %{{.*}}, [[F0]], [[F1]], [[F2]], [[F3]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg3, %arg4, %arg0, %arg1, %arg2, %{{[0-9]+}}#2, %{{[0-9]+}}#3, %{{[0-9]+}}#4)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<7x?x2xf32>, [[W:%.+]]: tensor<8x3xf32>, [[U:%.+]]: tensor<8x2xf32>, [[X:%.+]]: tensor<7x?x3xf32>, [[H:%.+]]: tensor<1x?x2xf32>, [[C:%.+]]: tensor<1x?x2xf32>, [[SAVED2:%.+]]: tensor<1x?x2xf32>, [[SAVED3:%.+]]: tensor<1x?x2xf32>, [[SAVED4:%.+]]: tensor<1xui8>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<7x?x2xf32>) -> tensor<7x?x2xf32>
// CHECK-NEXT: [[V1:%.+]], [[V2:%.+]]:4 = nn.lstm_backward [[X]] h0([[H]]) c0([[C]]) weights([[W]], [[U]]) results([[SAVED1]], [[SAVED2]], [[SAVED3]]) workspace([[SAVED4]]) dy([[V0]]) {batch_first = false, bias = false, bidirectional = false, hidden_size = 2 : i64, num_layers = 1 : i64} : (tensor<7x?x3xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>, tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>, tensor<7x?x2xf32>) -> (tensor<7x?x3xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>)
// CHECK-NEXT: dist.yield [[V1]], [[V2]]#0, [[V2]]#1, [[V2]]#2, [[V2]]#3 : tensor<7x?x3xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>
func.func @lstm(%x: !dist.tensor<tensor<7x?x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %h: !dist.tensor<tensor<1x?x2xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "h"}, %c: !dist.tensor<tensor<1x?x2xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "c"}, %w: !dist.tensor<tensor<8x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %u: !dist.tensor<tensor<8x2xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "u"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %h, %c, %w, %u) : (!dist.tensor<tensor<7x?x3xf32>, #dist.device<0>>, !dist.tensor<tensor<1x?x2xf32>, #dist.device<0>>, !dist.tensor<tensor<1x?x2xf32>, #dist.device<0>>, !dist.tensor<tensor<8x3xf32>, #dist.device<0>>, !dist.tensor<tensor<8x2xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<7x?x3xf32>, %h_: tensor<1x?x2xf32>, %c_: tensor<1x?x2xf32>, %w_: tensor<8x3xf32>, %u_: tensor<8x2xf32>):
    %y, %hn, %cn, %ws = nn.lstm_train %x_ h0(%h_) c0(%c_) weights(%w_, %u_) {hidden_size = 2 : i64, num_layers = 1 : i64, bidirectional = false, batch_first = false, bias = false} : (tensor<7x?x3xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>) -> (tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>)
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<7x?x2xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A GRU of which only the last state is used; without an initial state.
// CHECK-LABEL: func.func @gru(
// CHECK: [[F1:%.+]], [[F0:%.+]], [[F2:%.+]] = nn.gru_train
// CHECK: dist.yield %{{.*}}, [[F0]], [[F1]], [[F2]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg2, %arg0, %{{[0-9]+}}#2, %{{[0-9]+}}#3)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<1x?x2xf32>, [[W:%.+]]: tensor<6x3xf32>, [[U:%.+]]: tensor<6x2xf32>, [[X:%.+]]: tensor<7x?x3xf32>, [[SAVED2:%.+]]: tensor<7x?x2xf32>, [[SAVED3:%.+]]: tensor<1xui8>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<1x?x2xf32>) -> tensor<1x?x2xf32>
// CHECK-NEXT: [[V1:%.+]], [[V2:%.+]]:2 = nn.gru_backward [[X]] weights([[W]], [[U]]) results([[SAVED2]], [[SAVED1]]) workspace([[SAVED3]]) dh([[V0]]) {batch_first = false, bias = false, bidirectional = false, hidden_size = 2 : i64, num_layers = 1 : i64} : (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>, tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>, tensor<1x?x2xf32>) -> (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>)
// CHECK-NEXT: dist.yield [[V1]], [[V2]]#0, [[V2]]#1 : tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>
func.func @gru(%x: !dist.tensor<tensor<7x?x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %w: !dist.tensor<tensor<6x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %u: !dist.tensor<tensor<6x2xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "u"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %w, %u) : (!dist.tensor<tensor<7x?x3xf32>, #dist.device<0>>, !dist.tensor<tensor<6x3xf32>, #dist.device<0>>, !dist.tensor<tensor<6x2xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<7x?x3xf32>, %w_: tensor<6x3xf32>, %u_: tensor<6x2xf32>):
    %all, %y, %ws = nn.gru_train %x_ weights(%w_, %u_) {hidden_size = 2 : i64, num_layers = 1 : i64, bidirectional = false, batch_first = false, bias = false} : (tensor<7x?x3xf32>, tensor<6x3xf32>, tensor<6x2xf32>) -> (tensor<7x?x2xf32>, tensor<1x?x2xf32>, tensor<1xui8>)
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<1x?x2xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}
