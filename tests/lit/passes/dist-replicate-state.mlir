// RUN: sheaf-opt %s --dist-replicate-state --split-input-file | FileCheck %s
// RUN: sheaf-opt %s --dist-replicate-state --dist-optimize --split-input-file | FileCheck %s --check-prefix=UPDATES

dist.group @net {dim = 0 : i64, layer = "net"}

// A parameter that one region's replicas use lives on each of them, and its gradient is the sum on each of them.
// Buffers stay, and so does a parameter of a layer outside of regions. One that the loss doesn't depend on has no
// gradient.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[^:]*]]: !dist.tensor<tensor<2x5xf32>, #dist.replicated<@net>> {nn.name = "w", nn.role = "parameter"}
// CHECK-SAME: %[[FROZEN:[^:]*]]: !dist.tensor<tensor<2xf32>, #dist.replicated<@net>> {nn.name = "frozen", nn.role = "parameter"}
// CHECK-SAME: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.name = "mean", nn.role = "buffer"}
// CHECK-SAME: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.name = "outside", nn.role = "parameter"}
// CHECK-NOT: dist.replicate %[[W]]
// CHECK: dist.replicate %{{.*}} : <tensor<2xf32>, #dist.device<0>>
// CHECK-NOT: dist.replicate %
// CHECK: %[[PARTS:.+]] = dist.parallel_apply @net(%{{.*}}, %[[W]], %[[FROZEN]], %{{.*}})
// CHECK: %[[SUM:.+]] = dist.all_reduce %[[PARTS]]
// CHECK-SAME: {reason = "each replica keeps the parameter and updates it: all of them need the sum of their gradients"}
// CHECK-SAME: <tensor<2x5xf32>, #dist.partial<@net>> -> <tensor<2x5xf32>, #dist.replicated<@net>>
// CHECK: return %{{.*}}, %[[SUM]]

