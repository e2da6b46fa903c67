// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

// Duals of matrix products and embedding.

// dA = dY · Bᵀ, dB = Aᵀ · dY: transposed by the product itself.
// CHECK-LABEL: func.func @matmul(
// CHECK: [[F0:%.+]] = nn.matmul
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4x3xf32>, [[B:%.+]]: tensor<?x5x3xf32>, [[A:%.+]]: tensor<?x4x5xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4x3xf32>) -> tensor<?x4x3xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.matmul [[V0]], [[B]] {transpose_b} : (tensor<?x4x3xf32>, tensor<?x5x3xf32>) -> tensor<?x4x5xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.matmul [[A]], [[V0]] {transpose_a} : (tensor<?x4x5xf32>, tensor<?x4x3xf32>) -> tensor<?x5x3xf32>
// CHECK-NEXT: dist.yield [[V1]], [[V2]] : tensor<?x4x5xf32>, tensor<?x5x3xf32>
func.func @matmul(%a: !dist.tensor<tensor<?x4x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %b: !dist.tensor<tensor<?x5x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %b) : (!dist.tensor<tensor<?x4x5xf32>, #dist.device<0>>, !dist.tensor<tensor<?x5x3xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<?x4x5xf32>, %b_: tensor<?x5x3xf32>):
    %y = nn.matmul %a_, %b_ : (tensor<?x4x5xf32>, tensor<?x5x3xf32>) -> tensor<?x4x3xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x4x3xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A factor that is transposed already.
// CHECK-LABEL: func.func @matmul_transposed(
// CHECK: [[F0:%.+]] = nn.matmul
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4x3xf32>, [[B:%.+]]: tensor<?x3x5xf32>, [[A:%.+]]: tensor<?x5x4xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4x3xf32>) -> tensor<?x4x3xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.matmul [[B]], [[V0]] {transpose_a, transpose_b} : (tensor<?x3x5xf32>, tensor<?x4x3xf32>) -> tensor<?x5x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.matmul [[V0]], [[A]] {transpose_a, transpose_b} : (tensor<?x4x3xf32>, tensor<?x5x4xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: dist.yield [[V1]], [[V2]] : tensor<?x5x4xf32>, tensor<?x3x5xf32>
func.func @matmul_transposed(%a: !dist.tensor<tensor<?x5x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %b: !dist.tensor<tensor<?x3x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %b) : (!dist.tensor<tensor<?x5x4xf32>, #dist.device<0>>, !dist.tensor<tensor<?x3x5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<?x5x4xf32>, %b_: tensor<?x3x5xf32>):
    %y = nn.matmul %a_, %b_ {transpose_a, transpose_b} : (tensor<?x5x4xf32>, tensor<?x3x5xf32>) -> tensor<?x4x3xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x4x3xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// One matrix for the whole batch: the sum over the batch is part of the product.
// CHECK-LABEL: func.func @matmul_shared(
// CHECK: [[F0:%.+]] = nn.matmul
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4x3xf32>, [[B:%.+]]: tensor<5x3xf32>, [[A:%.+]]: tensor<?x4x5xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4x3xf32>) -> tensor<?x4x3xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.matmul [[V0]], [[B]] {transpose_b} : (tensor<?x4x3xf32>, tensor<5x3xf32>) -> tensor<?x4x5xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.reshape [[A]] {shape = array<i64: -1, 5>} : (tensor<?x4x5xf32>) -> tensor<?x5xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.reshape [[V0]] {shape = array<i64: -1, 3>} : (tensor<?x4x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.matmul [[V2]], [[V3]] {transpose_a} : (tensor<?x5xf32>, tensor<?x3xf32>) -> tensor<5x3xf32>
// CHECK-NEXT: dist.yield [[V1]], [[V4]] : tensor<?x4x5xf32>, tensor<5x3xf32>
func.func @matmul_shared(%a: !dist.tensor<tensor<?x4x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %b: !dist.tensor<tensor<5x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %b) : (!dist.tensor<tensor<?x4x5xf32>, #dist.device<0>>, !dist.tensor<tensor<5x3xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<?x4x5xf32>, %b_: tensor<5x3xf32>):
    %y = nn.matmul %a_, %b_ : (tensor<?x4x5xf32>, tensor<5x3xf32>) -> tensor<?x4x3xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x4x3xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A batch dimension that was stretched is summed over.
// CHECK-LABEL: func.func @matmul_stretched(
// CHECK: [[F0:%.+]] = nn.matmul
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x4x6xf32>, [[B:%.+]]: tensor<?x5x6xf32>, [[A:%.+]]: tensor<1x4x5xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.matmul [[V0]], [[B]] {transpose_b} : (tensor<?x4x6xf32>, tensor<?x5x6xf32>) -> tensor<?x4x5xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.sum [[V1]] {dims = array<i64: 0>, keepdim = true} : (tensor<?x4x5xf32>) -> tensor<1x4x5xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.matmul [[A]], [[V0]] {transpose_a} : (tensor<1x4x5xf32>, tensor<?x4x6xf32>) -> tensor<?x5x6xf32>
// CHECK-NEXT: dist.yield [[V2]], [[V3]] : tensor<1x4x5xf32>, tensor<?x5x6xf32>
func.func @matmul_stretched(%a: !dist.tensor<tensor<1x4x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %b: !dist.tensor<tensor<?x5x6xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %b) : (!dist.tensor<tensor<1x4x5xf32>, #dist.device<0>>, !dist.tensor<tensor<?x5x6xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<1x4x5xf32>, %b_: tensor<?x5x6xf32>):
    %y = nn.matmul %a_, %b_ : (tensor<1x4x5xf32>, tensor<?x5x6xf32>) -> tensor<?x4x6xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x4x6xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A vector is a matrix of one row or column.
// CHECK-LABEL: func.func @matmul_vectors(
// CHECK: [[F0:%.+]] = nn.matmul
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1, %arg0)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x3xf32>, [[B:%.+]]: tensor<?x5x3xf32>, [[A:%.+]]: tensor<5xf32>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.reshape [[V0]] {shape = array<i64: -1, 1, 3>} : (tensor<?x3xf32>) -> tensor<?x1x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.reshape [[A]] {shape = array<i64: 1, 5>} : (tensor<5xf32>) -> tensor<1x5xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.matmul [[V1]], [[B]] {transpose_b} : (tensor<?x1x3xf32>, tensor<?x5x3xf32>) -> tensor<?x1x5xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.sum [[V3]] {dims = array<i64: 0>, keepdim = false} : (tensor<?x1x5xf32>) -> tensor<1x5xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.reshape [[V4]] {shape = array<i64: 5>} : (tensor<1x5xf32>) -> tensor<5xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.reshape [[A]] {shape = array<i64: 1, 5>} : (tensor<5xf32>) -> tensor<1x5xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.matmul [[V6]], [[V1]] {transpose_a} : (tensor<1x5xf32>, tensor<?x1x3xf32>) -> tensor<?x5x3xf32>
// CHECK-NEXT: dist.yield [[V5]], [[V7]] : tensor<5xf32>, tensor<?x5x3xf32>
func.func @matmul_vectors(%a: !dist.tensor<tensor<5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "a"}, %b: !dist.tensor<tensor<?x5x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%a, %b) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>, !dist.tensor<tensor<?x5x3xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a_: tensor<5xf32>, %b_: tensor<?x5x3xf32>):
    %y = nn.matmul %a_, %b_ : (tensor<5xf32>, tensor<?x5x3xf32>) -> tensor<?x3xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x3xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// Rows are added up where they came from; the padding row stays 0.
// CHECK-LABEL: func.func @embedding(
// CHECK: [[F0:%.+]] = nn.embedding
// CHECK: dist.yield %{{.*}}, [[F0]] :
// CHECK: dist.apply on #dist.device<0>(%{{[0-9]+}}, %{{[0-9]+}}#1, %arg1)
// CHECK-NEXT: ^bb0([[G:%.+]]: tensor<f32>, [[SAVED1:%.+]]: tensor<?x2x5xf32>, [[I:%.+]]: tensor<?x2xi64>):
// CHECK-NEXT: [[V0:%.+]] = nn.broadcast [[G]] like [[SAVED1]] {dims = array<i64>} : (tensor<f32>, tensor<?x2x5xf32>) -> tensor<?x2x5xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.embedding_backward [[I]], [[V0]] {num_embeddings = 4 : i64, padding_idx = 1 : i64} : (tensor<?x2xi64>, tensor<?x2x5xf32>) -> tensor<4x5xf32>
// CHECK-NEXT: dist.yield [[V1]] : tensor<4x5xf32>
func.func @embedding(%w: !dist.tensor<tensor<4x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %i: !dist.tensor<tensor<?x2xi64>, #dist.device<0>> {nn.role = "input", nn.name = "i"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%w, %i) : (!dist.tensor<tensor<4x5xf32>, #dist.device<0>>, !dist.tensor<tensor<?x2xi64>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%w_: tensor<4x5xf32>, %i_: tensor<?x2xi64>):
    %y = nn.embedding %i_, %w_ {padding_idx = 1 : i64} : (tensor<?x2xi64>, tensor<4x5xf32>) -> tensor<?x2x5xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x2x5xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}
