// RUN: sheaf-opt %s --dist-optimize --split-input-file | FileCheck %s

// Plain SGD: one update where the parameter lives; the learning rate is a setting.
// CHECK-LABEL: func.func @sgd(
// CHECK-SAME: %[[W:[^:]*]]: {{[^{]*}} {nn.name = "w", nn.role = "parameter"}
// CHECK-SAME: %[[LR:[^:]*]]: !dist.tensor<tensor<f32>, #dist.host> {nn.name = "lr", nn.role = "setting"}
// CHECK-SAME: nn.updates = ["w"]
func.func @sgd(%w: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.name = "w", nn.role = "parameter"}, %l: !dist.tensor<tensor<f32>, #dist.device<0>> {nn.name = "l", nn.role = "input"}, %g: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.name = "g", nn.role = "input"})
    -> (!dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>)
    attributes {nn.outputs = ["loss"], nn.gradients = ["w"], nn.optimizer = {type = "SGD", lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.5, nesterov = false, maximize = false}} {
  // CHECK: %[[RATE:.*]] = dist.transfer %[[LR]]
  // CHECK: %[[NEW:.*]] = dist.apply on #dist.device<0>(%[[W]], %{{.*}}, %[[RATE]])
  // CHECK: nn.sgd_update %{{.*}}, %{{.*}}, %{{.*}} {maximize = false, momentum = 0.000000e+00 : f64, weight_decay = 5.000000e-01 : f64}
  // CHECK: return %{{.*}}, %[[NEW]]
  return %l, %g : !dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>
}

// -----

