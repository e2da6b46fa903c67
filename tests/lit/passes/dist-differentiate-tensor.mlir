// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

// Duals of ops that move elements or add them up.

// A mean over sizes that are known ...
// CHECK-LABEL: func.func @mean(
// CHECK: [[F0:%.+]] = nn.mean
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?xf32>, [[X:%.+]]: tensor<?x4x6xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?xf32>) -> tensor<?xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.scale [[V0]] {value = 0.041666666666666664 : f64} : (tensor<?xf32>) -> tensor<?xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.broadcast [[V1]] like [[X]] {dims = array<i64: 0>} : (tensor<?xf32>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
// CHECK-NEXT: dist.yield [[V2]] : tensor<?x4x6xf32>
func.func @mean(%x: !dist.tensor<tensor<?x4x6xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4x6xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x6xf32>):
    %y = nn.mean %x_ {dims = array<i64: 1, -1>, keepdim = false} : (tensor<?x4x6xf32>) -> tensor<?xf32>
    %loss = nn.sum %y {dims = array<i64: 0>, keepdim = false} : (tensor<?xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// ... and over the batch, whose size is known when the program runs.
// CHECK-LABEL: func.func @mean_of_batch(
// CHECK: [[F0:%.+]] = nn.mean
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<1x4xf32>, [[X:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<1x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.inverse_count [[X]] {dims = array<i64: 0>} : (tensor<?x4xf32>) -> tensor<f32>
// CHECK-NEXT: [[V2:%.+]] = nn.mul [[V0]], [[V1]] : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.broadcast [[V2]] like [[X]] {dims = array<i64: 0, 1>} : (tensor<1x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V3]] : tensor<?x4xf32>
func.func @mean_of_batch(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.mean %x_ {dims = array<i64: 0>, keepdim = true} : (tensor<?x4xf32>) -> tensor<1x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<1x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A sum.
// CHECK-LABEL: func.func @sum(
// CHECK: [[F0:%.+]] = nn.sum
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?xf32>, [[X:%.+]]: tensor<?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?xf32>) -> tensor<?xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.broadcast [[V0]] like [[X]] {dims = array<i64: 0>} : (tensor<?xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @sum(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.sum %x_ {dims = array<i64: -1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<?xf32>
    %loss = nn.sum %y {dims = array<i64: 0>, keepdim = false} : (tensor<?xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// The dual of stretching is a sum.
// CHECK-LABEL: func.func @broadcast(
// CHECK: [[F0:%.+]] = nn.broadcast
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4x2xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4x2xf32>) -> tensor<?x4x2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.sum [[V0]] {dims = array<i64: 2>, keepdim = false} : (tensor<?x4x2xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.sum [[V1]] {dims = array<i64: 0>, keepdim = false} : (tensor<?x4xf32>) -> tensor<4xf32>
// CHECK-NEXT: dist.yield [[V2]] : tensor<4xf32>
func.func @broadcast(%x: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %z: !dist.tensor<tensor<?x4x2xf32>, #dist.device<0>> {nn.role = "input", nn.name = "z"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %z) : (!dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<?x4x2xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<4xf32>, %z_: tensor<?x4x2xf32>):
    %y = nn.broadcast %x_ like %z_ {dims = array<i64: 1>} : (tensor<4xf32>, tensor<?x4x2xf32>) -> tensor<?x4x2xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x4x2xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Shapes are restored.
// CHECK-LABEL: func.func @reshape(
// CHECK: [[F0:%.+]] = nn.reshape
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x8x3xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x8x3xf32>) -> tensor<?x8x3xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.reshape [[V0]] {shape = array<i64: -1, 4, 6>} : (tensor<?x8x3xf32>) -> tensor<?x4x6xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4x6xf32>
func.func @reshape(%x: !dist.tensor<tensor<?x4x6xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4x6xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x6xf32>):
    %y = nn.reshape %x_ {shape = array<i64: -1, 8, 3>} : (tensor<?x4x6xf32>) -> tensor<?x8x3xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x8x3xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Flatten.
// CHECK-LABEL: func.func @flatten(
// CHECK: [[F0:%.+]] = nn.flatten
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x24xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x24xf32>) -> tensor<?x24xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.reshape [[V0]] {shape = array<i64: -1, 4, 6>} : (tensor<?x24xf32>) -> tensor<?x4x6xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4x6xf32>
func.func @flatten(%x: !dist.tensor<tensor<?x4x6xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4x6xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x6xf32>):
    %y = nn.flatten %x_ {start_dim = 1 : i64, end_dim = -1 : i64} : (tensor<?x4x6xf32>) -> tensor<?x24xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x24xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// The inverse permutation.
// CHECK-LABEL: func.func @permute(
// CHECK: [[F0:%.+]] = nn.permute
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<6x?x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<6x?x4xf32>) -> tensor<6x?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.permute [[V0]] {dims = array<i64: 1, 2, 0>} : (tensor<6x?x4xf32>) -> tensor<?x4x6xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4x6xf32>
func.func @permute(%x: !dist.tensor<tensor<?x4x6xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4x6xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x6xf32>):
    %y = nn.permute %x_ {dims = array<i64: 2, 0, -2>} : (tensor<?x4x6xf32>) -> tensor<6x?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<6x?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Zeros except for the entry that was selected.
// CHECK-LABEL: func.func @select(
// CHECK: [[F0:%.+]] = nn.select
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x6xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x6xf32>) -> tensor<?x6xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.reshape [[V0]] {shape = array<i64: -1, 1, 6>} : (tensor<?x6xf32>) -> tensor<?x1x6xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.pad [[V1]] {begin = 3 : i64, dim = 1 : i64, size = 4 : i64} : (tensor<?x1x6xf32>) -> tensor<?x4x6xf32>
// CHECK-NEXT: dist.yield [[V2]] : tensor<?x4x6xf32>
func.func @select(%x: !dist.tensor<tensor<?x4x6xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4x6xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x6xf32>):
    %y = nn.select %x_ {dim = 1 : i64, index = -1 : i64} : (tensor<?x4x6xf32>) -> tensor<?x6xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x6xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Zeros around a slice.
// CHECK-LABEL: func.func @slice(
// CHECK: [[F0:%.+]] = nn.slice
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4x3xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4x3xf32>) -> tensor<?x4x3xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.pad [[V0]] {begin = 2 : i64, dim = 2 : i64, size = 6 : i64} : (tensor<?x4x3xf32>) -> tensor<?x4x6xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4x6xf32>
func.func @slice(%x: !dist.tensor<tensor<?x4x6xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4x6xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x6xf32>):
    %y = nn.slice %x_ {dim = -1 : i64, begin = 2 : i64, size = 3 : i64} : (tensor<?x4x6xf32>) -> tensor<?x4x3xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x4x3xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Of those zeros, only the part that isn't padding.
// CHECK-LABEL: func.func @pad(
// CHECK: [[F0:%.+]] = nn.pad
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x8xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x8xf32>) -> tensor<?x8xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.slice [[V0]] {begin = 2 : i64, dim = 1 : i64, size = 4 : i64} : (tensor<?x8xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<?x4xf32>
func.func @pad(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    %y = nn.pad %x_ {dim = 1 : i64, begin = 2 : i64, size = 8 : i64} : (tensor<?x4xf32>) -> tensor<?x8xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x8xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Each input's part of a concatenation; one that appears twice has two.
// CHECK-LABEL: func.func @concat(
// CHECK: [[F0:%.+]] = nn.concat
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x11xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x11xf32>) -> tensor<?x11xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.slice [[V0]] {begin = 0 : i64, dim = 1 : i64, size = 4 : i64} : (tensor<?x11xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.slice [[V0]] {begin = 4 : i64, dim = 1 : i64, size = 3 : i64} : (tensor<?x11xf32>) -> tensor<?x3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.slice [[V0]] {begin = 7 : i64, dim = 1 : i64, size = 4 : i64} : (tensor<?x11xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.add [[V1]], [[V3]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: dist.yield [[V4]], [[V2]] : tensor<?x4xf32>, tensor<?x3xf32>
func.func @concat(%a: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %b: !dist.tensor<tensor<?x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %b) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>, !dist.tensor<tensor<?x3xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<?x4xf32>, %b_: tensor<?x3xf32>):
    %y = nn.concat %a_, %b_, %a_ {dim = -1 : i64} : (tensor<?x4xf32>, tensor<?x3xf32>, tensor<?x4xf32>) -> tensor<?x11xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x11xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}
