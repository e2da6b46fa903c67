// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

// A length is the size of a dual's result where the gradient doesn't have it. The names are the forward program's.
// CHECK-LABEL: func.func @joined(
// Rows and entries in one dimension come apart again: the entries have their name, the rows are what is left.
// CHECK: nn.linear_backward_data
// CHECK: nn.reshape {{.*}} {nn.named_sizes = ["", "seq", ""], shape = array<i64: -1, -1, 8>} : (tensor<?x8xf32>) -> tensor<?x?x8xf32>
// A table that was cut to the length has its own size again.
// CHECK: nn.pad {{.*}} {begin = 0 : i64, dim = 1 : i64, size = 16 : i64} : (tensor<1x?x8xf32>) -> tensor<1x16x8xf32>
func.func @joined(%x: !dist.tensor<tensor<?x?x8xf32>, #dist.device<0>> {nn.role = "input", nn.name = "x", nn.extents = ["batch", "seq", "8"]}, %t: !dist.tensor<tensor<1x16x8xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "t"}, %w: !dist.tensor<tensor<3x8xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>>
    attributes {nn.lengths = {seq = 16 : i64}} {
  %0 = dist.apply on #dist.device<0>(%x, %t, %w) : (!dist.tensor<tensor<?x?x8xf32>, #dist.device<0>>, !dist.tensor<tensor<1x16x8xf32>, #dist.device<0>>, !dist.tensor<tensor<3x8xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a: tensor<?x?x8xf32>, %b: tensor<1x16x8xf32>, %c: tensor<3x8xf32>):
    %s = nn.slice %b {dim = 1 : i64, begin = 0 : i64, size = 0 : i64, nn.length = "seq"} : (tensor<1x16x8xf32>) -> tensor<1x?x8xf32>
    %y = nn.add %a, %s : (tensor<?x?x8xf32>, tensor<1x?x8xf32>) -> tensor<?x?x8xf32>
    %f = nn.flatten %y {start_dim = 0 : i64, end_dim = 1 : i64} : (tensor<?x?x8xf32>) -> tensor<?x8xf32>
    %z = nn.linear %f, %c : (tensor<?x8xf32>, tensor<3x8xf32>) -> tensor<?x3xf32>
    %l = nn.sum %z {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x3xf32>) -> tensor<f32>
    dist.yield %l : tensor<f32>
  }
  return %0 : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// The last entry of a length goes back to where it was; a mean over it is divided by what a run has.
// CHECK-LABEL: func.func @one_entry(
// CHECK-DAG: nn.pad {{.*}} {begin = -1 : i64, dim = 1 : i64, nn.length = "seq", size = 0 : i64} : (tensor<?x1x8xf32>) -> tensor<?x?x8xf32>
// CHECK-DAG: nn.inverse_count {{.*}} {dims = array<i64: 1>}
func.func @one_entry(%x: !dist.tensor<tensor<?x?x8xf32>, #dist.device<0>> {nn.role = "input", nn.name = "x", nn.extents = ["batch", "seq", "8"]}, %w: !dist.tensor<tensor<8xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>>
    attributes {nn.lengths = {seq = 0 : i64}} {
  %0 = dist.apply on #dist.device<0>(%x, %w) : (!dist.tensor<tensor<?x?x8xf32>, #dist.device<0>>, !dist.tensor<tensor<8xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a: tensor<?x?x8xf32>, %b: tensor<8xf32>):
    %y = nn.mul %a, %b : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
    %last = nn.select %y {dim = 1 : i64, index = -1 : i64} : (tensor<?x?x8xf32>) -> tensor<?x8xf32>
    %mean = nn.mean %y {dims = array<i64: 1>, keepdim = false} : (tensor<?x?x8xf32>) -> tensor<?x8xf32>
    %z = nn.add %last, %mean : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    %l = nn.sum %z {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x8xf32>) -> tensor<f32>
    dist.yield %l : tensor<f32>
  }
  return %0 : !dist.tensor<tensor<f32>, #dist.device<0>>
}
