// RUN: sheaf-opt %s --nn-split-sums | FileCheck %s

// Row by row along the outermost dimension, then of what the rows gave.
// CHECK-LABEL: func.func @loss(
// CHECK-NEXT: %[[ROWS:.+]] = nn.sum %arg0 {dims = array<i64: 1>, keepdim = true} : (tensor<?x1000xf32>) -> tensor<?x1xf32>
// CHECK-NEXT: %[[ALL:.+]] = nn.sum %[[ROWS]] {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x1xf32>) -> tensor<f32>
// CHECK-NEXT: return %[[ALL]]
func.func @loss(%x: tensor<?x1000xf32>) -> tensor<f32> {
  %0 = nn.sum %x {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x1000xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// Rows of equal length: the mean of their means. The outermost dimension has more than one element.
// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %[[ROWS:.+]] = nn.mean %arg0 {dims = array<i64: 2, 3>, keepdim = true} : (tensor<1x512x64x9xf32>) -> tensor<1x512x1x1xf32>
// CHECK-NEXT: nn.mean %[[ROWS]] {dims = array<i64: 0, 1, 2, 3>, keepdim = true} : (tensor<1x512x1x1xf32>) -> tensor<1x1x1x1xf32>
// CHECK-NEXT: return
func.func @mean(%x: tensor<1x512x64x9xf32>) -> tensor<1x1x1x1xf32> {
  %0 = nn.mean %x {dims = array<i64: 0, 1, 2, 3>, keepdim = true} : (tensor<1x512x64x9xf32>) -> tensor<1x1x1x1xf32>
  return %0 : tensor<1x1x1x1xf32>
}

// A second open size: rows of the batch.
// CHECK-LABEL: func.func @lengths(
// CHECK-NEXT: %[[ROWS:.+]] = nn.sum %arg0 {dims = array<i64: 1, 2>, keepdim = true} : (tensor<?x?x50xf32>) -> tensor<?x1x1xf32>
// CHECK-NEXT: nn.sum %[[ROWS]] {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x1x1xf32>) -> tensor<f32>
// CHECK-NEXT: return
func.func @lengths(%x: tensor<?x?x50xf32>) -> tensor<f32> {
  %0 = nn.sum %x {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x?x50xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @largest(
// CHECK-NEXT: %[[ROWS:.+]] = nn.extremum %arg0 {
// CHECK-SAME: dims = array<i64: 1>
// CHECK-SAME: keepdim = true
// CHECK-NEXT: nn.extremum %[[ROWS]] {
// CHECK-SAME: dims = array<i64: 0, 1>
// CHECK-NEXT: return
func.func @largest(%x: tensor<?x1000xf32>) -> tensor<f32> {
  %0 = nn.extremum %x {dims = array<i64: 0, 1>, keepdim = false, minimum = true} : (tensor<?x1000xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// One block is as fast; there is one dimension; it isn't a sum of everything; rows are short.
// CHECK-LABEL: func.func @whole(
// CHECK-COUNT-4: nn.sum
// CHECK-NOT: nn.sum
func.func @whole(%x: tensor<?x10xf32>, %v: tensor<1000000xf32>, %y: tensor<?x1000x1000xf32>, %s: tensor<1000000x4xf32>)
    -> (tensor<f32>, tensor<f32>, tensor<?xf32>, tensor<f32>) {
  %0 = nn.sum %x {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x10xf32>) -> tensor<f32>
  %1 = nn.sum %v {dims = array<i64: 0>, keepdim = false} : (tensor<1000000xf32>) -> tensor<f32>
  %2 = nn.sum %y {dims = array<i64: 1, 2>, keepdim = false} : (tensor<?x1000x1000xf32>) -> tensor<?xf32>
  %3 = nn.sum %s {dims = array<i64: 0, 1>, keepdim = false} : (tensor<1000000x4xf32>) -> tensor<f32>
  return %0, %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<?xf32>, tensor<f32>
}
