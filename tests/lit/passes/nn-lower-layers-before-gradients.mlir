// RUN: sheaf-opt %s --nn-lower-layers=before-gradients | FileCheck %s

// A long attention stays whole until its dual is built; keys that heads share are repeated for each.
// CHECK-LABEL: func.func @long(
// CHECK: %[[K:.*]] = nn.concat
// CHECK: nn.attention %arg0, %[[K]], %[[K]] {enable_gqa = false, is_causal = true}
func.func @long(%q: tensor<?x2x1024x8xf32>, %k: tensor<?x1x5x8xf32>) -> tensor<?x2x1024x8xf32> {
  %0 = nn.attention %q, %k, %k {enable_gqa = true, is_causal = true} : (tensor<?x2x1024x8xf32>, tensor<?x1x5x8xf32>, tensor<?x1x5x8xf32>) -> tensor<?x2x1024x8xf32>
  return %0 : tensor<?x2x1024x8xf32>
}

// A short one is lowered: its weights are kept for the backward pass.
// CHECK-LABEL: func.func @short(
// CHECK: nn.softmax
// CHECK-NOT: nn.attention
func.func @short(%q: tensor<?x64x8xf32>) -> tensor<?x64x8xf32> {
  %0 = nn.attention %q, %q, %q {enable_gqa = false, is_causal = false} : (tensor<?x64x8xf32>, tensor<?x64x8xf32>, tensor<?x64x8xf32>) -> tensor<?x64x8xf32>
  return %0 : tensor<?x64x8xf32>
}
