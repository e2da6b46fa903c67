// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

// Without a loss: the output's gradient is given on the host, with the output's size, and goes to where the output is made. What is listed has
// a gradient, also an input; `v` isn't listed.
// CHECK-LABEL: func.func @net(
// CHECK-SAME: %[[DY:[a-z0-9]+]]: !dist.tensor<tensor<?x2xf32>, #dist.host> {nn.extents = ["batch", "2"], nn.name = "y.grad", nn.role = "target"}
// CHECK-SAME: nn.gradients = ["x", "w"]
// CHECK: %[[Y:.+]] = dist.apply on #dist.device<0>
// CHECK: %[[SEED:.+]] = dist.transfer %[[DY]]
// CHECK: %[[D:.+]]:2 = dist.apply on #dist.device<0>(%[[SEED]]
// CHECK: nn.linear_backward_data
// CHECK: nn.linear_backward_weight
// CHECK: return %[[Y]], {{.+}}, %[[D]]#1
func.func @net(%x: !dist.tensor<tensor<?x5xf32>, #dist.device<0>> {nn.role = "input", nn.name = "x"}, %w: !dist.tensor<tensor<2x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %v: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "v"}) -> !dist.tensor<tensor<?x2xf32>, #dist.device<0>> attributes {nn.outputs = ["y"], nn.differentiate = ["x", "w"]} {
  %0 = dist.apply on #dist.device<0>(%x, %w, %v) : (!dist.tensor<tensor<?x5xf32>, #dist.device<0>>, !dist.tensor<tensor<2x5xf32>, #dist.device<0>>, !dist.tensor<tensor<2xf32>, #dist.device<0>>) -> !dist.tensor<tensor<?x2xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<?x5xf32>, %b: tensor<2x5xf32>, %c: tensor<2xf32>):
    %y = nn.linear %a, %b bias(%c) : (tensor<?x5xf32>, tensor<2x5xf32>, tensor<2xf32>) -> tensor<?x2xf32>
    dist.yield %y : tensor<?x2xf32>
  }
  return %0 : !dist.tensor<tensor<?x2xf32>, #dist.device<0>>
}
