// RUN: sheaf-opt %s | sheaf-opt | FileCheck %s

// Ops that take parts of tensors: the part of a shape that depends on the batch stays `?`.
// CHECK-LABEL: func.func @parts(
func.func @parts(%x: tensor<?x4x6xf32>, %i: tensor<2x3xi64>, %j: tensor<?x2x6xi32>, %dy: tensor<?x2x3x6xf32>) {
  // CHECK: nn.strided_slice %{{.*}} {dim = -1 : i64, start = -4 : i64, step = 2 : i64} : (tensor<?x4x6xf32>) -> tensor<?x4x2xf32>
  %0 = nn.strided_slice %x {dim = -1 : i64, start = -4 : i64, step = 2 : i64} : (tensor<?x4x6xf32>) -> tensor<?x4x2xf32>
  // CHECK: nn.split %{{.*}} {dim = 2 : i64, sections = array<i64: 4>} : (tensor<?x4x6xf32>) -> (tensor<?x4x4xf32>, tensor<?x4x2xf32>)
  %1:2 = nn.split %x {sections = array<i64: 4>, dim = 2 : i64} : (tensor<?x4x6xf32>) -> (tensor<?x4x4xf32>, tensor<?x4x2xf32>)
  // CHECK: nn.roll %{{.*}} {dims = array<i64: 1>, shifts = array<i64: -3>} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %2 = nn.roll %x {shifts = array<i64: -3>, dims = array<i64: 1>} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  // CHECK: nn.flip %{{.*}} {dims = array<i64: 1, 2>} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %3 = nn.flip %x {dims = array<i64: 1, 2>} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  // CHECK: nn.border %{{.*}} {mode = "constant", pad = array<i64: 1, 2, -1, 0>, value = 5.000000e-01 : f64} : (tensor<?x4x6xf32>) -> tensor<?x3x9xf32>
  %4 = nn.border %x {mode = "constant", pad = array<i64: 1, 2, -1, 0>, value = 0.5 : f64} : (tensor<?x4x6xf32>) -> tensor<?x3x9xf32>
  // CHECK: nn.unsqueeze %{{.*}} {dim = -1 : i64} : (tensor<?x4x6xf32>) -> tensor<?x4x6x1xf32>
  %5 = nn.unsqueeze %x {dim = -1 : i64} : (tensor<?x4x6xf32>) -> tensor<?x4x6x1xf32>
  // CHECK: nn.squeeze %{{.*}} {dims = array<i64>} : (tensor<?x4x6x1xf32>) -> tensor<?x4x6xf32>
  %6 = nn.squeeze %5 {dims = array<i64>} : (tensor<?x4x6x1xf32>) -> tensor<?x4x6xf32>
  // CHECK: nn.index_select %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<2x3xi64>, tensor<?x4x6xf32>) -> tensor<?x2x3x6xf32>
  %7 = nn.index_select %i, %x {dim = 1 : i64} : (tensor<2x3xi64>, tensor<?x4x6xf32>) -> tensor<?x2x3x6xf32>
  // CHECK: nn.gather_elements %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<?x2x6xi32>, tensor<?x4x6xf32>) -> tensor<?x2x6xf32>
  %8 = nn.gather_elements %j, %x {dim = 1 : i64} : (tensor<?x2x6xi32>, tensor<?x4x6xf32>) -> tensor<?x2x6xf32>
  // CHECK: nn.index_select_backward %{{.*}}, %{{.*}} {dim = 1 : i64, size = 4 : i64} : (tensor<2x3xi64>, tensor<?x2x3x6xf32>) -> tensor<?x4x6xf32>
  %9 = nn.index_select_backward %i, %dy {dim = 1 : i64, size = 4 : i64} : (tensor<2x3xi64>, tensor<?x2x3x6xf32>) -> tensor<?x4x6xf32>
  // CHECK: nn.gather_elements_backward %{{.*}}, %{{.*}} {dim = 1 : i64, size = 4 : i64} : (tensor<?x2x6xi32>, tensor<?x2x6xf32>) -> tensor<?x4x6xf32>
  %10 = nn.gather_elements_backward %j, %8 {dim = 1 : i64, size = 4 : i64} : (tensor<?x2x6xi32>, tensor<?x2x6xf32>) -> tensor<?x4x6xf32>
  // CHECK: nn.slice %{{.*}} {begin = 5 : i64, dim = 2 : i64, size = 3 : i64, step = -2 : i64} : (tensor<?x4x6xf32>) -> tensor<?x4x3xf32>
  %11 = nn.slice %x {begin = 5 : i64, dim = 2 : i64, size = 3 : i64, step = -2 : i64} : (tensor<?x4x6xf32>) -> tensor<?x4x3xf32>
  return
}

