// RUN: sheaf-opt %s --dist-collect-updates | FileCheck %s

// An assigned value becomes a result of the body and of the program, named in nn.updates; the loss of the same body
// stays the first result.
// CHECK-LABEL: func.func @same_body(
// CHECK-SAME: attributes {nn.updates = ["count"]}
// CHECK: %[[ALL:.+]]:2 = dist.apply on #dist.device<0>(%arg0, %arg1)
// CHECK-NOT: nn.assign
// CHECK: %[[LOSS:.+]] = nn.sum
// CHECK: %[[NEXT:.+]] = nn.increment
// CHECK: dist.yield %[[LOSS]], %[[NEXT]]
// CHECK: return %[[ALL]]#0, %[[ALL]]#1
func.func @same_body(%x: !dist.tensor<tensor<?xf32>, #dist.device<0>> {nn.role = "input", nn.name = "x"}, %n: !dist.tensor<tensor<i64>, #dist.device<0>> {nn.role = "buffer", nn.name = "count"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %0 = dist.apply on #dist.device<0>(%x, %n) : (!dist.tensor<tensor<?xf32>, #dist.device<0>>, !dist.tensor<tensor<i64>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a: tensor<?xf32>, %b: tensor<i64>):
    %loss = nn.sum %a {dims = array<i64: 0>, keepdim = false} : (tensor<?xf32>) -> tensor<f32>
    %next = nn.increment %b : (tensor<i64>) -> tensor<i64>
    nn.assign %b, %next : tensor<i64>, tensor<i64>
    dist.yield %loss : tensor<f32>
  }
  return %0 : !dist.tensor<tensor<f32>, #dist.device<0>>
}
