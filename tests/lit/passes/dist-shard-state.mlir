// RUN: sheaf-opt %s --dist-shard-state | FileCheck %s
// RUN: sheaf-opt %s --dist-shard-state --dist-optimize | FileCheck %s --check-prefix=UPDATES
// RUN: sheaf-opt %s --dist-shard-parameters | FileCheck %s --check-prefix=FULLY
// RUN: sheaf-opt %s --dist-shard-parameters --dist-optimize | FileCheck %s --check-prefix=FULLY-UPDATES

dist.group @net {dim = 0 : i64, layer = "net"}

// A parameter that one region's replicas use lives on each of them, and each has a share of its gradient's sum. A
// buffer stays, and so does a parameter of a layer outside of regions.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[^:]*]]: !dist.tensor<tensor<2x5xf32>, #dist.replicated<@net>> {nn.name = "w", nn.role = "parameter"}
// CHECK-SAME: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.name = "mean", nn.role = "buffer"}
// CHECK-SAME: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.name = "outside", nn.role = "parameter"}
// CHECK-NOT: dist.replicate %[[W]]
// CHECK: %[[PARTS:.+]] = dist.parallel_apply @net(%{{.*}}, %[[W]], %{{.*}})
// CHECK: %[[SUM:.+]] = dist.reduce_scatter %[[PARTS]]
// CHECK-SAME: {reason = "each replica updates a share of the parameter: it needs the sum of the gradients of that share only"}
// CHECK-SAME: <tensor<2x5xf32>, #dist.partial<@net>> -> <tensor<2x5xf32>, #dist.sharded<@net>>
// CHECK: return %{{.*}}, %[[SUM]]

// State is in shares, and so is the update; after it all replicas get the whole new value. The norm of the gradients
// covers all elements.
// UPDATES-LABEL: func.func @step(
// UPDATES-SAME: %[[W:[^:]*]]: !dist.tensor<tensor<2x5xf32>, #dist.replicated<@net>> {nn.name = "w", nn.role = "parameter"}
// UPDATES-SAME: !dist.tensor<tensor<2x5xf32>, #dist.sharded<@net>> {nn.name = "w.momentum_buffer", nn.role = "state"}
// UPDATES-SAME: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.name = "outside.momentum_buffer", nn.role = "state"}
// UPDATES: dist.all_gather %{{.*}} {reason = "clip_grad_norm adds up the squares of all elements in one order"}
// UPDATES: nn.clip_coefficient
// UPDATES: %[[SHARE:.+]] = dist.shard %[[W]] {reason = "each replica updates its share of the parameter"} : <tensor<2x5xf32>, #dist.replicated<@net>> -> <tensor<2x5xf32>, #dist.sharded<@net>>
// UPDATES: dist.replicate %{{.*}} {reason = "the optimiser's setting 'lr' is needed where the parameters are"} : <tensor<f32>, #dist.host> -> <tensor<f32>, #dist.replicated<@net>>
// UPDATES: %[[NEW:.+]]:2 = dist.parallel_apply @net(%[[SHARE]], {{.*}} -> (!dist.tensor<tensor<2x5xf32>, #dist.sharded<@net>>, !dist.tensor<tensor<2x5xf32>, #dist.sharded<@net>>)
// UPDATES: dist.all_gather %[[NEW]]#0 {reason = "each replica keeps the parameter: it needs the shares that others updated"}
// UPDATES: dist.apply on #dist.device<0>
// UPDATES: nn.sgd_momentum

// Each op that uses a parameter in shares gathers it for itself.
// FULLY-LABEL: func.func @step(
// FULLY-SAME: %[[W:[^:]*]]: !dist.tensor<tensor<2x5xf32>, #dist.sharded<@net>> {nn.name = "w", nn.role = "parameter"}
// FULLY: %[[WHOLE:.+]] = dist.all_gather %[[W]] {reason = "each replica keeps a share of the parameter: the forward pass needs all of it"} : <tensor<2x5xf32>, #dist.sharded<@net>> -> <tensor<2x5xf32>, #dist.replicated<@net>>
// FULLY: dist.parallel_apply @net(%{{.*}}, %[[WHOLE]], %{{.*}})
// FULLY: %[[AGAIN:.+]] = dist.all_gather %[[W]]
// FULLY: dist.parallel_apply @net(%[[AGAIN]])
// FULLY: dist.reduce_scatter

