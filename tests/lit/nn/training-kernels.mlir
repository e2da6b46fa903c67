// RUN: sheaf-opt %s | sheaf-opt | FileCheck %s

// Sums and their inverses; sizes that are known when the program runs.
// CHECK-LABEL: func.func @sums(
func.func @sums(%x: tensor<?x4x6xf32>, %row: tensor<4xf32>, %i: tensor<?x3xi64>, %dy: tensor<?x3x6xf32>, %like: tensor<?x4xi64>) {
  // CHECK: nn.sum %{{.*}} {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4x6xf32>) -> tensor<6xf32>
  %0 = nn.sum %x {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4x6xf32>) -> tensor<6xf32>
  // CHECK: nn.sum %{{.*}} {dims = array<i64: -1>, keepdim = true} : (tensor<?x4x6xf32>) -> tensor<?x4x1xf32>
  %1 = nn.sum %x {dims = array<i64: -1>, keepdim = true} : (tensor<?x4x6xf32>) -> tensor<?x4x1xf32>
  // CHECK: nn.broadcast %{{.*}} like %{{.*}} {dims = array<i64: 1>} : (tensor<4xf32>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %2 = nn.broadcast %row like %x {dims = array<i64: 1>} : (tensor<4xf32>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  // CHECK: nn.broadcast %{{.*}} like %{{.*}} {dims = array<i64: 1>} : (tensor<4xf32>, tensor<?x4xi64>) -> tensor<?x4xf32>
  %3 = nn.broadcast %row like %like {dims = array<i64: 1>} : (tensor<4xf32>, tensor<?x4xi64>) -> tensor<?x4xf32>
  // CHECK: nn.inverse_count %{{.*}} {dims = array<i64: 0, 2>} : (tensor<?x4x6xf32>) -> tensor<f32>
  %4 = nn.inverse_count %x {dims = array<i64: 0, 2>} : (tensor<?x4x6xf32>) -> tensor<f32>
  // CHECK: nn.inverse_count %{{.*}} {dims = array<i64: 0, 2>, whole} : (tensor<?x4x6xf32>) -> tensor<f32>
  %7 = nn.inverse_count %x {dims = array<i64: 0, 2>, whole} : (tensor<?x4x6xf32>) -> tensor<f32>
  // CHECK: nn.pad %{{.*}} {begin = 2 : i64, dim = 1 : i64, size = 8 : i64} : (tensor<?x4x6xf32>) -> tensor<?x8x6xf32>
  %5 = nn.pad %x {dim = 1 : i64, begin = 2 : i64, size = 8 : i64} : (tensor<?x4x6xf32>) -> tensor<?x8x6xf32>
  // CHECK: nn.embedding_backward %{{.*}}, %{{.*}} {num_embeddings = 10 : i64, padding_idx = -1 : i64} : (tensor<?x3xi64>, tensor<?x3x6xf32>) -> tensor<10x6xf32>
  %6 = nn.embedding_backward %i, %dy {num_embeddings = 10 : i64, padding_idx = -1 : i64} : (tensor<?x3xi64>, tensor<?x3x6xf32>) -> tensor<10x6xf32>
  return
}

// An embedding's padding row gets no gradient.
// CHECK-LABEL: func.func @padding(
func.func @padding(%i: tensor<?x3xi64>, %w: tensor<10x6xf32>) {
  // CHECK: nn.embedding %{{.*}}, %{{.*}} {padding_idx = 2 : i64} : (tensor<?x3xi64>, tensor<10x6xf32>) -> tensor<?x3x6xf32>
  %0 = nn.embedding %i, %w {padding_idx = 2 : i64} : (tensor<?x3xi64>, tensor<10x6xf32>) -> tensor<?x3x6xf32>
  return
}

// Element-wise ops.
// CHECK-LABEL: func.func @elementwise(
func.func @elementwise(%x: tensor<?x4xf32>, %g: tensor<f32>, %step: tensor<i64>) {
  // CHECK: nn.div %{{.*}}, %{{.*}} : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  %0 = nn.div %x, %g : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  // CHECK: nn.exp %{{.*}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = nn.exp %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.rsqrt %{{.*}} {eps = 1.000000e-05 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = nn.rsqrt %x {eps = 1.0e-5 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.activation_backward %{{.*}}, %{{.*}} {activation = {kind = "leaky_relu", negative_slope = 1.000000e-02 : f64}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = nn.activation_backward %x, %x {activation = {kind = "leaky_relu", negative_slope = 0.01 : f64}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.dropout_train %{{.*}} step(%{{.*}}) seed(%{{.*}}) {layer = 7 : i64, p = 5.000000e-01 : f64} : (tensor<?x4xf32>, tensor<i64>, tensor<i64>) -> tensor<?x4xf32>
  %4 = nn.dropout_train %x step(%step) seed(%step) {p = 0.5 : f64, layer = 7 : i64} : (tensor<?x4xf32>, tensor<i64>, tensor<i64>) -> tensor<?x4xf32>
  // CHECK: nn.rrelu_train %{{.*}}, %{{.*}} step(%{{.*}}) seed(%{{.*}}) {layer = 7 : i64, lower = 1.000000e-01 : f64, upper = 3.000000e-01 : f64} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<i64>, tensor<i64>) -> tensor<?x4xf32>
  %5 = nn.rrelu_train %x, %x step(%step) seed(%step) {lower = 0.1 : f64, upper = 0.3 : f64, layer = 7 : i64} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<i64>, tensor<i64>) -> tensor<?x4xf32>
  return
}

