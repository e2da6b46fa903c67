// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

// Only the input of checkpoint "a" is kept; its ops appear once more, in their order, where the backward pass first
// needs them: after the dual of what follows. The tanh, whose result the dual needs, isn't fused either time.
// CHECK-LABEL: func.func @checkpoint(
// CHECK: %[[FORWARD:.+]]:2 = dist.apply on #dist.device<0>(%arg0, %arg1)
// CHECK: nn.linear
// CHECK: nn.tanh %{{.+}} {nn.apart}
// CHECK: %[[Z:.+]] = nn.sigmoid
// CHECK: dist.yield %{{.+}}, %[[Z]]
// CHECK: dist.apply on #dist.device<0>
// CHECK-NEXT: nn.fill 1.0
// CHECK: dist.apply on #dist.device<0>({{.+}}, %arg0, %arg1
// CHECK: nn.activation_backward
// CHECK: %[[AGAIN:.+]] = nn.linear
// CHECK-SAME: nn.reason = "computed once more for the backward pass: 'a' is a checkpoint, which keeps no activations"
// CHECK: %[[T:.+]] = nn.tanh %[[AGAIN]] {nn.apart
// CHECK: nn.activation_backward
// CHECK: nn.linear_backward_weight
func.func @checkpoint(%x: !dist.tensor<tensor<4x3xf32>, #dist.device<0>> {nn.role = "input", nn.name = "x"}, %w: !dist.tensor<tensor<3x3xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %0 = dist.apply on #dist.device<0>(%x, %w) : (!dist.tensor<tensor<4x3xf32>, #dist.device<0>>, !dist.tensor<tensor<3x3xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<3x3xf32>):
    %1 = nn.linear %a, %b : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32> loc(#in)
    %2 = nn.tanh %1 : (tensor<4x3xf32>) -> tensor<4x3xf32> loc(#in)
    %3 = nn.scale %2 {value = 2.0 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32> loc(#in)
    %4 = nn.sigmoid %3 : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %5 = nn.sum %4 {dims = array<i64: 0, 1>, keepdim = false} : (tensor<4x3xf32>) -> tensor<f32>
    dist.yield %5 : tensor<f32>
  }
  return %0 : !dist.tensor<tensor<f32>, #dist.device<0>>
}
#in = loc(fused<["a"]>["a.0"])
