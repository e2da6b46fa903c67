// RUN: sheaf-opt %s --nn-infer-shapes | FileCheck %s
// RUN: sheaf-opt %s --nn-infer-shapes --nn-lower-layers | FileCheck %s --check-prefix=LOWERED

// A length is at most what a table that is cut to it has: of two tables, the shorter one's size.
// CHECK-LABEL: func.func @tables(
// CHECK-SAME: nn.extents = ["batch", "seq", "8"]
// CHECK-SAME: nn.lengths = {seq = 12 : i64}
// CHECK: nn.strided_slice {{.*}} nn.length = "seq"{{.*}} -> tensor<1x?x8xf32>
// CHECK: nn.add {{.*}} -> tensor<?x?x8xf32>
// A slice to a length states no size of its own.
// LOWERED-LABEL: func.func @tables(
// LOWERED: nn.slice %{{.*}} {begin = 0 : i64, dim = 1 : i64, nn.length = "seq", size = 0 : i64} : (tensor<1x16x8xf32>) -> tensor<1x?x8xf32>
func.func @tables(%x: tensor<?x?x8xf32> {nn.name = "x", nn.role = "input", nn.extents = ["batch", "seq", "8"]},
                  %a: tensor<1x16x8xf32> {nn.name = "a", nn.role = "parameter"},
                  %b: tensor<12x8xf32> {nn.name = "b", nn.role = "parameter"}) -> tensor<*xf32>
    attributes {nn.lengths = {seq = 0 : i64}, nn.outputs = ["y"]} {
  %0 = nn.strided_slice %a {dim = 1 : i64, start = 0 : i64, step = 1 : i64, nn.length = "seq"} : (tensor<1x16x8xf32>) -> tensor<*xf32>
  %1 = nn.strided_slice %b {dim = 0 : i64, start = 0 : i64, step = 1 : i64, nn.length = "seq"} : (tensor<12x8xf32>) -> tensor<*xf32>
  %2 = nn.add %x, %0 : (tensor<?x?x8xf32>, tensor<*xf32>) -> tensor<*xf32>
  %3 = nn.add %2, %1 : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %3 : tensor<*xf32>
}

// Sizes multiply, and several sizes of -1 are the input's own, in order: heads are split off and joined.
// CHECK-LABEL: func.func @heads(
// CHECK: nn.reshape {{.*}} -> tensor<?x?x2x4xf32>
// CHECK: nn.permute {{.*}} -> tensor<?x2x?x4xf32>
// CHECK: nn.flatten {{.*}} -> tensor<?x8xf32>
func.func @heads(%x: tensor<?x?x8xf32> {nn.name = "x", nn.role = "input", nn.extents = ["batch", "seq", "8"]}) -> (tensor<*xf32>, tensor<*xf32>)
    attributes {nn.lengths = {seq = 0 : i64}, nn.outputs = ["y", "z"]} {
  %0 = nn.reshape %x {shape = array<i64: -1, -1, 2, 4>} : (tensor<?x?x8xf32>) -> tensor<*xf32>
  %1 = nn.permute %0 {dims = array<i64: 0, 2, 1, 3>} : (tensor<*xf32>) -> tensor<*xf32>
  %2 = nn.flatten %x {start_dim = 0 : i64, end_dim = 1 : i64} : (tensor<?x?x8xf32>) -> tensor<*xf32>
  return %1, %2 : tensor<*xf32>, tensor<*xf32>
}
