// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

dist.group @net {dim = 0 : i64, layer = "net"}

// A sum over replicas in the forward pass: each of them has a part of the sum's gradient, and all get the whole of it for what they
// summed. Summands and what crossed from part to part have gradients of their own; a count has none.
// CHECK-LABEL: func.func @sum(
// CHECK: %[[FIRST:.*]]:2 = dist.parallel_apply @net
// CHECK: %[[SUM:.*]] = dist.all_reduce %[[FIRST]]#1
// CHECK: %[[SECOND:.*]]:2 = dist.parallel_apply
// CHECK: dist.gather
// CHECK: %[[DY:.*]] = dist.scatter %{{.*}} like %[[SECOND]]#0
// CHECK: %[[DUAL:.*]]:2 = dist.parallel_apply @net(%[[DY]]{{.*}} -> (!dist.tensor<tensor<3xf32>, #dist.partial<@net>>, !dist.tensor<tensor<?x3xf32>, #dist.local<@net>>) {
// CHECK-NOT: nn.div
// CHECK: dist.yield
// CHECK: %[[DSUM:.*]] = dist.all_reduce %[[DUAL]]#0 {reason = "the dual of the all_reduce: all replicas use the sum that 'norm' takes, so a summand's gradient is the sum of those they have"} : <tensor<3xf32>, #dist.partial<@net>> -> <tensor<3xf32>, #dist.replicated<@net>>
// CHECK: %[[DW:.*]] = dist.parallel_apply @net(%[[DUAL]]#1, %[[DSUM]], {{.*}} -> !dist.tensor<tensor<3x4xf32>, #dist.partial<@net>> {
// CHECK-NEXT: ^bb0(%[[DCROSSED:[^:]*]]: tensor<?x3xf32>, %[[DSUMMAND:[^:]*]]: tensor<3xf32>
// CHECK-NEXT: %[[SPREAD:.*]] = nn.broadcast %[[DSUMMAND]]
// CHECK-NEXT: %[[DX:.*]] = nn.add %[[DCROSSED]], %[[SPREAD]]
// CHECK-NEXT: nn.linear_backward_weight %{{.*}}, %[[DX]]
// CHECK: dist.reduce %[[DW]]
func.func @sum(%x: !dist.tensor<tensor<?x4xf32>, #dist.host> {nn.role = "input", nn.name = "x"}, %w: !dist.tensor<tensor<3x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> attributes {nn.outputs = ["loss"]} {
  %0 = dist.scatter %x {reason = "chunks"} : <tensor<?x4xf32>, #dist.host> -> <tensor<?x4xf32>, #dist.split<@net, 0>>
  %1 = dist.replicate %w {reason = "a copy"} : <tensor<3x4xf32>, #dist.device<0>> -> <tensor<3x4xf32>, #dist.replicated<@net>>
  %2:2 = dist.parallel_apply @net(%0, %1) : (!dist.tensor<tensor<?x4xf32>, #dist.split<@net, 0>>, !dist.tensor<tensor<3x4xf32>, #dist.replicated<@net>>) -> (!dist.tensor<tensor<?x3xf32>, #dist.local<@net>>, !dist.tensor<tensor<3xf32>, #dist.partial<@net>>) {
  ^bb0(%a: tensor<?x4xf32>, %b: tensor<3x4xf32>):
    %8 = nn.linear %a, %b : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
    %9 = nn.sum %8 {dims = array<i64: 0>, keepdim = false} : (tensor<?x3xf32>) -> tensor<3xf32>
    dist.yield %8, %9 : tensor<?x3xf32>, tensor<3xf32>
  }
  %3 = dist.all_reduce %2#1 {reason = "a sum"} : <tensor<3xf32>, #dist.partial<@net>> -> <tensor<3xf32>, #dist.replicated<@net>> loc("norm")
  %4 = dist.parallel_apply @net(%3, %2#0) : (!dist.tensor<tensor<3xf32>, #dist.replicated<@net>>, !dist.tensor<tensor<?x3xf32>, #dist.local<@net>>) -> !dist.tensor<tensor<?x3xf32>, #dist.split<@net, 0>> {
  ^bb0(%s: tensor<3xf32>, %y: tensor<?x3xf32>):
    %8 = nn.inverse_count %y {dims = array<i64: 0>, whole} : (tensor<?x3xf32>) -> tensor<f32>
    %9 = nn.mul %s, %8 : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %10 = nn.sub %y, %9 : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
    dist.yield %10 : tensor<?x3xf32>
  }
  %5 = dist.gather %4 {reason = "together"} : <tensor<?x3xf32>, #dist.split<@net, 0>> -> <tensor<?x3xf32>, #dist.device<0>>
  %6 = dist.apply on #dist.device<0>(%5) : (!dist.tensor<tensor<?x3xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a: tensor<?x3xf32>):
    %8 = nn.sum %a {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x3xf32>) -> tensor<f32>
    dist.yield %8 : tensor<f32>
  }
  return %6 : !dist.tensor<tensor<f32>, #dist.device<0>>
}