// The optimiser works where parameters are: state, settings and the norm of all gradients go to each replica; another
// device gets replica 0's value of what it needs.
// UPDATES-LABEL: func.func @step(
// UPDATES-SAME: !dist.tensor<tensor<2x5xf32>, #dist.replicated<@net>> {nn.name = "w.momentum_buffer", nn.role = "state"}
// UPDATES-SAME: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.name = "outside.momentum_buffer", nn.role = "state"}
// UPDATES: dist.replicate %{{.*}} {reason = "clip_grad_norm needs the norm of all gradients"} : <tensor<f32>, #dist.device<0>> -> <tensor<f32>, #dist.replicated<@net>>
// UPDATES: dist.parallel_apply @net
// UPDATES: nn.clip_coefficient
// UPDATES: dist.first %{{.*}} {reason = "clip_grad_norm scales every gradient"} : <tensor<f32>, #dist.replicated<@net>> -> <tensor<f32>, #dist.device<0>>
// UPDATES: dist.replicate %{{.*}} {reason = "the optimiser's setting 'lr' is needed where the parameters are"} : <tensor<f32>, #dist.host> -> <tensor<f32>, #dist.replicated<@net>>
// UPDATES: dist.parallel_apply @net({{.*}} -> (!dist.tensor<tensor<2x5xf32>, #dist.replicated<@net>>, !dist.tensor<tensor<2x5xf32>, #dist.replicated<@net>>)
// UPDATES: nn.sgd_momentum
// UPDATES: dist.apply on #dist.device<0>
// UPDATES: nn.sgd_momentum
func.func @step(%x: !dist.tensor<tensor<?x5xf32>, #dist.split<@net, 0>> {nn.name = "x", nn.role = "input"}, %w: !dist.tensor<tensor<2x5xf32>, #dist.device<0>> {nn.name = "w", nn.role = "parameter"}, %f: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.name = "frozen", nn.role = "parameter"}, %m: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.name = "mean", nn.role = "buffer"}, %o: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.name = "outside", nn.role = "parameter"}, %l: !dist.tensor<tensor<f32>, #dist.device<0>> {nn.name = "l", nn.role = "input"})
    -> (!dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<2x5xf32>, #dist.device<0>>, !dist.tensor<tensor<2xf32>, #dist.device<0>>)
    attributes {nn.outputs = ["loss"], nn.gradients = ["w", "outside"], nn.clip_grad_norm = 1.0, nn.optimizer = {type = "SGD", lr = 0.1, momentum = 0.9, dampening = 0.0, weight_decay = 0.0, nesterov = false, maximize = false}} {
  %0 = dist.replicate %w {reason = "a copy"} : <tensor<2x5xf32>, #dist.device<0>> -> <tensor<2x5xf32>, #dist.replicated<@net>>
  %1 = dist.replicate %f {reason = "a copy"} : <tensor<2xf32>, #dist.device<0>> -> <tensor<2xf32>, #dist.replicated<@net>>
  %2 = dist.replicate %m {reason = "a copy"} : <tensor<2xf32>, #dist.device<0>> -> <tensor<2xf32>, #dist.replicated<@net>>
  %3 = dist.parallel_apply @net(%x, %0, %1, %2) : (!dist.tensor<tensor<?x5xf32>, #dist.split<@net, 0>>, !dist.tensor<tensor<2x5xf32>, #dist.replicated<@net>>, !dist.tensor<tensor<2xf32>, #dist.replicated<@net>>, !dist.tensor<tensor<2xf32>, #dist.replicated<@net>>) -> !dist.tensor<tensor<2x5xf32>, #dist.partial<@net>> {
  ^bb0(%a: tensor<?x5xf32>, %b: tensor<2x5xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>):
    %y = nn.linear %a, %b : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
    %e = nn.add %y, %c : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
    %g = nn.add %e, %d : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
    %dw = nn.linear_backward_weight %a, %g {bias = false} : (tensor<?x5xf32>, tensor<?x2xf32>) -> tensor<2x5xf32>
    dist.yield %dw : tensor<2x5xf32>
  }
  %4 = dist.reduce %3 {reason = "its dual"} : <tensor<2x5xf32>, #dist.partial<@net>> -> <tensor<2x5xf32>, #dist.device<0>>
  return %l, %4, %o : !dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<2x5xf32>, #dist.device<0>>, !dist.tensor<tensor<2xf32>, #dist.device<0>>
}

// -----

dist.group @one {dim = 0 : i64, layer = "one"}
dist.group @two {dim = 0 : i64, layer = "two"}

// Two regions use it, so it stays where it is.
// CHECK-LABEL: func.func @shared(
// CHECK-SAME: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.name = "w", nn.role = "parameter"}
// CHECK: dist.reduce
// CHECK: dist.reduce
// CHECK-NOT: dist.all_reduce
func.func @shared(%w: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.name = "w", nn.role = "parameter"}, %l: !dist.tensor<tensor<f32>, #dist.device<0>> {nn.name = "l", nn.role = "input"}, %p: !dist.tensor<tensor<4xf32>, #dist.partial<@one>> {nn.name = "p", nn.role = "input"}, %q: !dist.tensor<tensor<4xf32>, #dist.partial<@two>> {nn.name = "q", nn.role = "input"})
    -> (!dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>)
    attributes {nn.outputs = ["loss"], nn.gradients = ["w"], nn.optimizer = {type = "SGD", lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.0, nesterov = false, maximize = false}} {
  %0 = dist.replicate %w {reason = "a copy"} : <tensor<4xf32>, #dist.device<0>> -> <tensor<4xf32>, #dist.replicated<@one>>
  %1 = dist.replicate %w {reason = "a copy"} : <tensor<4xf32>, #dist.device<0>> -> <tensor<4xf32>, #dist.replicated<@two>>
  dist.parallel_apply @one(%0) : (!dist.tensor<tensor<4xf32>, #dist.replicated<@one>>) -> () {
  ^bb0(%a: tensor<4xf32>):
  }
  dist.parallel_apply @two(%1) : (!dist.tensor<tensor<4xf32>, #dist.replicated<@two>>) -> () {
  ^bb0(%a: tensor<4xf32>):
  }
  %2 = dist.reduce %p {reason = "sum"} : <tensor<4xf32>, #dist.partial<@one>> -> <tensor<4xf32>, #dist.device<0>>
  %3 = dist.reduce %q {reason = "sum"} : <tensor<4xf32>, #dist.partial<@two>> -> <tensor<4xf32>, #dist.device<0>>
  %4 = dist.apply on #dist.device<0>(%2, %3) : (!dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<4xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %5 = nn.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dist.yield %5 : tensor<4xf32>
  }
  return %l, %4 : !dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>
}