// Reductions besides sums, and ops that go along a dimension.
// CHECK-LABEL: func.func @reductions(
func.func @reductions(%x: tensor<?x4x6xf32>) {
  // CHECK: nn.extremum %{{.*}} {dims = array<i64: 1, -1>, keepdim = false, minimum = true} : (tensor<?x4x6xf32>) -> tensor<?xf32>
  %0 = nn.extremum %x {dims = array<i64: 1, -1>, keepdim = false, minimum = true} : (tensor<?x4x6xf32>) -> tensor<?xf32>
  // CHECK: nn.var %{{.*}} {correction = 1.000000e+00 : f64, dims = array<i64: 1>, keepdim = true} : (tensor<?x4x6xf32>) -> tensor<?x1x6xf32>
  %1 = nn.var %x {correction = 1.0 : f64, dims = array<i64: 1>, keepdim = true} : (tensor<?x4x6xf32>) -> tensor<?x1x6xf32>
  // CHECK: nn.arg_extremum %{{.*}} {dim = -1 : i64, keepdim = false, minimum = false} : (tensor<?x4x6xf32>) -> tensor<?x4xi64>
  %2 = nn.arg_extremum %x {dim = -1 : i64, keepdim = false, minimum = false} : (tensor<?x4x6xf32>) -> tensor<?x4xi64>
  // CHECK: nn.cum_sum %{{.*}} {dim = 1 : i64, reverse} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %3 = nn.cum_sum %x {dim = 1 : i64, reverse} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  // CHECK: nn.equal_mask %{{.*}}, %{{.*}} : (tensor<?x4x6xf32>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %4 = nn.equal_mask %x, %3 : (tensor<?x4x6xf32>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  return
}

// Images in other sizes.
// CHECK-LABEL: func.func @images(
func.func @images(%x: tensor<?x8x4x6xf32>) {
  // CHECK: nn.upsample %{{.*}} {align_corners = false, mode = "bilinear", scale_factor = array<f64: 2.000000e+00, 1.500000e+00>, size = array<i64>} : (tensor<?x8x4x6xf32>) -> tensor<?x8x8x9xf32>
  %0 = nn.upsample %x {align_corners = false, mode = "bilinear", scale_factor = array<f64: 2.0, 1.5>, size = array<i64>} : (tensor<?x8x4x6xf32>) -> tensor<?x8x8x9xf32>
  // CHECK: nn.resample %{{.*}} {dim = 2 : i64, starts = array<i64: 0, 2>, weights = array<f64: 5.000000e-01, 5.000000e-01, 1.000000e+00, 0.000000e+00>} : (tensor<?x8x4x6xf32>) -> tensor<?x8x2x6xf32>
  %1 = nn.resample %x {dim = 2 : i64, starts = array<i64: 0, 2>, weights = array<f64: 0.5, 0.5, 1.0, 0.0>} : (tensor<?x8x4x6xf32>) -> tensor<?x8x2x6xf32>
  // CHECK: nn.pixel_shuffle %{{.*}} {factor = 2 : i64} : (tensor<?x8x4x6xf32>) -> tensor<?x2x8x12xf32>
  %2 = nn.pixel_shuffle %x {factor = 2 : i64} : (tensor<?x8x4x6xf32>) -> tensor<?x2x8x12xf32>
  // CHECK: nn.pixel_unshuffle %{{.*}} {factor = 2 : i64} : (tensor<?x8x4x6xf32>) -> tensor<?x32x2x3xf32>
  %3 = nn.pixel_unshuffle %x {factor = 2 : i64} : (tensor<?x8x4x6xf32>) -> tensor<?x32x2x3xf32>
  // CHECK: nn.channel_shuffle %{{.*}} {groups = 4 : i64} : (tensor<?x8x4x6xf32>) -> tensor<?x8x4x6xf32>
  %4 = nn.channel_shuffle %x {groups = 4 : i64} : (tensor<?x8x4x6xf32>) -> tensor<?x8x4x6xf32>
  return
}

// Attention with masks, and norms that nn-lower-layers lowers.
// CHECK-LABEL: func.func @attention(
func.func @attention(%q: tensor<?x4x3x8xf32>, %k: tensor<?x2x5x8xf32>, %mask: tensor<?x1x1x5xui8>, %s: tensor<?x4x3x5xf32>, %w: tensor<8xf32>) {
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}}) {enable_gqa = true, is_causal = false, scale = 5.000000e-01 : f64} :
  %0 = nn.attention %q, %k, %k mask(%mask) {enable_gqa = true, is_causal = false, scale = 0.5 : f64} : (tensor<?x4x3x8xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x8xf32>, tensor<?x1x1x5xui8>) -> tensor<?x4x3x8xf32>
  // CHECK: nn.mask_scores %{{.*}} mask(%{{.*}}) {causal = 7 : i64, inverted} : (tensor<?x4x3x5xf32>, tensor<?x1x1x5xui8>) -> tensor<?x4x3x5xf32>
  %1 = nn.mask_scores %s mask(%mask) {causal = 7 : i64, inverted} : (tensor<?x4x3x5xf32>, tensor<?x1x1x5xui8>) -> tensor<?x4x3x5xf32>
  // CHECK: nn.softmax %{{.*}} {dim = -1 : i64, log = false, nn.masked}
  %2 = nn.softmax %1 {dim = -1 : i64, log = false, nn.masked} : (tensor<?x4x3x5xf32>) -> tensor<?x4x3x5xf32>
  // CHECK: nn.rms_norm %{{.*}} weight(%{{.*}}) {eps = 1.000000e-01 : f64, normalized_shape = array<i64: 8>}
  %3 = nn.rms_norm %q weight(%w) {eps = 0.1 : f64, normalized_shape = array<i64: 8>} : (tensor<?x4x3x8xf32>, tensor<8xf32>) -> tensor<?x4x3x8xf32>
  // CHECK: nn.local_response_norm %{{.*}} {alpha = 1.000000e+00 : f64, beta = 5.000000e-01 : f64, k = 2.000000e+00 : f64, size = 5 : i64}
  %4 = nn.local_response_norm %q {alpha = 1.0 : f64, beta = 0.5 : f64, k = 2.0 : f64, size = 5 : i64} : (tensor<?x4x3x8xf32>) -> tensor<?x4x3x8xf32>
  return
}