// The weight of each class: the classes become dimension 1, or the only one.
// CHECK-LABEL: func.func @weights(
func.func @weights(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %q: tensor<?x4xf32>, %n: tensor<i64>) {
  // CHECK: nn.constant [1.000000e+00, 2.500000e+00] like %{{.*}} {shape = array<i64: 2, 1>} : (tensor<i64>) -> tensor<2x1xf32>
  %0 = nn.constant [1.0, 2.5] like %n {shape = array<i64: 2, 1>} : (tensor<i64>) -> tensor<2x1xf32>
  // CHECK: nn.weighted %{{.*}}, %{{.*}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = nn.weighted %q, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.accumulate %{{.*}}, %{{.*}} micro_batch(%{{.*}}) : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  %4 = nn.accumulate %w, %w micro_batch(%n) : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @target_weights(
func.func @target_weights(%t: tensor<?xi64>, %image: tensor<?x5x6xi32>, %one: tensor<i64>) {
  // CHECK: nn.target_weights %{{.*}} {classes = 3 : i64, ignore_index = -100 : i64, label_smoothing = 1.000000e-01 : f64} : (tensor<?xi64>) -> tensor<?x3xf32>
  %0 = nn.target_weights %t {classes = 3 : i64, ignore_index = -100 : i64, label_smoothing = 0.1 : f64} : (tensor<?xi64>) -> tensor<?x3xf32>
  // CHECK: nn.target_weights %{{.*}} {classes = 3 : i64, ignore_index = -100 : i64, label_smoothing = 0.000000e+00 : f64} : (tensor<?x5x6xi32>) -> tensor<?x3x5x6xf32>
  %1 = nn.target_weights %image {classes = 3 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x5x6xi32>) -> tensor<?x3x5x6xf32>
  // CHECK: nn.target_weights %{{.*}} {classes = 3 : i64, ignore_index = -100 : i64, label_smoothing = 0.000000e+00 : f64} : (tensor<i64>) -> tensor<3xf32>
  %2 = nn.target_weights %one {classes = 3 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<i64>) -> tensor<3xf32>
  // CHECK: nn.target_counts %{{.*}} {classes = 3 : i64, ignore_index = -100 : i64} : (tensor<?x5x6xi32>) -> tensor<?x5x6xf32>
  %3 = nn.target_counts %image {classes = 3 : i64, ignore_index = -100 : i64} : (tensor<?x5x6xi32>) -> tensor<?x5x6xf32>
  // CHECK: nn.target_values %{{.*}}, %{{.*}} {ignore_index = -100 : i64} : (tensor<?x5x6xi32>, tensor<?x3x5x6xf32>) -> tensor<?x5x6xf32>
  %4 = nn.target_values %image, %1 {ignore_index = -100 : i64} : (tensor<?x5x6xi32>, tensor<?x3x5x6xf32>) -> tensor<?x5x6xf32>
  // CHECK: nn.target_values %{{.*}}, %{{.*}} {ignore_index = -100 : i64} : (tensor<i64>, tensor<3xf32>) -> tensor<f32>
  %5 = nn.target_values %one, %2 {ignore_index = -100 : i64} : (tensor<i64>, tensor<3xf32>) -> tensor<f32>
  return
}

// Running statistics: with a momentum, as the average of all batches, of a variance.
// CHECK-LABEL: func.func @running(
func.func @running(%running: tensor<4xf32>, %s: tensor<4xf32>, %n: tensor<i64>, %inverse: tensor<f32>) {
  // CHECK: nn.running_average %{{.*}}, %{{.*}} {momentum = 1.000000e-01 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = nn.running_average %running, %s {momentum = 0.1 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: nn.increment %{{.*}} : (tensor<i64>) -> tensor<i64>
  %1 = nn.increment %n : (tensor<i64>) -> tensor<i64>
  // CHECK: nn.running_average %{{.*}}, %{{.*}} inverse_count(%{{.*}}) num_batches(%{{.*}}) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>) -> tensor<4xf32>
  %2 = nn.running_average %running, %s inverse_count(%inverse) num_batches(%1) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>) -> tensor<4xf32>
  // CHECK: nn.assign %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>
  nn.assign %running, %2 : tensor<4xf32>, tensor<4xf32>
  // CHECK: nn.assign %{{.*}}, %{{.*}} : tensor<i64>, tensor<i64>
  nn.assign %n, %1 : tensor<i64>, tensor<i64>
  return
}

