// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

dist.group @net {dim = 0 : i64, layer = "net"}

// The step of DataParallel: gathered values are scattered in the same chunks, scattered ones gathered, replicated ones
// summed over the replicas. Each replica keeps the value that its backward pass needs: %Z, for the relu. The input has
// no gradient, so the first layer gives only its weight's.
// CHECK-LABEL: func.func @data_parallel(
// CHECK-SAME: attributes {nn.gradients = ["v", "w"]}
// CHECK: %[[X:.+]] = dist.transfer %arg0
// CHECK: %[[CHUNK:.+]] = dist.scatter
// CHECK: %[[COPY:.+]] = dist.replicate %arg2
// CHECK: %[[NET:.+]]:2 = dist.parallel_apply @net(%[[CHUNK]], %[[COPY]])
// CHECK-SAME: -> (!dist.tensor<tensor<?x2xf32>, #dist.split<@net, 0>>, !dist.tensor<tensor<?x2xf32>, #dist.local<@net>>)
// CHECK: %[[Z:.+]] = nn.relu
// CHECK: %[[S:.+]] = nn.scale %[[Z]]
// CHECK: dist.yield %[[S]], %[[Z]]
// CHECK: %[[Y:.+]] = dist.gather %[[NET]]#0
// CHECK: %[[LOSS:.+]] = dist.apply on #dist.device<0>(%[[Y]])
// CHECK: %[[ONE:.+]] = dist.apply on #dist.device<0>()
// CHECK-NEXT: nn.fill 1.0
// CHECK: %[[DY:.+]] = dist.apply on #dist.device<0>(%[[ONE]], %[[Y]])
// CHECK: %[[DCHUNK:.+]] = dist.scatter %[[DY]] like %[[NET]]#0
// CHECK: %[[DNET:.+]]:2 = dist.parallel_apply @net(%[[DCHUNK]], %[[NET]]#1, %[[COPY]], %[[CHUNK]])
// CHECK-SAME: -> (!dist.tensor<tensor<?x5xf32>, #dist.split<@net, 0>>, !dist.tensor<tensor<2x5xf32>, #dist.partial<@net>>)
// CHECK: nn.scale
// CHECK: nn.activation_backward
// CHECK: nn.linear_backward_data
// CHECK: nn.linear_backward_weight
// CHECK: %[[DW:.+]] = dist.reduce %[[DNET]]#1
// CHECK-SAME: <tensor<2x5xf32>, #dist.partial<@net>> -> <tensor<2x5xf32>, #dist.device<0>>
// CHECK: %[[DX:.+]] = dist.gather %[[DNET]]#0
// CHECK: %[[DV:.+]] = dist.apply on #dist.device<1>(%[[DX]], %[[X]])
// CHECK-NOT: nn.linear_backward_data
// CHECK: return %[[LOSS]], %[[DV]], %[[DW]]
func.func @data_parallel(%x: !dist.tensor<tensor<?x5xf32>, #dist.host> {nn.role = "input", nn.name = "x"}, %v: !dist.tensor<tensor<5x5xf32>, #dist.device<1>> {nn.role = "parameter", nn.name = "v"}, %w: !dist.tensor<tensor<2x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %0 = dist.transfer %x {reason = "in"} : <tensor<?x5xf32>, #dist.host> -> <tensor<?x5xf32>, #dist.device<1>>
  %1 = dist.apply on #dist.device<1>(%0, %v) : (!dist.tensor<tensor<?x5xf32>, #dist.device<1>>, !dist.tensor<tensor<5x5xf32>, #dist.device<1>>) -> !dist.tensor<tensor<?x5xf32>, #dist.device<1>> {
  ^bb0(%a: tensor<?x5xf32>, %b: tensor<5x5xf32>):
    %y = nn.linear %a, %b : (tensor<?x5xf32>, tensor<5x5xf32>) -> tensor<?x5xf32>
    dist.yield %y : tensor<?x5xf32>
  }
  %2 = dist.scatter %1 {reason = "split"} : <tensor<?x5xf32>, #dist.device<1>> -> <tensor<?x5xf32>, #dist.split<@net, 0>>
  %3 = dist.replicate %w {reason = "copy"} : <tensor<2x5xf32>, #dist.device<0>> -> <tensor<2x5xf32>, #dist.replicated<@net>>
  %4 = dist.parallel_apply @net(%2, %3) : (!dist.tensor<tensor<?x5xf32>, #dist.split<@net, 0>>, !dist.tensor<tensor<2x5xf32>, #dist.replicated<@net>>) -> !dist.tensor<tensor<?x2xf32>, #dist.split<@net, 0>> {
  ^bb0(%a: tensor<?x5xf32>, %b: tensor<2x5xf32>):
    %y = nn.linear %a, %b : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
    %z = nn.relu %y : (tensor<?x2xf32>) -> tensor<?x2xf32>
    %s = nn.scale %z {value = 2.0 : f64} : (tensor<?x2xf32>) -> tensor<?x2xf32>
    dist.yield %s : tensor<?x2xf32>
  }
  %5 = dist.gather %4 {reason = "together"} : <tensor<?x2xf32>, #dist.split<@net, 0>> -> <tensor<?x2xf32>, #dist.device<0>>
  %6 = dist.apply on #dist.device<0>(%5) : (!dist.tensor<tensor<?x2xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a: tensor<?x2xf32>):
    %l = nn.sum %a {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x2xf32>) -> tensor<f32>
    dist.yield %l : tensor<f32>
  }
  return %6 : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// A value with two users has the sum of both gradients; a transfer's gradient goes back.
