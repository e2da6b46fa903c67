// RUN: sheaf-opt %s --nn-fuse-elementwise | FileCheck %s

// A chain becomes one kernel, with each outer value as one input.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: nn.fused(%arg0, %arg1) : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
// CHECK: nn.add
// CHECK: nn.tanh
// CHECK: nn.mul
// CHECK-NOT: nn.fused
// CHECK: return
func.func @chain(%x: tensor<?x5xf32>, %b: tensor<5xf32>) -> tensor<?x5xf32> {
  %0 = nn.add %x, %b : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  %1 = nn.tanh %0 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.mul %1, %x : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  return %2 : tensor<?x5xf32>
}

// A producer of another shape would be computed once for each element that it is broadcast to.
// CHECK-LABEL: func.func @other_shape(
// CHECK: nn.fused(%arg1) : (tensor<?x1xf32>) -> tensor<?x1xf32>
// CHECK: nn.fused({{.*}}nn.notes = ["not one kernel with 'fused': the results differ in shape or, beside a norm or sum, in element type"]{{.*}} -> tensor<?x5xf32>
func.func @other_shape(%x: tensor<?x5xf32>, %c: tensor<?x1xf32>) -> tensor<?x5xf32> {
  %0 = nn.tanh %c : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %1 = nn.add %x, %0 : (tensor<?x5xf32>, tensor<?x1xf32>) -> tensor<?x5xf32>
  return %1 : tensor<?x5xf32>
}

// A producer with two users is computed once, on its own.
// CHECK-LABEL: func.func @two_users(
// CHECK-COUNT-3: nn.fused
func.func @two_users(%x: tensor<?x5xf32>) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %0 = nn.tanh %x : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %1 = nn.relu %0 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.silu %0 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %1, %2 : tensor<?x5xf32>, tensor<?x5xf32>
}

// Values that depend only on parameters are computed once, not at each step, and stay apart from others.
// CHECK-LABEL: func.func @parameters(
// CHECK: %[[P:.*]] = nn.fused(%arg1)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.tanh
// CHECK-NEXT: nn.relu
// CHECK: nn.fused(%arg0, %[[P]]) {nn.notes = ["not one kernel with 'fused': one of them depends only on weights and runs once"]}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.add
func.func @parameters(%x: tensor<3x5xf32> {nn.role = "input"}, %p: tensor<3x5xf32> {nn.role = "parameter"}) -> tensor<3x5xf32> {
  %0 = nn.tanh %p : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %1 = nn.relu %0 : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = nn.add %x, %1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %2 : tensor<3x5xf32>
}

// Library calls between element-wise ops separate them.
// CHECK-LABEL: func.func @library(
// CHECK: nn.fused
// CHECK: nn.max_pool
// CHECK: nn.fused
func.func @library(%x: tensor<?x2x4x4xf32>) -> tensor<?x2x2x2xf32> {
  %0 = nn.tanh %x : (tensor<?x2x4x4xf32>) -> tensor<?x2x4x4xf32>
  %1 = nn.max_pool %0 {ceil_mode = false, dilation = array<i64: 1, 1>, kernel_size = array<i64: 2, 2>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x2x4x4xf32>) -> tensor<?x2x2x2xf32>
  %2 = nn.relu %1 : (tensor<?x2x2x2xf32>) -> tensor<?x2x2x2xf32>
  return %2 : tensor<?x2x2x2xf32>
}

// A softmax absorbs the element-wise ops before and after it, broadcast operands included.
// CHECK-LABEL: func.func @around_softmax(
// CHECK: nn.fused(%arg0, %arg1)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.softmax
// CHECK-NEXT: nn.relu
// CHECK-NEXT: nn.yield
// CHECK-NOT: nn.fused
func.func @around_softmax(%x: tensor<?x5xf32>, %m: tensor<5xf32>) -> tensor<?x5xf32> {
  %0 = nn.add %x, %m : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  %1 = nn.softmax %0 {dim = 1 : i64, log = false} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.relu %1 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %2 : tensor<?x5xf32>
}

// A norm's kernel cannot broadcast its neighbours' operands: the sum before it stays apart, the activation doesn't.
// CHECK-LABEL: func.func @around_norm(
// CHECK: %[[SUM:.*]] = nn.fused(%arg0, %arg1)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.yield
// CHECK: nn.fused(%[[SUM]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.layer_norm
// CHECK-NEXT: nn.silu
func.func @around_norm(%x: tensor<?x5xf32>, %m: tensor<5xf32>) -> tensor<?x5xf32> {
  %0 = nn.add %x, %m : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  %1 = nn.layer_norm %0 {eps = 1.0e-5, normalized_shape = array<i64: 5>} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.silu %1 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %2 : tensor<?x5xf32>
}

