// RUN: sheaf-opt %s --split-input-file --nn-synchronize | FileCheck %s

// The sums of x, then of the squared deviations from the mean, go over all replicas; the count of elements is known from the sizes.
// CHECK-LABEL: func.func @images(
// CHECK: ^bb0(%[[X:.*]]: tensor<?x4x8x8xf32>):
// CHECK-NEXT: %[[INVERSE:.*]] = nn.inverse_count %[[X]] {dims = array<i64: 0, 2, 3>, whole} : (tensor<?x4x8x8xf32>) -> tensor<f32>
// CHECK-NEXT: %[[ROWS:.*]] = nn.sum %[[X]] {dims = array<i64: 2, 3>, keepdim = false}
// CHECK-NEXT: %[[OWN:.*]] = nn.sum %[[ROWS]] {dims = array<i64: 0>, keepdim = false}
// CHECK-NEXT: %[[SUM:.*]] = nn.sum_over_replicas %[[OWN]] : tensor<4xf32>
// CHECK-NEXT: %[[MEAN:.*]] = nn.mul %[[SUM]], %[[INVERSE]]
// CHECK-NEXT: %[[MEANS:.*]] = nn.broadcast %[[MEAN]] like %[[X]] {dims = array<i64: 1>}
// CHECK-NEXT: %[[DEVIATION:.*]] = nn.sub %[[X]], %[[MEANS]]
// CHECK-NEXT: nn.mul %[[DEVIATION]], %[[DEVIATION]]
// CHECK-NEXT: nn.sum
// CHECK-NEXT: nn.sum
// CHECK-NEXT: %[[SQUARES:.*]] = nn.sum_over_replicas
// CHECK-NEXT: %[[VAR:.*]] = nn.mul %[[SQUARES]], %[[INVERSE]]
// CHECK-NEXT: %[[RSQRT:.*]] = nn.rsqrt %[[VAR]] {eps = 1.000000e-05 : f64}
// CHECK-NEXT: %[[SCALE:.*]] = nn.mul %[[RSQRT]], %arg1
// CHECK-NEXT: %[[SCALES:.*]] = nn.broadcast %[[SCALE]] like %[[DEVIATION]] {dims = array<i64: 1>}
// CHECK-NEXT: %[[SCALED:.*]] = nn.mul %[[DEVIATION]], %[[SCALES]]
// CHECK-NEXT: %[[BIAS:.*]] = nn.broadcast %arg2 like %[[DEVIATION]] {dims = array<i64: 1>}
// CHECK-NEXT: %[[Y:.*]] = nn.add %[[SCALED]], %[[BIAS]]
// CHECK-NEXT: nn.print %[[MEAN]]
// CHECK-NEXT: nn.print %[[VAR]]
// CHECK-NEXT: nn.yield %[[Y]]
func.func @images(%x: tensor<?x4x8x8xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<?x4x8x8xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x4x8x8xf32>) -> tensor<?x4x8x8xf32> {
  ^bb0(%chunk: tensor<?x4x8x8xf32>):
    %y, %mean, %var = nn.batch_norm_train %chunk weight(%w) bias(%b) {eps = 1.0e-5 : f64, nn.synchronized} : (tensor<?x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
    %1 = nn.print %mean text "{0}" : (tensor<4xf32>) -> tensor<4xf32>
    %2 = nn.print %var text "{0}" : (tensor<4xf32>) -> tensor<4xf32>
    nn.yield %y : tensor<?x4x8x8xf32>
  }
  return %0 : tensor<?x4x8x8xf32>
}

// -----

// In f32, whatever x is. A batch norm that isn't marked keeps to its replica's chunk.
// CHECK-LABEL: func.func @halves(
// CHECK: %[[WIDE:.*]] = nn.cast %{{.*}} {to = "float32"} : (tensor<?x4xbf16>) -> tensor<?x4xf32>
// CHECK: nn.sum %[[WIDE]] {dims = array<i64: 0>, keepdim = false} : (tensor<?x4xf32>) -> tensor<4xf32>
// CHECK: %[[Y:.*]] = nn.cast %{{.*}} {to = "bfloat16"} : (tensor<?x4xf32>) -> tensor<?x4xbf16>
// CHECK: nn.batch_norm_train %[[Y]]
func.func @halves(%x: tensor<?x4xbf16>) -> tensor<?x4xbf16> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x4xbf16>) -> tensor<?x4xbf16> {
  ^bb0(%chunk: tensor<?x4xbf16>):
    %y, %mean, %var = nn.batch_norm_train %chunk {eps = 1.0e-5 : f64, nn.synchronized} : (tensor<?x4xbf16>) -> (tensor<?x4xbf16>, tensor<4xf32>, tensor<4xf32>)
    %own, %m, %v = nn.batch_norm_train %y {eps = 1.0e-5 : f64} : (tensor<?x4xbf16>) -> (tensor<?x4xbf16>, tensor<4xf32>, tensor<4xf32>)
    nn.yield %own : tensor<?x4xbf16>
  }
  return %0 : tensor<?x4xbf16>
}

// -----

// Outside of regions a batch is whole.
// CHECK-LABEL: func.func @outside(
// CHECK-NEXT: nn.batch_norm_train %arg0 {eps = 1.000000e-05 : f64} :
func.func @outside(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y, %mean, %var = nn.batch_norm_train %x {eps = 1.0e-5 : f64, nn.synchronized} : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %y : tensor<?x4xf32>
}
