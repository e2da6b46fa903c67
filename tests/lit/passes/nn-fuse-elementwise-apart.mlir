// RUN: sheaf-opt %s --nn-fuse-elementwise=join=false | FileCheck %s

// With join=false each op keeps a group of its own, so that every layer's value can be inspected.
// CHECK-LABEL: func.func @chain
// CHECK: %[[A:.*]] = nn.fused(%{{.*}})
// CHECK: nn.relu
// CHECK: %[[B:.*]] = nn.fused(%[[A]])
// CHECK: nn.tanh
// CHECK: return %[[B]]
func.func @chain(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.relu %x : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %1 = nn.tanh %0 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %1 : tensor<?x5xf32>
}
