// RUN: sheaf-opt %s --nn-infer-shapes --nn-place --dist-partition --split-input-file | FileCheck %s

// A region is cut where its replicas add up what they have: the summands leave the first part, and the second gets their sum. What both
// parts use crosses the cut; the region's inputs and parameters go to the parts that use them.
// CHECK-LABEL: func.func @cut(
// CHECK: %[[CHUNK:.*]] = dist.scatter
// CHECK: %[[W:.*]] = dist.replicate %arg1
// CHECK: %[[FIRST:.*]]:2 = dist.parallel_apply @net(%[[CHUNK]], %[[W]]) : {{.*}} -> (!dist.tensor<tensor<?x4xf32>, #dist.local<@net>>, !dist.tensor<tensor<4xf32>, #dist.partial<@net>>) {
// CHECK: %[[Y:.*]] = nn.linear
// CHECK-NEXT: %[[OWN:.*]] = nn.sum %[[Y]]
// CHECK-NEXT: dist.yield %[[Y]], %[[OWN]]
// CHECK: %[[SUM:.*]] = dist.all_reduce %[[FIRST]]#1 {reason = "'norm' needs a sum over the whole batch, of which each replica of 'net' has a chunk"} : <tensor<4xf32>, #dist.partial<@net>> -> <tensor<4xf32>, #dist.replicated<@net>>
// CHECK: %[[G:.*]] = dist.replicate %arg2
// CHECK: %[[SECOND:.*]] = dist.parallel_apply @net(%[[SUM]], %[[G]], %[[FIRST]]#0) : {{.*}} -> !dist.tensor<tensor<?x4xf32>, #dist.split<@net, 0>> {
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<4xf32>, %[[GAIN:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<?x4xf32>):
// CHECK-NEXT: %[[M:.*]] = nn.mul %[[S]], %[[GAIN]]
// CHECK-NEXT: nn.sub %[[X]], %[[M]]
// CHECK: dist.gather %[[SECOND]]
// CHECK-NOT: nn.sum_over_replicas
func.func @cut(%x: tensor<?x5xf32> {nn.role = "input"}, %w: tensor<4x5xf32> {nn.role = "parameter"}, %g: tensor<4xf32> {nn.role = "parameter"}) -> tensor<?x4xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<?x4xf32> {
  ^bb0(%chunk: tensor<?x5xf32>):
    %1 = nn.linear %chunk, %w : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<?x4xf32>
    %2 = nn.sum %1 {dims = array<i64: 0>, keepdim = false} : (tensor<?x4xf32>) -> tensor<4xf32>
    %3 = nn.sum_over_replicas %2 : tensor<4xf32> loc("norm")
    %4 = nn.mul %3, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %5 = nn.sub %1, %4 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    nn.yield %5 : tensor<?x4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

// Sums that don't wait for each other share a cut, whatever the order of their ops. An op that no sum needs is in the part of its first
// user (the relu, after the cut), or, if it only leaves the region, where it can be computed first (the tanh, before it).
// CHECK-LABEL: func.func @side_by_side(
// CHECK: %[[FIRST:.*]]:4 = dist.parallel_apply @net
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.tanh
// CHECK-NEXT: %[[A:.*]] = nn.sigmoid
// CHECK-NEXT: nn.sum %[[A]]
// CHECK-NEXT: nn.silu
// CHECK-NEXT: nn.sum
// CHECK-NEXT: dist.yield
// CHECK: %[[ONE:.*]] = dist.all_reduce %[[FIRST]]#2
// CHECK-NEXT: %[[TWO:.*]] = dist.all_reduce %[[FIRST]]#3
// CHECK-NEXT: dist.parallel_apply @net
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.relu
// CHECK-NOT: dist.all_reduce
// CHECK: return
func.func @side_by_side(%x: tensor<?x5xf32> {nn.role = "input"}) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %0:2 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  ^bb0(%chunk: tensor<?x5xf32>):
    %1 = nn.tanh %chunk : (tensor<?x5xf32>) -> tensor<?x5xf32>
    %2 = nn.relu %chunk : (tensor<?x5xf32>) -> tensor<?x5xf32>
    %3 = nn.sigmoid %chunk : (tensor<?x5xf32>) -> tensor<?x5xf32>
    %4 = nn.sum %3 {dims = array<i64: 0>, keepdim = false} : (tensor<?x5xf32>) -> tensor<5xf32>
    %5 = nn.sum_over_replicas %4 : tensor<5xf32>
    %6 = nn.add %2, %5 : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
    %7 = nn.silu %chunk : (tensor<?x5xf32>) -> tensor<?x5xf32>
    %8 = nn.sum %7 {dims = array<i64: 0>, keepdim = false} : (tensor<?x5xf32>) -> tensor<5xf32>
    %9 = nn.sum_over_replicas %8 : tensor<5xf32>
    %10 = nn.add %6, %9 : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
    %11 = nn.add %10, %3 : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
    nn.yield %1, %11 : tensor<?x5xf32>, tensor<?x5xf32>
  }
  return %0#0, %0#1 : tensor<?x5xf32>, tensor<?x5xf32>
}
