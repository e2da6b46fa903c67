// RUN: sheaf-opt %s --nn-inline-regions | FileCheck %s

// A region becomes its body, and ops have no device any more.
// CHECK-LABEL: func.func @one
// CHECK-SAME: (%[[X:.*]]: tensor<?x5xf32>, %[[W:.*]]: tensor<2x5xf32>)
// CHECK-NOT: data_parallel
// CHECK-NOT: nn.device
// CHECK: %[[Y:.*]] = nn.linear %[[X]], %[[W]] :
// CHECK: %[[Z:.*]] = nn.relu %[[Y]] :
// CHECK: return %[[Z]]
func.func @one(%x: tensor<?x5xf32>, %w: tensor<2x5xf32>) -> tensor<?x2xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<?x2xf32> {
  ^bb0(%a: tensor<?x5xf32>):
    %y = nn.linear %a, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
    nn.yield %y : tensor<?x2xf32>
  }
  %1 = nn.relu %0 {nn.device = 1 : i64} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  return %1 : tensor<?x2xf32>
}

// A region may return its input.
// CHECK-LABEL: func.func @passed
// CHECK-SAME: (%[[X:.*]]: tensor<?x5xf32>)
// CHECK-NEXT: return %[[X]]
func.func @passed(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32> {
  ^bb0(%a: tensor<?x5xf32>):
    nn.yield %a : tensor<?x5xf32>
  }
  return %0 : tensor<?x5xf32>
}
