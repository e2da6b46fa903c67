// RUN: sheaf-opt %s --dist-take-parameters | FileCheck %s

// A parameter belongs to the caller, on the host, and is moved to where it lives; a constant stays in the plan.
// Gradients and new values of buffers become outputs.
// CHECK-LABEL: func.func @net(
// CHECK-SAME: %[[X:.+]]: !dist.tensor<tensor<4xf32>, #dist.host> {nn.name = "x", nn.role = "input"}
// CHECK-SAME: %[[W:.+]]: !dist.tensor<tensor<4xf32>, #dist.host> {nn.name = "w", nn.role = "input"}
// CHECK-SAME: {nn.constant, nn.name = "table", nn.role = "buffer"}
// CHECK-SAME: nn.outputs = ["y", "count", "w.grad"]
// CHECK-NOT: nn.gradients
// CHECK: %[[MOVED:.+]] = dist.transfer %[[W]] {reason = "'w' is the caller's, and lives on device 0"}
// CHECK: dist.apply on #dist.device<0>(%[[MOVED]])
func.func @net(%x: !dist.tensor<tensor<4xf32>, #dist.host> {nn.role = "input", nn.name = "x"}, %w: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %t: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.role = "buffer", nn.name = "table", nn.constant}) -> (!dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>) attributes {nn.outputs = ["y"], nn.updates = ["count"], nn.gradients = ["w"]} {
  %0 = dist.apply on #dist.device<0>(%w) : (!dist.tensor<tensor<4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<4xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<4xf32>):
    %y = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  }
  return %0, %0, %0 : !dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>
}
