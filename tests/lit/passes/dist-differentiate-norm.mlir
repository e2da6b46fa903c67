// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

// Duals of softmax and norms.

// dx = y · (dy - Σ dy · y), from the result alone.
// CHECK-LABEL: func.func @softmax(
// CHECK: [[F0:%.+]] = nn.softmax
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.mul [[V0]], [[SAVED1]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.sum [[V1]] {dims = array<i64: 1>, keepdim = true} : (tensor<?x4xf32>) -> tensor<?x1xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.sub [[V0]], [[V2]] : (tensor<?x4xf32>, tensor<?x1xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.mul [[SAVED1]], [[V3]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V4]] : tensor<?x4xf32>
func.func @softmax(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.softmax %x_ {dim = -1 : i64, log = false} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// dx = dy - e^y · Σ dy.
// CHECK-LABEL: func.func @log_softmax(
// CHECK: [[F0:%.+]] = nn.softmax
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.exp [[SAVED1]] : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.sum [[V0]] {dims = array<i64: 1>, keepdim = true} : (tensor<?x4xf32>) -> tensor<?x1xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.mul [[V1]], [[V2]] : (tensor<?x4xf32>, tensor<?x1xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.sub [[V0]], [[V3]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V4]] : tensor<?x4xf32>
func.func @log_softmax(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.softmax %x_ {dim = -1 : i64, log = true} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A layer norm keeps x, and computes mean and deviation again.
// CHECK-LABEL: func.func @layer_norm(
// CHECK: [[F0:%.+]] = nn.layer_norm
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0, %arg1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x3x5xf32>, [[X:%.+]]: tensor<?x3x5xf32>, [[W:%.+]]: tensor<5xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x3x5xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.sum [[V0]] {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x3x5xf32>) -> tensor<5xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.mean [[X]] {dims = array<i64: 2>, keepdim = true} : (tensor<?x3x5xf32>) -> tensor<?x3x1xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.sub [[X]], [[V2]] : (tensor<?x3x5xf32>, tensor<?x3x1xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.mul [[V3]], [[V3]] : (tensor<?x3x5xf32>, tensor<?x3x5xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.mean [[V4]] {dims = array<i64: 2>, keepdim = true} : (tensor<?x3x5xf32>) -> tensor<?x3x1xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.rsqrt [[V5]] {eps = 1.000000e-05 : f64} : (tensor<?x3x1xf32>) -> tensor<?x3x1xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.mul [[V3]], [[V6]] : (tensor<?x3x5xf32>, tensor<?x3x1xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.mul [[V0]], [[V7]] : (tensor<?x3x5xf32>, tensor<?x3x5xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.sum [[V8]] {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x3x5xf32>) -> tensor<5xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.mul [[V0]], [[W]] : (tensor<?x3x5xf32>, tensor<5xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.mul [[V10]], [[V7]] : (tensor<?x3x5xf32>, tensor<?x3x5xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: [[V12:%.+]] = nn.mean [[V11]] {dims = array<i64: 2>, keepdim = true} : (tensor<?x3x5xf32>) -> tensor<?x3x1xf32>
// CHECK-NEXT: [[V13:%.+]] = nn.mul [[V7]], [[V12]] : (tensor<?x3x5xf32>, tensor<?x3x1xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: [[V14:%.+]] = nn.mean [[V10]] {dims = array<i64: 2>, keepdim = true} : (tensor<?x3x5xf32>) -> tensor<?x3x1xf32>
// CHECK-NEXT: [[V15:%.+]] = nn.sub [[V10]], [[V14]] : (tensor<?x3x5xf32>, tensor<?x3x1xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: [[V16:%.+]] = nn.sub [[V15]], [[V13]] : (tensor<?x3x5xf32>, tensor<?x3x5xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: [[V17:%.+]] = nn.mul [[V16]], [[V6]] : (tensor<?x3x5xf32>, tensor<?x3x1xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: dist.yield [[V17]], [[V9]], [[V1]] : tensor<?x3x5xf32>, tensor<5xf32>, tensor<5xf32>
func.func @layer_norm(%x: !dist.tensor<tensor<?x3x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %w: !dist.tensor<tensor<5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %b: !dist.tensor<tensor<5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %w, %b) : (!dist.tensor<tensor<?x3x5xf32>, #dist.device<0>>, !dist.tensor<tensor<5xf32>, #dist.device<0>>, !dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x3x5xf32>, %w_: tensor<5xf32>, %b_: tensor<5xf32>):
    %y = nn.layer_norm %x_ weight(%w_) bias(%b_) {normalized_shape = array<i64: 5>, eps = 1.0e-5 : f64} : (tensor<?x3x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<?x3x5xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x3x5xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Without parameters.
// CHECK-LABEL: func.func @layer_norm_plain(
// CHECK: [[F0:%.+]] = nn.layer_norm
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x5xf32>, [[X:%.+]]: tensor<?x5xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x5xf32>) -> tensor<?x5xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.mean [[X]] {dims = array<i64: 1>, keepdim = true} : (tensor<?x5xf32>) -> tensor<?x1xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.sub [[X]], [[V1]] : (tensor<?x5xf32>, tensor<?x1xf32>) -> tensor<?x5xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.mul [[V2]], [[V2]] : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.mean [[V3]] {dims = array<i64: 1>, keepdim = true} : (tensor<?x5xf32>) -> tensor<?x1xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.rsqrt [[V4]] {eps = 1.000000e-05 : f64} : (tensor<?x1xf32>) -> tensor<?x1xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.mul [[V2]], [[V5]] : (tensor<?x5xf32>, tensor<?x1xf32>) -> tensor<?x5xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.mul [[V0]], [[V6]] : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.mean [[V7]] {dims = array<i64: 1>, keepdim = true} : (tensor<?x5xf32>) -> tensor<?x1xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.mul [[V6]], [[V8]] : (tensor<?x5xf32>, tensor<?x1xf32>) -> tensor<?x5xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.mean [[V0]] {dims = array<i64: 1>, keepdim = true} : (tensor<?x5xf32>) -> tensor<?x1xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.sub [[V0]], [[V10]] : (tensor<?x5xf32>, tensor<?x1xf32>) -> tensor<?x5xf32>
// CHECK-NEXT: [[V12:%.+]] = nn.sub [[V11]], [[V9]] : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
// CHECK-NEXT: [[V13:%.+]] = nn.mul [[V12]], [[V5]] : (tensor<?x5xf32>, tensor<?x1xf32>) -> tensor<?x5xf32>
// CHECK-NEXT: dist.yield [[V13]] : tensor<?x5xf32>
func.func @layer_norm_plain(%x: !dist.tensor<tensor<?x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x5xf32>):
    %y = nn.layer_norm %x_ {normalized_shape = array<i64: 5>, eps = 1.0e-5 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x5xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A group norm is a layer norm over groups of channels; its parameters run along the channels.
// CHECK-LABEL: func.func @group_norm(
// CHECK: [[F0:%.+]] = nn.group_norm
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0, %arg1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x6x2xf32>, [[X:%.+]]: tensor<?x6x2xf32>, [[W:%.+]]: tensor<6xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x6x2xf32>) -> tensor<?x6x2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.sum [[V0]] {dims = array<i64: 2>, keepdim = false} : (tensor<?x6x2xf32>) -> tensor<?x6xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.sum [[V1]] {dims = array<i64: 0>, keepdim = false} : (tensor<?x6xf32>) -> tensor<6xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.reshape [[X]] {shape = array<i64: -1, 3, 4>} : (tensor<?x6x2xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.mean [[V3]] {dims = array<i64: 2>, keepdim = true} : (tensor<?x3x4xf32>) -> tensor<?x3x1xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.sub [[V3]], [[V4]] : (tensor<?x3x4xf32>, tensor<?x3x1xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.mul [[V5]], [[V5]] : (tensor<?x3x4xf32>, tensor<?x3x4xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.mean [[V6]] {dims = array<i64: 2>, keepdim = true} : (tensor<?x3x4xf32>) -> tensor<?x3x1xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.rsqrt [[V7]] {eps = 1.000000e-05 : f64} : (tensor<?x3x1xf32>) -> tensor<?x3x1xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.mul [[V5]], [[V8]] : (tensor<?x3x4xf32>, tensor<?x3x1xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.reshape [[V9]] {shape = array<i64: -1, 6, 2>} : (tensor<?x3x4xf32>) -> tensor<?x6x2xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.mul [[V0]], [[V10]] : (tensor<?x6x2xf32>, tensor<?x6x2xf32>) -> tensor<?x6x2xf32>
// CHECK-NEXT: [[V12:%.+]] = nn.sum [[V11]] {dims = array<i64: 2>, keepdim = false} : (tensor<?x6x2xf32>) -> tensor<?x6xf32>
// CHECK-NEXT: [[V13:%.+]] = nn.sum [[V12]] {dims = array<i64: 0>, keepdim = false} : (tensor<?x6xf32>) -> tensor<6xf32>
// CHECK-NEXT: [[V14:%.+]] = nn.reshape [[W]] {shape = array<i64: 6, 1>} : (tensor<6xf32>) -> tensor<6x1xf32>
// CHECK-NEXT: [[V15:%.+]] = nn.mul [[V0]], [[V14]] : (tensor<?x6x2xf32>, tensor<6x1xf32>) -> tensor<?x6x2xf32>
// CHECK-NEXT: [[V16:%.+]] = nn.reshape [[V15]] {shape = array<i64: -1, 3, 4>} : (tensor<?x6x2xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT: [[V17:%.+]] = nn.mul [[V16]], [[V9]] : (tensor<?x3x4xf32>, tensor<?x3x4xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT: [[V18:%.+]] = nn.mean [[V17]] {dims = array<i64: 2>, keepdim = true} : (tensor<?x3x4xf32>) -> tensor<?x3x1xf32>
// CHECK-NEXT: [[V19:%.+]] = nn.mul [[V9]], [[V18]] : (tensor<?x3x4xf32>, tensor<?x3x1xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT: [[V20:%.+]] = nn.mean [[V16]] {dims = array<i64: 2>, keepdim = true} : (tensor<?x3x4xf32>) -> tensor<?x3x1xf32>
// CHECK-NEXT: [[V21:%.+]] = nn.sub [[V16]], [[V20]] : (tensor<?x3x4xf32>, tensor<?x3x1xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT: [[V22:%.+]] = nn.sub [[V21]], [[V19]] : (tensor<?x3x4xf32>, tensor<?x3x4xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT: [[V23:%.+]] = nn.mul [[V22]], [[V8]] : (tensor<?x3x4xf32>, tensor<?x3x1xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT: [[V24:%.+]] = nn.reshape [[V23]] {shape = array<i64: -1, 6, 2>} : (tensor<?x3x4xf32>) -> tensor<?x6x2xf32>
// CHECK-NEXT: dist.yield [[V24]], [[V13]], [[V2]] : tensor<?x6x2xf32>, tensor<6xf32>, tensor<6xf32>
func.func @group_norm(%x: !dist.tensor<tensor<?x6x2xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %w: !dist.tensor<tensor<6xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %b: !dist.tensor<tensor<6xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %w, %b) : (!dist.tensor<tensor<?x6x2xf32>, #dist.device<0>>, !dist.tensor<tensor<6xf32>, #dist.device<0>>, !dist.tensor<tensor<6xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x6x2xf32>, %w_: tensor<6xf32>, %b_: tensor<6xf32>):
    %y = nn.group_norm %x_ weight(%w_) bias(%b_) {num_groups = 3 : i64, eps = 1.0e-5 : f64} : (tensor<?x6x2xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6x2xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x6x2xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Batch norm keeps its batch's statistics.
// CHECK-LABEL: func.func @batch_norm(
// CHECK: [[F0:%.+]], [[F1:%.+]], [[F2:%.+]] = nn.batch_norm_train
// CHECK: dist.yield %{{.*}}, [[F0]], [[F1]], [[F2]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg0, %{{[0-9]+}}#2, %{{[0-9]+}}#3)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[W:%.+]]: tensor<4xf32>, [[X:%.+]]: tensor<?x4xf32>, [[SAVED2:%.+]]: tensor<4xf32>, [[SAVED3:%.+]]: tensor<4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]], [[V2:%.+]]:2 = nn.batch_norm_backward [[X]], [[V0]] mean([[SAVED2]]) var([[SAVED3]]) weight([[W]]) {eps = 1.000000e-05 : f64} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: dist.yield [[V1]], [[V2]]#0, [[V2]]#1 : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>
func.func @batch_norm(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %w: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %b: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %w, %b) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>, %w_: tensor<4xf32>, %b_: tensor<4xf32>):
    %y, %m, %v = nn.batch_norm_train %x_ weight(%w_) bias(%b_) {eps = 1.0e-5 : f64} : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Without parameters there is one result.
// CHECK-LABEL: func.func @batch_norm_plain(
// CHECK: [[F0:%.+]], [[F1:%.+]], [[F2:%.+]] = nn.batch_norm_train
// CHECK: dist.yield %{{.*}}, [[F0]], [[F1]], [[F2]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0, %{{[0-9]+}}#2, %{{[0-9]+}}#3)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[X:%.+]]: tensor<?x4xf32>, [[SAVED2:%.+]]: tensor<4xf32>, [[SAVED3:%.+]]: tensor<4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.batch_norm_backward [[X]], [[V0]] mean([[SAVED2]]) var([[SAVED3]]) {eps = 1.000000e-05 : f64} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @batch_norm_plain(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y, %m, %v = nn.batch_norm_train %x_ {eps = 1.0e-5 : f64} : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}
