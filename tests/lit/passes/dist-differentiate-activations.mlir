// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

// Duals of activations, and of ops that pass values through.

// Relu keeps its result, which the next layer keeps anyway, and not its argument.
// CHECK-LABEL: func.func @relu(
// CHECK: [[F0:%.+]] = nn.relu
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.activation_backward [[V0]], [[SAVED1]] {activation = {kind = "relu"}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @relu(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.relu %x_  : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// So do leaky_relu, ...
// CHECK-LABEL: func.func @leaky_relu(
// CHECK: [[F0:%.+]] = nn.leaky_relu
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.activation_backward [[V0]], [[SAVED1]] {activation = {kind = "leaky_relu", negative_slope = 1.000000e-01 : f64}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @leaky_relu(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.leaky_relu %x_ {negative_slope = 0.1 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// ... but with a negative slope the result doesn't tell the argument's sign.
// CHECK-LABEL: func.func @leaky_relu_negative(
// CHECK: [[F0:%.+]] = nn.leaky_relu
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[X:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.activation_backward [[V0]], [[X]] {activation = {kind = "leaky_relu", negative_slope = -1.000000e-01 : f64}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @leaky_relu_negative(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.leaky_relu %x_ {negative_slope = -0.1 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Tanh.
// CHECK-LABEL: func.func @tanh(
// CHECK: [[F0:%.+]] = nn.tanh
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.activation_backward [[V0]], [[SAVED1]] {activation = {kind = "tanh"}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @tanh(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.tanh %x_  : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Sigmoid.
// CHECK-LABEL: func.func @sigmoid(
// CHECK: [[F0:%.+]] = nn.sigmoid
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.activation_backward [[V0]], [[SAVED1]] {activation = {kind = "sigmoid"}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @sigmoid(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.sigmoid %x_  : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Hardtanh.
// CHECK-LABEL: func.func @hardtanh(
// CHECK: [[F0:%.+]] = nn.hardtanh
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.activation_backward [[V0]], [[SAVED1]] {activation = {kind = "hardtanh", max_val = 0.69999999999999996 : f64, min_val = -5.000000e-01 : f64}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @hardtanh(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.hardtanh %x_ {min_val = -0.5 : f64, max_val = 0.7 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// These need their argument.
// CHECK-LABEL: func.func @elu(
// CHECK: [[F0:%.+]] = nn.elu
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[X:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.activation_backward [[V0]], [[X]] {activation = {alpha = 1.500000e+00 : f64, kind = "elu"}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @elu(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.elu %x_ {alpha = 1.5 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Silu.
// CHECK-LABEL: func.func @silu(
// CHECK: [[F0:%.+]] = nn.silu
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[X:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.activation_backward [[V0]], [[X]] {activation = {kind = "silu"}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @silu(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.silu %x_  : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Gelu.
// CHECK-LABEL: func.func @gelu(
// CHECK: [[F0:%.+]] = nn.gelu
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[X:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.activation_backward [[V0]], [[X]] {activation = {kind = "gelu"}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @gelu(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.gelu %x_ {tanh_form = false} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Its tanh form.
// CHECK-LABEL: func.func @gelu_tanh(
// CHECK: [[F0:%.+]] = nn.gelu
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>, [[X:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.activation_backward [[V0]], [[X]] {activation = {kind = "gelu_tanh"}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @gelu_tanh(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.gelu %x_ {tanh_form = true} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Ops that pass values through pass gradients back.
// CHECK-LABEL: func.func @identity(
// CHECK: [[F0:%.+]] = nn.identity
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V0]] : tensor<?x4xf32>
func.func @identity(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.identity %x_  : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A print's further inputs are there for their sizes.
// CHECK-LABEL: func.func @print(
// CHECK: [[F0:%.+]] = nn.print
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V0]] : tensor<?x4xf32>
func.func @print(%a: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %b: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "input", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %b) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>, !dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<?x4xf32>, %b_: tensor<?x4xf32>):
    %y = nn.print %a_, %b_ text "{1}" : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}