// FULLY-UPDATES-LABEL: func.func @step(
// FULLY-UPDATES-SAME: !dist.tensor<tensor<2x5xf32>, #dist.sharded<@net>> {nn.name = "w.momentum_buffer", nn.role = "state"}
// FULLY-UPDATES-NOT: dist.shard %
// FULLY-UPDATES: %[[NEW:.+]]:2 = dist.parallel_apply @net({{.*}} -> (!dist.tensor<tensor<2x5xf32>, #dist.sharded<@net>>, !dist.tensor<tensor<2x5xf32>, #dist.sharded<@net>>)

// FULLY-UPDATES: return %{{.*}}, %[[NEW]]#0, %[[NEW]]#1
func.func @step(%x: !dist.tensor<tensor<?x5xf32>, #dist.split<@net, 0>> {nn.name = "x", nn.role = "input"}, %w: !dist.tensor<tensor<2x5xf32>, #dist.device<0>> {nn.name = "w", nn.role = "parameter"}, %m: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.name = "mean", nn.role = "buffer"}, %o: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.name = "outside", nn.role = "parameter"}, %l: !dist.tensor<tensor<f32>, #dist.device<0>> {nn.name = "l", nn.role = "input"})
    -> (!dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<2x5xf32>, #dist.device<0>>, !dist.tensor<tensor<2xf32>, #dist.device<0>>)
    attributes {nn.outputs = ["loss"], nn.gradients = ["w", "outside"], nn.clip_grad_norm = 1.0, nn.optimizer = {type = "SGD", lr = 0.1, momentum = 0.9, dampening = 0.0, weight_decay = 0.0, nesterov = false, maximize = false}} {
  %0 = dist.replicate %w {reason = "a copy"} : <tensor<2x5xf32>, #dist.device<0>> -> <tensor<2x5xf32>, #dist.replicated<@net>>
  %1 = dist.replicate %m {reason = "a copy"} : <tensor<2xf32>, #dist.device<0>> -> <tensor<2xf32>, #dist.replicated<@net>>
  %2 = dist.parallel_apply @net(%x, %0, %1) : (!dist.tensor<tensor<?x5xf32>, #dist.split<@net, 0>>, !dist.tensor<tensor<2x5xf32>, #dist.replicated<@net>>, !dist.tensor<tensor<2xf32>, #dist.replicated<@net>>) -> !dist.tensor<tensor<2x5xf32>, #dist.partial<@net>> {
  ^bb0(%a: tensor<?x5xf32>, %b: tensor<2x5xf32>, %d: tensor<2xf32>):
    %y = nn.linear %a, %b : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
    %g = nn.add %y, %d : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
    %dw = nn.linear_backward_weight %a, %g {bias = false} : (tensor<?x5xf32>, tensor<?x2xf32>) -> tensor<2x5xf32>
    dist.yield %dw : tensor<2x5xf32>
  }
  %3 = dist.parallel_apply @net(%0) : (!dist.tensor<tensor<2x5xf32>, #dist.replicated<@net>>) -> !dist.tensor<tensor<2x5xf32>, #dist.replicated<@net>> {
  ^bb0(%b: tensor<2x5xf32>):
    %t = nn.mul %b, %b : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    dist.yield %t : tensor<2x5xf32>
  }
  %4 = dist.reduce %2 {reason = "its dual"} : <tensor<2x5xf32>, #dist.partial<@net>> -> <tensor<2x5xf32>, #dist.device<0>>
  return %l, %4, %o : !dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<2x5xf32>, #dist.device<0>>, !dist.tensor<tensor<2xf32>, #dist.device<0>>
}