// CHECK-LABEL: func.func @two_ways(
// CHECK: %[[A:.+]] = dist.apply on #dist.device<0>(%arg0)
// CHECK: %[[THERE:.+]] = dist.transfer %[[A]]
// CHECK: dist.apply on #dist.device<1>(%[[THERE]])
// CHECK: %[[BACK:.+]] = dist.transfer %{{.+}} {reason = "the dual of the transfer: the gradient goes back where the value came from"} : <tensor<4xf32>, #dist.device<1>> -> <tensor<4xf32>, #dist.device<0>>
// CHECK: %[[SUM:.+]] = dist.apply on #dist.device<0>(%{{.+}}, %[[BACK]])
// CHECK-NEXT: ^bb0(%[[L:.+]]: tensor<4xf32>, %[[R:.+]]: tensor<4xf32>):
// CHECK-NEXT: nn.add %[[L]], %[[R]]
// CHECK: dist.apply on #dist.device<0>(%[[SUM]])
func.func @two_ways(%p: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "p"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %0 = dist.apply on #dist.device<0>(%p) : (!dist.tensor<tensor<4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<4xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<4xf32>):
    %y = nn.scale %a {value = 2.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  }
  %1 = dist.transfer %0 {reason = "there"} : <tensor<4xf32>, #dist.device<0>> -> <tensor<4xf32>, #dist.device<1>>
  %2 = dist.apply on #dist.device<1>(%1) : (!dist.tensor<tensor<4xf32>, #dist.device<1>>) -> !dist.tensor<tensor<4xf32>, #dist.device<1>> {
  ^bb0(%a: tensor<4xf32>):
    %y = nn.scale %a {value = 3.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  }
  %3 = dist.transfer %2 {reason = "and back"} : <tensor<4xf32>, #dist.device<1>> -> <tensor<4xf32>, #dist.device<0>>
  %4 = dist.apply on #dist.device<0>(%0, %3) : (!dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %y = nn.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %l = nn.sum %y {dims = array<i64: 0>, keepdim = false} : (tensor<4xf32>) -> tensor<f32>
    dist.yield %l : tensor<f32>
  }
  return %4 : !dist.tensor<tensor<f32>, #dist.device<0>>
}
