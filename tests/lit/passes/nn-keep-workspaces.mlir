// RUN: sheaf-opt %s --nn-keep-workspaces | FileCheck %s

// A layer whose backward pass needs more than its operands and results also returns a workspace.
// CHECK-LABEL: func.func @pool(
func.func @pool(%x: tensor<?x4x8x8xf32>) -> tensor<?x4x4x4xf32> {
  // CHECK: %[[Y:.*]], %{{.*}} = nn.max_pool_train %{{.*}} : (tensor<?x4x8x8xf32>) -> (tensor<?x4x4x4xf32>, tensor<1xui8>)
  %y = nn.max_pool %x {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, ceil_mode = false} : (tensor<?x4x8x8xf32>) -> tensor<?x4x4x4xf32>
  // CHECK: return %[[Y]]
  return %y : tensor<?x4x4x4xf32>
}

// CHECK-LABEL: func.func @gru(
func.func @gru(%x: tensor<7x?x3xf32>, %wi: tensor<12x3xf32>, %wh: tensor<12x4xf32>) -> tensor<1x?x4xf32> {
  // CHECK: %{{.*}}, %[[H:.*]], %{{.*}} = nn.gru_train %{{.*}} weights(%{{.*}}, %{{.*}}) {{.*}} -> (tensor<7x?x4xf32>, tensor<1x?x4xf32>, tensor<1xui8>)
  %y, %h = nn.gru %x weights(%wi, %wh) {hidden_size = 4 : i64, num_layers = 1 : i64, bidirectional = false, batch_first = false, bias = false} : (tensor<7x?x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>) -> (tensor<7x?x4xf32>, tensor<1x?x4xf32>)
  // CHECK: return %[[H]]
  return %h : tensor<1x?x4xf32>
}
