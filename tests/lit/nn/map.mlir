// RUN: sheaf-opt %s | sheaf-opt | FileCheck %s

// A function of one element of each input: its name and its numbers. Inputs broadcast; a number may replace the last.
// CHECK-LABEL: func.func @functions(
func.func @functions(%x: tensor<?x5xf32>, %row: tensor<5xf32>, %i: tensor<?x5xi64>) {
  // CHECK: nn.map "softplus" %{{.*}} {numbers = array<f64: 1.000000e+00, 2.000000e+01>} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %0 = nn.map "softplus" %x {numbers = array<f64: 1.0, 20.0>} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.map "minimum" %{{.*}}, %{{.*}} {numbers = array<f64>} : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  %1 = nn.map "minimum" %x, %row {numbers = array<f64>} : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.map "add" %{{.*}} {numbers = array<f64: 3.000000e+00>} : (tensor<?x5xi64>) -> tensor<?x5xi64>
  %2 = nn.map "add" %i {numbers = array<f64: 3.0>} : (tensor<?x5xi64>) -> tensor<?x5xi64>
  // CHECK: nn.map "lt" %{{.*}} {numbers = array<f64: 5.000000e-01>} : (tensor<?x5xf32>) -> tensor<?x5xi1>
  %3 = nn.map "lt" %x {numbers = array<f64: 0.5>} : (tensor<?x5xf32>) -> tensor<?x5xi1>
  // CHECK: nn.map "where" %{{.*}}, %{{.*}}, %{{.*}} {numbers = array<f64>} : (tensor<?x5xi1>, tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  %4 = nn.map "where" %3, %x, %row {numbers = array<f64>} : (tensor<?x5xi1>, tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  return
}

// A slope of prelu runs along dimension 1, wherever that is.
// CHECK-LABEL: func.func @channels(
func.func @channels(%x: tensor<?x3x4xf32>, %w: tensor<3xf32>) {
  // CHECK: nn.map "prelu" %{{.*}}, %{{.*}} {{.*}} -> tensor<?x3x4xf32>
  %0 = nn.map "prelu" %x, %w {numbers = array<f64>} : (tensor<?x3x4xf32>, tensor<3xf32>) -> tensor<?x3x4xf32>
  return
}

// The dual reads what the derivative needs: for a product the other operand, for a root its result (number 1).
// CHECK-LABEL: func.func @duals(
func.func @duals(%dy: tensor<?x5xf32>, %x: tensor<?x5xf32>) {
  // CHECK: nn.map_backward "sqrt" %{{.*}}, %{{.*}} {along = 0 : i64, numbers = array<f64>, reads = array<i64: 1>}
  %0 = nn.map_backward "sqrt" %dy, %x {along = 0 : i64, numbers = array<f64>, reads = array<i64: 1>} : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.map_backward "neg" %{{.*}} {along = 0 : i64, numbers = array<f64>, reads = array<i64>}
  %1 = nn.map_backward "neg" %dy {along = 0 : i64, numbers = array<f64>, reads = array<i64>} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}

// Repeating: -1 keeps a size, -2 is that of another value.
// CHECK-LABEL: func.func @expand(
func.func @expand(%x: tensor<1x3xf32>, %rows: tensor<?x7xf32>) {
  // CHECK: nn.expand %{{.*}} like %{{.*}} {like_dim = 0 : i64, shape = array<i64: -2, 4, 3>} : (tensor<1x3xf32>, tensor<?x7xf32>) -> tensor<?x4x3xf32>
  %0 = nn.expand %x like %rows {like_dim = 0 : i64, shape = array<i64: -2, 4, 3>} : (tensor<1x3xf32>, tensor<?x7xf32>) -> tensor<?x4x3xf32>
  // CHECK: nn.expand %{{.*}} {like_dim = 0 : i64, shape = array<i64: 5, -1>} : (tensor<1x3xf32>) -> tensor<5x3xf32>
  %1 = nn.expand %x {like_dim = 0 : i64, shape = array<i64: 5, -1>} : (tensor<1x3xf32>) -> tensor<5x3xf32>
  return
}