// Loss scaling.
// CHECK-LABEL: func.func @loss_scaling(
func.func @loss_scaling(%g: tensor<2x3xf16>, %p: tensor<2x3xf32>, %s: tensor<f32>) {
  // CHECK: nn.nonfinite %{{.*}}, %{{.*}} : (tensor<2x3xf16>, tensor<f32>) -> tensor<f32>
  %0 = nn.nonfinite %g, %s : (tensor<2x3xf16>, tensor<f32>) -> tensor<f32>
  // CHECK: nn.keep_unless_finite %{{.*}}, %{{.*}} unless %{{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = nn.keep_unless_finite %p, %p unless %0 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK: nn.loss_scale %{{.*}}, %{{.*}}, %{{.*}} {backoff_factor = 5.000000e-01 : f64, growth_factor = 2.000000e+00 : f64, growth_interval = 2000 : i64}
  %2 = nn.loss_scale %s, %s, %s {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 2000 : i64} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK: nn.growth_tracker %{{.*}}, %{{.*}} {growth_interval = 2000 : i64}
  %3 = nn.growth_tracker %s, %s {growth_interval = 2000 : i64} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// The optimisers' arithmetic.
// CHECK-LABEL: func.func @optimisers(
func.func @optimisers(%p: tensor<2x3xf32>, %g: tensor<2x3xf32>, %s: tensor<2x3xf32>, %lr: tensor<f32>, %step: tensor<i64>) {
  // CHECK: nn.clip_coefficient %{{.*}} {max_norm = 1.000000e+00 : f64} : (tensor<f32>) -> tensor<f32>
  %0 = nn.clip_coefficient %lr {max_norm = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
  // CHECK: nn.sgd_momentum %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {dampening = 1.000000e-01 : f64, maximize = false, momentum = 9.000000e-01 : f64, weight_decay = 0.000000e+00 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  %1 = nn.sgd_momentum %s, %g, %p, %step {momentum = 0.9 : f64, dampening = 0.1 : f64, weight_decay = 0.0 : f64, maximize = false} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  // CHECK: nn.sgd_update %{{.*}}, %{{.*}}, %{{.*}} {maximize = false, momentum = 0.000000e+00 : f64, weight_decay = 0.000000e+00 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %2 = nn.sgd_update %p, %1, %lr {momentum = 0.0 : f64, weight_decay = 0.0 : f64, maximize = false} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK: nn.sgd_update %{{.*}}, %{{.*}}, %{{.*}} buffer(%{{.*}}) {maximize = false, momentum = 9.000000e-01 : f64, weight_decay = 0.000000e+00 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = nn.sgd_update %p, %g, %lr buffer(%1) {momentum = 0.9 : f64, weight_decay = 0.0 : f64, maximize = false} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: nn.adam_first_moment %{{.*}}, %{{.*}}, %{{.*}} {beta = 9.000000e-01 : f64, maximize = true, weight_decay = 1.000000e-02 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = nn.adam_first_moment %s, %g, %p {beta = 0.9 : f64, weight_decay = 0.01 : f64, maximize = true} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: nn.adam_second_moment %{{.*}}, %{{.*}}, %{{.*}} {beta = 0.98999999999999999 : f64, maximize = true, weight_decay = 1.000000e-02 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = nn.adam_second_moment %s, %g, %p {beta = 0.99 : f64, weight_decay = 0.01 : f64, maximize = true} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: nn.adam_max %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = nn.adam_max %s, %5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: nn.bias_correction %{{.*}} {beta = 9.000000e-01 : f64} : (tensor<i64>) -> tensor<f32>
  %c = nn.bias_correction %step {beta = 0.9 : f64} : (tensor<i64>) -> tensor<f32>
  // CHECK: nn.adam_update %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {eps = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  %7 = nn.adam_update %p, %4, %6, %lr, %c, %c {eps = 1.0e-8 : f64, weight_decay = 0.0 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK: nn.rmsprop_direction %{{.*}}, %{{.*}}, %{{.*}} average(%{{.*}}) {eps = 1.000000e-08 : f64, maximize = false, weight_decay = 0.000000e+00 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %8 = nn.rmsprop_direction %g, %p, %5 average(%4) {eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, maximize = false} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