// Adam has two states. Their bias corrections are computed from the step's number, once where parameters live.
// Gradients are clipped to a norm over all of them first.
// CHECK-LABEL: func.func @adam(
// CHECK-SAME: {nn.name = "w.exp_avg", nn.role = "state"}
// CHECK-SAME: {nn.name = "w.exp_avg_sq", nn.role = "state"}
// CHECK-SAME: {nn.name = "lr", nn.role = "setting"}
// CHECK-SAME: {nn.name = "step", nn.role = "setting"}
// CHECK-SAME: {nn.name = "v.exp_avg", nn.role = "state"}
// CHECK-SAME: nn.updates = ["w", "w.exp_avg", "w.exp_avg_sq", "u", "u.exp_avg", "u.exp_avg_sq", "v", "v.exp_avg", "v.exp_avg_sq"]
func.func @adam(%w: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.name = "w", nn.role = "parameter"}, %u: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.name = "u", nn.role = "parameter"}, %v: !dist.tensor<tensor<2x2xf32>, #dist.host> {nn.name = "v", nn.role = "parameter"}, %l: !dist.tensor<tensor<f32>, #dist.device<0>> {nn.name = "l", nn.role = "input"})
    -> (!dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<2x2xf32>, #dist.host>)
    attributes {nn.outputs = ["loss"], nn.gradients = ["w", "u", "v"], nn.clip_grad_norm = 1.0, nn.optimizer = {type = "Adam", lr = 0.001, betas = [0.9, 0.999], eps = 1.0e-8, weight_decay = 0.0, amsgrad = false, maximize = false}} {
  // CHECK: nn.sum
  // CHECK: dist.apply on #dist.host(
  // CHECK: nn.sum
  // CHECK: dist.transfer %{{.*}} {reason = "clip_grad_norm needs the norm of all gradients"} : <tensor<f32>, #dist.host> -> <tensor<f32>, #dist.device<0>>
  // CHECK: nn.clip_coefficient %{{.*}} {max_norm = 1.000000e+00 : f64}
  // CHECK: dist.transfer %{{.*}} {reason = "clip_grad_norm scales every gradient"} : <tensor<f32>, #dist.device<0>> -> <tensor<f32>, #dist.host>
  // CHECK: %[[FIRST:.*]] = dist.apply on #dist.device<0>(
  // CHECK: nn.bias_correction %{{.*}} {beta = 9.000000e-01 : f64} : (tensor<i64>) -> tensor<f32>
  // CHECK: %[[SECOND:.*]] = dist.apply on #dist.device<0>(
  // CHECK: nn.bias_correction %{{.*}} {beta = 0.99899999999999999 : f64} : (tensor<i64>) -> tensor<f32>
  // CHECK: dist.apply on #dist.device<0>({{.*}}, %[[FIRST]], %[[SECOND]])
  // CHECK: nn.adam_first_moment
  // CHECK: nn.adam_second_moment
  // CHECK: nn.adam_update
  // CHECK: dist.apply on #dist.device<0>({{.*}}, %[[FIRST]], %[[SECOND]])
  // CHECK: nn.adam_update
  // CHECK: dist.apply on #dist.host(
  // CHECK: nn.bias_correction
  // CHECK: dist.apply on #dist.host(
  // CHECK: nn.bias_correction
  // CHECK: nn.adam_update
  // CHECK-NOT: nn.bias_correction
  return %l, %w, %u, %v : !dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<2x2xf32>, #dist.host>
}

// -----

// A parameter of a group has the group's rate, a setting of its own, and its weight decay; everything else is as for
// all parameters.
// CHECK-LABEL: func.func @groups(
// CHECK-SAME: {nn.name = "lr", nn.role = "setting"}
// CHECK-SAME: {nn.name = "lr[1]", nn.role = "setting"}
func.func @groups(%u: !dist.tensor<tensor<4xf32>, #dist.host> {nn.name = "u", nn.role = "parameter"}, %v: !dist.tensor<tensor<4xf32>, #dist.host> {nn.name = "v", nn.role = "parameter"}, %w: !dist.tensor<tensor<4xf32>, #dist.host> {nn.name = "w", nn.role = "parameter"}, %l: !dist.tensor<tensor<f32>, #dist.host> {nn.name = "l", nn.role = "input"})
    -> (!dist.tensor<tensor<f32>, #dist.host>, !dist.tensor<tensor<4xf32>, #dist.host>, !dist.tensor<tensor<4xf32>, #dist.host>, !dist.tensor<tensor<4xf32>, #dist.host>)
    attributes {nn.outputs = ["loss"], nn.gradients = ["u", "v", "w"], nn.optimizer = {type = "SGD", lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.5, nesterov = false, maximize = false,
      parameter_groups = [{parameters = ["v"], weight_decay = 0.0}, {parameters = ["w"], lr = 0.01}]}} {
  // CHECK: nn.sgd_update %{{.*}} weight_decay = 5.000000e-01 : f64}
  // CHECK: nn.sgd_update %{{.*}} weight_decay = 0.000000e+00 : f64}
  // CHECK: nn.sgd_update %{{.*}} weight_decay = 5.000000e-01 : f64}
  return %l, %u, %v, %w : !dist.tensor<tensor<f32>, #dist.host>, !dist.tensor<tensor<4xf32>, #dist.host>, !dist.tensor<tensor<4xf32>, #dist.host>, !dist.tensor<tensor<4xf32>, #dist.host>
}

// -----

// A scaled loss: the gradients, on two places, are counted where they aren't finite, and divided where they are; every new value is
// the old one unless all are finite, and so is the number of steps that corrections go by.
// CHECK-LABEL: func.func @scaled(
// CHECK-SAME: {nn.initial = 8.000000e+00 : f64, nn.name = "loss_scale.scale", nn.role = "state"}
// CHECK-SAME: {nn.name = "loss_scale.growth_tracker", nn.role = "state"}
// CHECK-SAME: {nn.name = "loss_scale.steps", nn.role = "state"}
// CHECK-NOT: "step"
// CHECK-SAME: nn.updates = ["w", "w.exp_avg", "w.exp_avg_sq", "v", "v.exp_avg", "v.exp_avg_sq", "loss_scale.steps", "loss_scale.scale", "loss_scale.growth_tracker"]
func.func @scaled(%w: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.name = "w", nn.role = "parameter"}, %v: !dist.tensor<tensor<f32>, #dist.host> {nn.name = "v", nn.role = "parameter"}, %l: !dist.tensor<tensor<f32>, #dist.device<0>> {nn.name = "l", nn.role = "input"})
    -> (!dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<f32>, #dist.host>)
    attributes {nn.outputs = ["loss"], nn.gradients = ["w", "v"], nn.loss_scale = {init_scale = 8.0, growth_factor = 2.0, backoff_factor = 0.5, growth_interval = 7}, nn.optimizer = {type = "Adam", lr = 0.001, betas = [0.9, 0.999], eps = 1.0e-8, weight_decay = 0.0, amsgrad = false, maximize = false}} {
  // CHECK: nn.nonfinite %{{.*}} : (tensor<4xf32>) -> tensor<f32>
  // CHECK: nn.nonfinite %{{.*}} : (tensor<f32>) -> tensor<f32>
  // CHECK: dist.transfer %{{.*}} {reason = "the step is left out unless all gradients are finite, wherever they are"} : <tensor<f32>, #dist.host> -> <tensor<f32>, #dist.device<0>>
  // CHECK: nn.div
  // CHECK: nn.mul %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: dist.transfer %{{.*}} {reason = "gradients are divided by the loss's scale where they are"} : <tensor<f32>, #dist.device<0>> -> <tensor<f32>, #dist.host>
  // CHECK: nn.increment
  // CHECK: nn.bias_correction
  // CHECK: %[[FIRST:.*]] = nn.adam_first_moment
  // CHECK: %[[KEPT:.*]] = nn.keep_unless_finite %{{.*}}, %[[FIRST]] unless
  // CHECK: nn.adam_second_moment
  // CHECK: nn.keep_unless_finite
  // CHECK: nn.adam_update %{{.*}}, %[[KEPT]],
  // CHECK: nn.keep_unless_finite
  // CHECK: dist.transfer %{{.*}} {reason = "where a gradient isn't finite, everything stays as it was"} : <tensor<f32>, #dist.device<0>> -> <tensor<f32>, #dist.host>
  // CHECK: nn.loss_scale %{{.*}} {backoff_factor = 5.000000e-01 : f64, growth_factor = 2.000000e+00 : f64, growth_interval = 7 : i64}
  // CHECK: nn.growth_tracker
  return %l, %w, %v : !dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<f32>, #dist.host>
}

// -----

// Gradients in shares are counted share by share; what all replicas need is the sum of their counts.
dist.group @net {dim = 0 : i64, layer = "net"}
// CHECK-LABEL: func.func @scaled_shares(
func.func @scaled_shares(%w: !dist.tensor<tensor<4xf32>, #dist.replicated<@net>> {nn.name = "w", nn.role = "parameter"}, %g: !dist.tensor<tensor<4xf32>, #dist.sharded<@net>> {nn.name = "g", nn.role = "input"}, %l: !dist.tensor<tensor<f32>, #dist.device<0>> {nn.name = "l", nn.role = "input"})
    -> (!dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.sharded<@net>>)
    attributes {nn.outputs = ["loss"], nn.gradients = ["w"], nn.loss_scale = {scale = 8.0}, nn.optimizer = {type = "SGD", lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.0, nesterov = false, maximize = false}} {
  // CHECK: %[[COUNT:.*]] = dist.parallel_apply
  // CHECK: nn.nonfinite %{{.*}} : (tensor<4xf32>) -> tensor<f32>
  // CHECK: dist.all_reduce %[[COUNT]] {reason = "the step is left out unless the shares of all replicas are finite"} : <tensor<f32>, #dist.partial<@net>> -> <tensor<f32>, #dist.replicated<@net>>
  // CHECK: dist.all_gather
  // CHECK-NOT: dist.all_gather
  return %l, %g : !dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.sharded<@net>>
}
