// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

// Duals of arithmetic, dropout and losses.

// Dimensions that were stretched are summed over.
// CHECK-LABEL: func.func @add(
// CHECK: [[F0:%.+]] = nn.add
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4x3xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4x3xf32>) -> tensor<?x4x3xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.sum [[V0]] {dims = array<i64: 0>, keepdim = false} : (tensor<?x4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.sum [[V1]] {dims = array<i64: 1>, keepdim = true} : (tensor<4x3xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: dist.yield [[V0]], [[V2]] : tensor<?x4x3xf32>, tensor<4x1xf32>
func.func @add(%a: !dist.tensor<tensor<?x4x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %b: !dist.tensor<tensor<4x1xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %b) : (!dist.tensor<tensor<?x4x3xf32>, #dist.device<0>>, !dist.tensor<tensor<4x1xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<?x4x3xf32>, %b_: tensor<4x1xf32>):
    %y = nn.add %a_, %b_ : (tensor<?x4x3xf32>, tensor<4x1xf32>) -> tensor<?x4x3xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x4x3xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// The subtrahend's is negated.
// CHECK-LABEL: func.func @sub(
// CHECK: [[F0:%.+]] = nn.sub
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.sum [[V0]] {dims = array<i64: 0>, keepdim = false} : (tensor<?x4xf32>) -> tensor<4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.scale [[V1]] {value = -1.000000e+00 : f64} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: dist.yield [[V0]], [[V2]] : tensor<?x4xf32>, tensor<4xf32>
func.func @sub(%a: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %b: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %b) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<?x4xf32>, %b_: tensor<4xf32>):
    %y = nn.sub %a_, %b_ : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Each factor's gradient has the other one in it.
// CHECK-LABEL: func.func @mul(
// CHECK: [[F0:%.+]] = nn.mul
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[B:%.+]]: tensor<4xf32>, [[A:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.mul [[V0]], [[B]] : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.mul [[V0]], [[A]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.sum [[V2]] {dims = array<i64: 0>, keepdim = false} : (tensor<?x4xf32>) -> tensor<4xf32>
// CHECK-NEXT: dist.yield [[V1]], [[V3]] : tensor<?x4xf32>, tensor<4xf32>
func.func @mul(%a: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %b: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %b) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<?x4xf32>, %b_: tensor<4xf32>):
    %y = nn.mul %a_, %b_ : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// d(a / b) = da / b - y · db / b.
// CHECK-LABEL: func.func @div(
// CHECK: [[F0:%.+]] = nn.div
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[B:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.div [[V0]], [[B]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.mul [[V1]], [[SAVED1]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.scale [[V2]] {value = -1.000000e+00 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]], [[V3]] : tensor<?x4xf32>, tensor<?x4xf32>
func.func @div(%a: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %b: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %b) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>, !dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<?x4xf32>, %b_: tensor<?x4xf32>):
    %y = nn.div %a_, %b_ : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A value that is used twice has the sum of both gradients.
// CHECK-LABEL: func.func @square(
// CHECK: [[F0:%.+]] = nn.mul
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[A:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.mul [[V0]], [[A]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.mul [[V0]], [[A]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.add [[V1]], [[V2]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V3]] : tensor<?x4xf32>
func.func @square(%a: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<?x4xf32>):
    %y = nn.mul %a_, %a_ : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A constant factor.
// CHECK-LABEL: func.func @scale(
// CHECK: [[F0:%.+]] = nn.scale
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.scale [[V0]] {value = -3.000000e+00 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @scale(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.scale %x_ {value = -3.0 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// The exponential is its own derivative.
// CHECK-LABEL: func.func @exp(
// CHECK: [[F0:%.+]] = nn.exp
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.mul [[V0]], [[SAVED1]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @exp(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.exp %x_  : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// -1/2 · y³.
// CHECK-LABEL: func.func @rsqrt(
// CHECK: [[F0:%.+]] = nn.rsqrt
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.mul [[SAVED1]], [[SAVED1]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.mul [[SAVED1]], [[V1]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.mul [[V0]], [[V2]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.scale [[V3]] {value = -5.000000e-01 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V4]] : tensor<?x4xf32>
func.func @rsqrt(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.rsqrt %x_ {eps = 0.1 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// The mask is made again, from the same seed, step, layer and positions.
// CHECK-LABEL: func.func @dropout(
// CHECK: [[F0:%.+]] = nn.dropout_train
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg2)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[STEP:%.+]]: tensor<i64>, [[SEED:%.+]]: tensor<i64>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.dropout_train [[V0]] step([[STEP]]) seed([[SEED]]) {layer = 7 : i64, p = 5.000000e-01 : f64} : (tensor<?x4xf32>, tensor<i64>, tensor<i64>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @dropout(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %step: !dist.tensor<tensor<i64>, #dist.device<0>> {nn.role = "setting", nn.name = "step"}, %seed: !dist.tensor<tensor<i64>, #dist.device<0>> {nn.role = "setting", nn.name = "seed"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %step, %seed) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>, !dist.tensor<tensor<i64>, #dist.device<0>>, !dist.tensor<tensor<i64>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>, %step_: tensor<i64>, %seed_: tensor<i64>):
    %y = nn.dropout_train %x_ step(%step_) seed(%seed_) {p = 0.5 : f64, layer = 7 : i64} : (tensor<?x4xf32>, tensor<i64>, tensor<i64>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// The slopes are drawn again, and where they count is decided by x.
// CHECK-LABEL: func.func @rrelu(
// CHECK: [[X:%.+]] = nn.scale
// CHECK: nn.rrelu_train [[X]], [[X]]
// CHECK: dist.apply
// CHECK: [[V0:%.+]] = nn.broadcast
// CHECK-NEXT: [[V1:%.+]] = nn.rrelu_train [[V0]], %{{.*}} step(%{{.*}}) seed(%{{.*}}) {layer = 7 : i64, lower = 1.000000e-01 : f64, upper = 3.000000e-01 : f64}
// CHECK-NEXT: nn.scale [[V1]]
func.func @rrelu(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %step: !dist.tensor<tensor<i64>, #dist.device<0>> {nn.role = "setting", nn.name = "step"}, %seed: !dist.tensor<tensor<i64>, #dist.device<0>> {nn.role = "setting", nn.name = "seed"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %step, %seed) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>, !dist.tensor<tensor<i64>, #dist.device<0>>, !dist.tensor<tensor<i64>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>, %step_: tensor<i64>, %seed_: tensor<i64>):
    %z = nn.scale %x_ {value = 2.0 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %y = nn.rrelu_train %z, %z step(%step_) seed(%seed_) {lower = 0.1 : f64, upper = 0.3 : f64, layer = 7 : i64} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<i64>, tensor<i64>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A loss of elements.
// CHECK-LABEL: func.func @loss(
// CHECK: [[F0:%.+]] = nn.map
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0, %arg1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[A:%.+]]: tensor<?x4xf32>, [[T:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.map_backward "binary_cross_entropy_with_logits" [[V0]], [[A]], [[T]] {along = 0 : i64, numbers = array<f64>, reads = array<i64: 0, 1>} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @loss(%a: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %t: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "target", nn.name = "t"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %t) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>, !dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<?x4xf32>, %t_: tensor<?x4xf32>):
    %y = nn.map "binary_cross_entropy_with_logits" %a_, %t_ {numbers = array<f64>} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A squared difference of two values that are both trained.
// CHECK-LABEL: func.func @loss_of_both(
// CHECK: [[F0:%.+]] = nn.map
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0, %arg1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[A:%.+]]: tensor<?x4xf32>, [[B:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.map_backward "mse_loss" [[V0]], [[A]], [[B]] {along = 0 : i64, numbers = array<f64>, reads = array<i64: 0, 1>} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.map_backward "mse_loss" [[V0]], [[A]], [[B]] {along = 1 : i64, numbers = array<f64>, reads = array<i64: 0, 1>} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]], [[V2]] : tensor<?x4xf32>, tensor<?x4xf32>
func.func @loss_of_both(%a: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %b: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %b) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>, !dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<?x4xf32>, %b_: tensor<?x4xf32>):
    %y = nn.map "mse_loss" %a_, %b_ {numbers = array<f64>} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Classes have no gradient.
// CHECK-LABEL: func.func @target_weights(
// CHECK: [[F1:%.+]] = nn.target_weights
// CHECK: [[F0:%.+]] = nn.mul
// CHECK: dist.yield %{{.*}}, [[F0]], [[F1]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %{{[0-9]+}}#2)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[SAVED2:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.mul [[V0]], [[SAVED2]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @target_weights(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %t: !dist.tensor<tensor<?xi64>, #dist.device<0>> {nn.role = "target", nn.name = "t"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %t) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>, !dist.tensor<tensor<?xi64>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>, %t_: tensor<?xi64>):
    %q = nn.target_weights %t_ {classes = 4 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?xi64>) -> tensor<?x4xf32>
    %y = nn.mul %q, %x_ : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}
