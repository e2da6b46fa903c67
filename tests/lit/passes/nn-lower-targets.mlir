// RUN: sheaf-opt %s --nn-lower-layers | FileCheck %s
// RUN: sheaf-opt %s --nn-lower-layers=before-gradients | FileCheck %s --check-prefix=BEFORE

// The weights of all classes add up to one for each target: nothing of the classes' shape is made.
// CHECK-LABEL: func.func @divisor(
// CHECK-NEXT: %[[COUNTS:.*]] = nn.target_counts %arg0 {classes = 5 : i64, ignore_index = 3 : i64} : (tensor<?xi64>) -> tensor<?xf32>
// CHECK-NEXT: %[[SUM:.*]] = nn.sum %[[COUNTS]] {dims = array<i64: 0>, keepdim = false} : (tensor<?xf32>) -> tensor<f32>
// CHECK-NEXT: return %[[SUM]]
func.func @divisor(%t: tensor<?xi64>) -> tensor<f32> {
  %0 = nn.target_weights %t {classes = 5 : i64, ignore_index = 3 : i64, label_smoothing = 0.1 : f64} : (tensor<?xi64>) -> tensor<?x5xf32>
  %1 = nn.sum %0 {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x5xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// The gradient of a logarithm of probabilities adds up a row's: each weight times one number.
// CHECK-LABEL: func.func @rows(
// CHECK: %[[Q:.*]] = nn.target_weights %arg0
// CHECK: %[[DY:.*]] = nn.mul %[[Q]], %arg1 : (tensor<?x5x7xf32>, tensor<f32>) -> tensor<?x5x7xf32>
// CHECK: %[[COUNTS:.*]] = nn.target_counts %arg0 {{.*}} : (tensor<?x7xi64>) -> tensor<?x7xf32>
// CHECK: %[[APART:.*]] = nn.reshape %[[COUNTS]] {shape = array<i64: -1, 1, 7>}
// CHECK: %[[ROWS:.*]] = nn.mul %[[APART]], %arg1 : (tensor<?x1x7xf32>, tensor<f32>) -> tensor<?x1x7xf32>
// CHECK: return %[[DY]], %[[ROWS]]
func.func @rows(%t: tensor<?x7xi64>, %g: tensor<f32>, %like: tensor<?x5x7xf32>) -> (tensor<?x5x7xf32>, tensor<?x1x7xf32>) {
  %0 = nn.target_weights %t {classes = 5 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x7xi64>) -> tensor<?x5x7xf32>
  %1 = nn.broadcast %g like %like {dims = array<i64>} : (tensor<f32>, tensor<?x5x7xf32>) -> tensor<?x5x7xf32>
  %2 = nn.mul %1, %0 : (tensor<?x5x7xf32>, tensor<?x5x7xf32>) -> tensor<?x5x7xf32>
  %3 = nn.sum %2 {dims = array<i64: 1>, keepdim = true} : (tensor<?x5x7xf32>) -> tensor<?x1x7xf32>
  return %2, %3 : tensor<?x5x7xf32>, tensor<?x1x7xf32>
}

// One target alone, and a sum over positions, which needs the weights.
// CHECK-LABEL: func.func @others(
// CHECK: %[[ONE:.*]] = nn.target_counts %arg0 {{.*}} : (tensor<i64>) -> tensor<f32>
// CHECK: %[[POSITIONS:.*]] = nn.sum %{{.*}} {dims = array<i64: 0>
// CHECK: return %[[ONE]], %[[POSITIONS]]
func.func @others(%one: tensor<i64>, %t: tensor<?xi64>) -> (tensor<f32>, tensor<5xf32>) {
  %0 = nn.target_weights %one {classes = 5 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<i64>) -> tensor<5xf32>
  %1 = nn.sum %0 {dims = array<i64: 0>, keepdim = false} : (tensor<5xf32>) -> tensor<f32>
  %2 = nn.target_weights %t {classes = 5 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?xi64>) -> tensor<?x5xf32>
  %3 = nn.sum %2 {dims = array<i64: 0>, keepdim = false} : (tensor<?x5xf32>) -> tensor<5xf32>
  return %1, %3 : tensor<f32>, tensor<5xf32>
}

// A product of numbers stays, and one whose result is larger than its tensor.
// CHECK-LABEL: func.func @stay(
// CHECK: nn.mul %arg0, %arg0
// CHECK: %[[B:.*]] = nn.broadcast
// CHECK: nn.mul %[[B]], %arg2
func.func @stay(%n: tensor<f32>, %like: tensor<?x5xf32>, %row: tensor<5xf32>) -> (tensor<f32>, tensor<?x5xf32>) {
  %0 = nn.mul %n, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = nn.broadcast %n like %like {dims = array<i64>} : (tensor<f32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.mul %1, %row : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  return %0, %2 : tensor<f32>, tensor<?x5xf32>
}

// Of many classes only the target's is read, as soon as no gradient needs the weights.
// CHECK-LABEL: func.func @values(
// CHECK-NEXT: %[[Y:.*]] = nn.target_values %arg0, %arg1 {ignore_index = -100 : i64} : (tensor<?x7xi64>, tensor<?x64x7xf32>) -> tensor<?x7xf32>
// CHECK-NEXT: %[[SUM:.*]] = nn.sum %[[Y]] {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x7xf32>) -> tensor<f32>
// CHECK-NEXT: return %[[SUM]]
// BEFORE-LABEL: func.func @values(
// BEFORE: nn.weighted
func.func @values(%t: tensor<?x7xi64>, %x: tensor<?x64x7xf32>) -> tensor<f32> {
  %0 = nn.target_weights %t {classes = 64 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x7xi64>) -> tensor<?x64x7xf32>
  %1 = nn.weighted %0, %x : (tensor<?x64x7xf32>, tensor<?x64x7xf32>) -> tensor<?x64x7xf32>
  %2 = nn.sum %1 {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x64x7xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// One target alone; few classes, smoothed weights, a sum over positions.
// CHECK-LABEL: func.func @other_values(
// CHECK: %[[ONE:.*]] = nn.target_values %arg0, %arg1 {ignore_index = -100 : i64} : (tensor<i64>, tensor<64xf32>) -> tensor<f32>
// CHECK: nn.weighted
// CHECK: nn.weighted
// CHECK: nn.weighted
// CHECK: return %[[ONE]]
func.func @other_values(%one: tensor<i64>, %values: tensor<64xf32>, %t: tensor<?xi64>, %few: tensor<?x63xf32>, %many: tensor<?x64xf32>)
    -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<64xf32>) {
  %0 = nn.target_weights %one {classes = 64 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<i64>) -> tensor<64xf32>
  %1 = nn.weighted %0, %values : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = nn.sum %1 {dims = array<i64: 0>, keepdim = false} : (tensor<64xf32>) -> tensor<f32>
  %3 = nn.target_weights %t {classes = 63 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?xi64>) -> tensor<?x63xf32>
  %4 = nn.weighted %3, %few : (tensor<?x63xf32>, tensor<?x63xf32>) -> tensor<?x63xf32>
  %5 = nn.sum %4 {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x63xf32>) -> tensor<f32>
  %6 = nn.target_weights %t {classes = 64 : i64, ignore_index = -100 : i64, label_smoothing = 0.1 : f64} : (tensor<?xi64>) -> tensor<?x64xf32>
  %7 = nn.weighted %6, %many : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %8 = nn.sum %7 {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x64xf32>) -> tensor<f32>
  %9 = nn.target_weights %t {classes = 64 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?xi64>) -> tensor<?x64xf32>
  %10 = nn.weighted %9, %many : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %11 = nn.sum %10 {dims = array<i64: 0>, keepdim = false} : (tensor<?x64xf32>) -> tensor<64xf32>
  return %2, %5, %8, %11 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<64xf32>
}

// With weights of the classes, all are read; a row's own value, as a margin loss wants it.
// CHECK-LABEL: func.func @weights_and_margins(
// CHECK: nn.weighted
// CHECK: %[[OWN:.*]] = nn.target_values %arg0, %arg1 {ignore_index = -100 : i64} : (tensor<?xi64>, tensor<?x64xf32>) -> tensor<?xf32>
// CHECK: %[[APART:.*]] = nn.reshape %[[OWN]] {shape = array<i64: -1, 1>} : (tensor<?xf32>) -> tensor<?x1xf32>
// CHECK: return %{{.*}}, %[[APART]]
func.func @weights_and_margins(%t: tensor<?xi64>, %x: tensor<?x64xf32>, %w: tensor<64xf32>) -> (tensor<f32>, tensor<?x1xf32>) {
  %0 = nn.target_weights %t {classes = 64 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?xi64>) -> tensor<?x64xf32>
  %1 = nn.mul %0, %w : (tensor<?x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %2 = nn.weighted %1, %x : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %3 = nn.sum %2 {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x64xf32>) -> tensor<f32>
  %4 = nn.weighted %0, %x : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %5 = nn.sum %4 {dims = array<i64: 1>, keepdim = true} : (tensor<?x64xf32>) -> tensor<?x1xf32>
  return %3, %5 : tensor<f32>, tensor<?x1xf32>
}
