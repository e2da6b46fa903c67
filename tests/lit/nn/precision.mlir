// RUN: sheaf-opt %s | sheaf-opt | FileCheck %s
// RUN: sheaf-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// A cast changes the elements and nothing else.
// CHECK-LABEL: func.func @cast(
// CHECK: nn.cast %{{.*}} {to = "bfloat16"} : (tensor<?x5xf32>) -> tensor<?x5xbf16>
// CHECK: nn.cast %{{.*}} {to = "float32"} : (tensor<?x5xbf16>) -> tensor<?x5xf32>
func.func @cast(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.cast %x {to = "bfloat16"} : (tensor<?x5xf32>) -> tensor<?x5xbf16>
  %1 = nn.cast %0 {to = "float32"} : (tensor<?x5xbf16>) -> tensor<?x5xf32>
  return %1 : tensor<?x5xf32>
}

// A cast to the present type changes nothing; a round trip rounds, so it stays.
// FOLD-LABEL: func.func @same(
// FOLD-NEXT: return %arg0
func.func @same(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.cast %x {to = "float32"} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// Sums of bf16 values are f32: gradients of weights and biases, statistics, sums.
// CHECK-LABEL: func.func @sums(
func.func @sums(%x: tensor<?x4x6x6xbf16>, %dy: tensor<?x8x6x6xbf16>) {
  // CHECK: nn.conv_backward_weight {{.*}} -> (tensor<8x4x3x3xf32>, tensor<8xf32>)
  %w, %b = nn.conv_backward_weight %x, %dy {stride = array<i64: 1, 1>, padding_begin = array<i64: 1, 1>, padding_end = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, kernel_size = array<i64: 3, 3>, bias = true} : (tensor<?x4x6x6xbf16>, tensor<?x8x6x6xbf16>) -> (tensor<8x4x3x3xf32>, tensor<8xf32>)
  // CHECK: nn.batch_norm_train {{.*}} -> (tensor<?x4x6x6xbf16>, tensor<4xf32>, tensor<4xf32>)
  %y, %m, %v = nn.batch_norm_train %x {eps = 1.0e-05 : f64} : (tensor<?x4x6x6xbf16>) -> (tensor<?x4x6x6xbf16>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: nn.sum {{.*}} : (tensor<?x4x6x6xbf16>) -> tensor<?xf32>
  %s = nn.sum %x {dims = array<i64: 1, 2, 3>, keepdim = false} : (tensor<?x4x6x6xbf16>) -> tensor<?xf32>
  return
}
