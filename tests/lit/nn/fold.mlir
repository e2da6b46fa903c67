// RUN: sheaf-opt %s --canonicalize | FileCheck %s

// relu of relu is relu.
// CHECK-LABEL: func.func @relu_twice(
// CHECK-COUNT-1: nn.relu
// CHECK-NOT: nn.relu
// CHECK: return
func.func @relu_twice(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.relu %x : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %1 = nn.relu %0 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %1 : tensor<?x5xf32>
}

// leaky_relu of leaky_relu is not: its slope would be another.
// CHECK-LABEL: func.func @leaky_relu_twice(
// CHECK-COUNT-2: nn.leaky_relu
func.func @leaky_relu_twice(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.leaky_relu %x {negative_slope = 0.1 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %1 = nn.leaky_relu %0 {negative_slope = 0.1 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %1 : tensor<?x5xf32>
}

// A scale by 1 gives its input.
// CHECK-LABEL: func.func @scale_by_one(
// CHECK-SAME: %[[X:.*]]: tensor<?x5xf32>)
// CHECK-NEXT: return %[[X]]
func.func @scale_by_one(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.scale %x {value = 1.0 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// A scale by anything else stays, and by 0 above all: 0 times NaN is NaN.
// CHECK-LABEL: func.func @scale_by_zero(
// CHECK: nn.scale %{{.*}} {value = 0.000000e+00 : f64}
func.func @scale_by_zero(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.scale %x {value = 0.0 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// A permutation that keeps the order gives its input.
// CHECK-LABEL: func.func @permute_identity(
// CHECK-SAME: %[[X:.*]]: tensor<?x5xf32>)
// CHECK-NEXT: return %[[X]]
func.func @permute_identity(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.permute %x {dims = array<i64: 0, 1>} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// One that swaps equal sizes does not, though the types are equal.
// CHECK-LABEL: func.func @permute_square(
// CHECK: nn.permute
func.func @permute_square(%x: tensor<5x5xf32>) -> tensor<5x5xf32> {
  %0 = nn.permute %x {dims = array<i64: 1, 0>} : (tensor<5x5xf32>) -> tensor<5x5xf32>
  return %0 : tensor<5x5xf32>
}

// A folder doesn't change a value's type: before shape inference the op stays.
// CHECK-LABEL: func.func @permute_unranked(
// CHECK: nn.permute
func.func @permute_unranked(%x: tensor<?x5xf32>) -> tensor<*xf32> {
  %0 = nn.permute %x {dims = array<i64: 0, 1>} : (tensor<?x5xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// A reshape of a static shape into itself gives its input.
// CHECK-LABEL: func.func @reshape_identity(
// CHECK-SAME: %[[X:.*]]: tensor<3x5xf32>)
// CHECK-NEXT: return %[[X]]
func.func @reshape_identity(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = nn.reshape %x {shape = array<i64: 3, 5>} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// Unused values disappear, but a print is not there for its value.
// CHECK-LABEL: func.func @unused(
// CHECK-NOT: nn.relu
// CHECK: nn.print
// CHECK-NOT: nn.softmax
func.func @unused(%x: tensor<3x5xf32>) {
  %0 = nn.relu %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %1 = nn.print %x text "{0}" : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = nn.softmax %x {dim = 1 : i64, log = true} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}