// Two softmaxes are two kernels: the op between them joins the first.
// CHECK-LABEL: func.func @two_rows(
// CHECK: nn.fused
// CHECK: nn.softmax
// CHECK: nn.fused
// CHECK: nn.softmax
func.func @two_rows(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.softmax %x {dim = 1 : i64, log = false} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %1 = nn.tanh %0 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.softmax %1 {dim = 1 : i64, log = false} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %2 : tensor<?x5xf32>
}

// A sum absorbs the ops before it, broadcast operands included, and those after it that have its result's shape.
// CHECK-LABEL: func.func @around_sum(
// CHECK: nn.fused(%arg0, %arg1, %arg2)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.sum
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.yield
// CHECK-NOT: nn.fused
func.func @around_sum(%x: tensor<?x5xf32>, %w: tensor<5xf32>, %n: tensor<f32>) -> tensor<f32> {
  %0 = nn.mul %x, %w : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  %1 = nn.sum %0 {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x5xf32>) -> tensor<f32>
  %2 = nn.mul %1, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// Broadcast again, the sum's result is read by a kernel of its own.
// CHECK-LABEL: func.func @mean_and_back(
// CHECK: %[[MEAN:.*]] = nn.fused(%arg0)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.mean
// CHECK: nn.fused(%arg0, %[[MEAN]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.sub
func.func @mean_and_back(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.mean %x {dims = array<i64: 1>, keepdim = true} : (tensor<?x5xf32>) -> tensor<?x1xf32>
  %1 = nn.sub %x, %0 : (tensor<?x5xf32>, tensor<?x1xf32>) -> tensor<?x5xf32>
  return %1 : tensor<?x5xf32>
}

// Ops that use their position join a sum after them, but not a softmax.
// CHECK-LABEL: func.func @places(
// CHECK: nn.fused({{.*}}) : (tensor<?xi64>, tensor<?x5xf32>) -> tensor<f32>
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.target_weights
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.sum
// CHECK: nn.fused(%arg0, %arg2)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.dropout_train
// CHECK-NEXT: nn.yield
// CHECK: nn.fused
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.softmax
func.func @places(%x: tensor<?x5xf32>, %t: tensor<?xi64>, %step: tensor<i64>) -> (tensor<f32>, tensor<?x5xf32>) {
  %0 = nn.target_weights %t {classes = 5 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?xi64>) -> tensor<?x5xf32>
  %1 = nn.mul %x, %0 : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.sum %1 {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x5xf32>) -> tensor<f32>
  %3 = nn.dropout_train %x step(%step) seed(%step) {p = 0.5 : f64, layer = 7 : i64} : (tensor<?x5xf32>, tensor<i64>, tensor<i64>) -> tensor<?x5xf32>
  %4 = nn.softmax %3 {dim = 1 : i64, log = false} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %2, %4 : tensor<f32>, tensor<?x5xf32>
}

// What only spreads a smaller tensor is computed by each that reads it; what reads a tensor of its own size is not.
// CHECK-LABEL: func.func @spread(
// CHECK: %[[SUM:.*]] = nn.fused(%arg1, %arg0)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.target_weights
// CHECK-NEXT: nn.weighted
// CHECK-NEXT: nn.sum
// CHECK: %[[DX:.*]] = nn.fused(%arg1, %arg2, %arg0)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.target_weights
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.sub
// CHECK: %[[OWN:.*]] = nn.fused(%arg0)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.exp
// CHECK-NEXT: nn.yield
// CHECK: return %[[SUM]], %[[DX]]
func.func @spread(%x: tensor<?x5xf32>, %t: tensor<?xi64>, %n: tensor<f32>) -> (tensor<f32>, tensor<?x5xf32>, tensor<f32>, tensor<?x5xf32>) {
  %0 = nn.target_weights %t {classes = 5 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?xi64>) -> tensor<?x5xf32>
  %1 = nn.weighted %0, %x : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.sum %1 {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x5xf32>) -> tensor<f32>
  %3 = nn.mul %0, %n : (tensor<?x5xf32>, tensor<f32>) -> tensor<?x5xf32>
  %4 = nn.sub %3, %x : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  %5 = nn.exp %x : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %6 = nn.sum %5 {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x5xf32>) -> tensor<f32>
  %7 = nn.mul %5, %n : (tensor<?x5xf32>, tensor<f32>) -> tensor<?x5xf32>
  return %2, %4, %6, %7 : tensor<f32>, tensor<?x5xf32>, tensor<f32>, tensor<?x5xf32>
}
