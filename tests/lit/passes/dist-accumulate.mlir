// RUN: sheaf-opt %s --dist-accumulate --split-input-file | FileCheck %s

// The step of a micro-batch adds up its loss, divisor and gradients where the parameters live; a second function
// divides them and has the optimiser.
// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME: %[[MICRO:[a-z0-9]+]]: !dist.tensor<tensor<i64>, #dist.host> {nn.name = "micro_batch", nn.role = "setting"}
// CHECK-SAME: {nn.name = "loss", nn.role = "accumulator"}
// CHECK-SAME: {nn.name = "loss_divisor", nn.role = "accumulator"}
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: !dist.tensor<tensor<4xf32>, #dist.device<1>> {nn.name = "w.grad", nn.role = "accumulator"}
// CHECK-SAME: nn.outputs = ["loss"]
// CHECK-SAME: nn.updates = ["bn.running_mean", "loss", "loss_divisor", "w.grad"]
// CHECK-NOT: nn.optimizer
func.func @train(%w: !dist.tensor<tensor<4xf32>, #dist.device<1>> {nn.name = "w", nn.role = "parameter"}, %m: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.name = "bn.running_mean", nn.role = "buffer"}, %l: !dist.tensor<tensor<f32>, #dist.device<0>> {nn.name = "l", nn.role = "input"}, %g: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.name = "g", nn.role = "input"})
    -> (!dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<2xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>)
    attributes {nn.outputs = ["loss", "divisor"], nn.updates = ["bn.running_mean"], nn.gradients = ["w"], nn.clip_grad_norm = 2.0, nn.optimizer = {type = "SGD", lr = 0.1}} {
  // CHECK: %[[G:.*]] = dist.transfer %{{.*}} {reason = "accumulated where the parameter lives"} : <tensor<4xf32>, #dist.device<0>> -> <tensor<4xf32>, #dist.device<1>>
  // CHECK: %[[NUMBER:.*]] = dist.transfer %[[MICRO]]
  // CHECK: %[[NEW:.*]] = dist.apply on #dist.device<1>(%[[SUM]], %[[G]], %[[NUMBER]])
  // CHECK: nn.accumulate %{{.*}}, %{{.*}} micro_batch(%{{.*}})
  // CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[NEW]]
  return %l, %l, %m, %g : !dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<2xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>
}
// CHECK-LABEL: func.func @update(
// CHECK-SAME: {nn.name = "w", nn.role = "parameter"}
// CHECK-SAME: %[[LOSS:[a-z0-9]+]]: !dist.tensor<tensor<f32>, #dist.device<0>> {nn.name = "loss", nn.role = "accumulator"}
// CHECK-SAME: %[[DIVISOR:[a-z0-9]+]]: !dist.tensor<tensor<f32>, #dist.device<0>> {nn.name = "loss_divisor", nn.role = "accumulator"}
// CHECK-SAME: %[[WHOLE:[a-z0-9]+]]: !dist.tensor<tensor<4xf32>, #dist.device<1>> {nn.name = "w.grad", nn.role = "accumulator"}
// CHECK-SAME: nn.clip_grad_norm = 2.000000e+00 : f64, nn.gradients = ["w"], nn.optimizer = {lr = 1.000000e-01 : f64, type = "SGD"}, nn.outputs = ["loss"]
// CHECK: %[[MEAN:.*]] = dist.apply on #dist.device<0>(%[[LOSS]], %[[DIVISOR]])
// CHECK: nn.div
// CHECK: %[[THERE:.*]] = dist.transfer %[[DIVISOR]]
// CHECK: %[[GRADIENT:.*]] = dist.apply on #dist.device<1>(%[[WHOLE]], %[[THERE]])
// CHECK: nn.div
// CHECK: return %[[MEAN]], %[[GRADIENT]]

// -----

// A sum isn't divided. A dropout's random numbers belong to rows of the whole batch: each has two rows of the tensor.
// CHECK-LABEL: func.func @accumulate(
// CHECK: nn.dropout_train %{{.*}} step(%{{.*}}) seed(%{{.*}}) first_row(%{{.*}}) {layer = 7 : i64, p = 5.000000e-01 : f64, rows = 2 : i64}
// CHECK-LABEL: func.func @update(
// CHECK-NOT: loss_divisor
// CHECK-NOT: nn.div
// CHECK: %[[ONE:.*]] = nn.fill 1.000000e+00
// CHECK: nn.mul %{{.*}}, %[[ONE]]
func.func @train(%w: !dist.tensor<tensor<4xf32>, #dist.host> {nn.name = "w", nn.role = "parameter"}, %l: !dist.tensor<tensor<f32>, #dist.host> {nn.name = "l", nn.role = "input"}, %x: !dist.tensor<tensor<?x6xf32>, #dist.host> {nn.name = "x", nn.role = "input"}, %s: !dist.tensor<tensor<i64>, #dist.host> {nn.name = "step", nn.role = "setting"})
    -> (!dist.tensor<tensor<f32>, #dist.host>, !dist.tensor<tensor<4xf32>, #dist.host>)
    attributes {nn.outputs = ["loss"], nn.gradients = ["w"], nn.optimizer = {type = "SGD", lr = 0.1}} {
  %y = dist.apply on #dist.host(%x, %s) : (!dist.tensor<tensor<?x6xf32>, #dist.host>, !dist.tensor<tensor<i64>, #dist.host>) -> !dist.tensor<tensor<?x3xf32>, #dist.host> {
  ^bb0(%a: tensor<?x6xf32>, %b: tensor<i64>):
    %r = nn.reshape %a {shape = array<i64: -1, 3>} : (tensor<?x6xf32>) -> tensor<?x3xf32>
    %d = nn.dropout_train %r step(%b) seed(%b) first_row(%b) {p = 0.5 : f64, layer = 7 : i64} : (tensor<?x3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?x3xf32>
    dist.yield %d : tensor<?x3xf32>
  }
  return %l, %w : !dist.tensor<tensor<f32>, #dist.host>, !dist.tensor<tensor<4xf32>, #dist.host>
}
