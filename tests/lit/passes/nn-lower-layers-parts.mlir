// RUN: sheaf-opt %s --nn-lower-layers | FileCheck %s

// A slice's positions are resolved; a split becomes a slice for each used part.
// CHECK-LABEL: func.func @slices(
// CHECK-NEXT: %[[A:.*]] = nn.slice %arg0 {begin = 2 : i64, dim = 1 : i64, size = 2 : i64, step = 3 : i64}
// CHECK-NEXT: %[[B:.*]] = nn.slice %arg0 {begin = 0 : i64, dim = 1 : i64, size = 4 : i64}
// CHECK-NEXT: %[[C:.*]] = nn.slice %arg0 {begin = 4 : i64, dim = 1 : i64, size = 3 : i64}
// CHECK-NEXT: return %arg0, %[[A]], %[[B]], %[[C]]
func.func @slices(%x: tensor<?x7xf32>) -> (tensor<?x7xf32>, tensor<?x2xf32>, tensor<?x4xf32>, tensor<?x3xf32>) {
  %0 = nn.strided_slice %x {dim = 0 : i64, start = 0 : i64, step = 1 : i64} : (tensor<?x7xf32>) -> tensor<?x7xf32>
  %1 = nn.strided_slice %x {dim = -1 : i64, start = -5 : i64, end = 99 : i64, step = 3 : i64} : (tensor<?x7xf32>) -> tensor<?x2xf32>
  %2:2 = nn.split %x {dim = 1 : i64, sections = array<i64: 4>} : (tensor<?x7xf32>) -> (tensor<?x4xf32>, tensor<?x3xf32>)
  return %0, %1, %2#0, %2#1 : tensor<?x7xf32>, tensor<?x2xf32>, tensor<?x4xf32>, tensor<?x3xf32>
}

// CHECK-LABEL: func.func @unflatten(
// CHECK-NEXT: %[[Y:.*]] = nn.reshape %arg0 {shape = array<i64: -1, 2, 6, 5>}
// CHECK-NEXT: return %[[Y]]
func.func @unflatten(%x: tensor<?x12x5xf32>) -> tensor<?x2x6x5xf32> {
  %0 = nn.unflatten %x {dim = -2 : i64, sizes = array<i64: 2, -1>} : (tensor<?x12x5xf32>) -> tensor<?x2x6x5xf32>
  return %0 : tensor<?x2x6x5xf32>
}

// Windows that are all alike need nothing but a pool.
// CHECK-LABEL: func.func @alike(
// CHECK-NEXT: %[[Y:.*]] = nn.max_pool %arg0 {ceil_mode = false, dilation = array<i64: 1, 1>, kernel_size = array<i64: 2, 6>, padding = array<i64: 0, 0>, stride = array<i64: 2, 6>}
// CHECK-NEXT: return %[[Y]]
func.func @alike(%x: tensor<?x3x4x6xf32>) -> tensor<?x3x2x1xf32> {
  %0 = nn.adaptive_max_pool %x {output_size = array<i64: 2, 1>} : (tensor<?x3x4x6xf32>) -> tensor<?x3x2x1xf32>
  return %0 : tensor<?x3x2x1xf32>
}

// Of 5 elements to 3, windows are [0, 2), [1, 4) and [3, 5): they are laid out one after another, the narrower ones with their last
// element twice.
// CHECK-LABEL: func.func @unlike(
// CHECK: %[[W:.*]] = nn.resample %arg0 {dim = 3 : i64, starts = array<i64: 0, 1, 1, 1, 2, 3, 3, 4, 4>, weights = array<f64: 1.000000e+00, {{.*}}>} {{.*}} -> tensor<?x3x4x9xf32>
// CHECK: nn.max_pool %[[W]] {ceil_mode = false, dilation = array<i64: 1, 1>, kernel_size = array<i64: 1, 3>, padding = array<i64: 0, 0>, stride = array<i64: 1, 3>}
func.func @unlike(%x: tensor<?x3x4x5xf32>) -> tensor<?x3x4x3xf32> {
  %0 = nn.adaptive_max_pool %x {output_size = array<i64: -1, 3>} : (tensor<?x3x4x5xf32>) -> tensor<?x3x4x3xf32>
  return %0 : tensor<?x3x4x3xf32>
}

// Windows of one element each choose nothing.
// CHECK-LABEL: func.func @twice(
// CHECK-NEXT: %[[Y:.*]] = nn.resample %arg0 {dim = 2 : i64, starts = array<i64: 0, 0, 1, 1, 2, 2>
// CHECK-NEXT: return %[[Y]]
func.func @twice(%x: tensor<?x3x3xf32>) -> tensor<?x3x6xf32> {
  %0 = nn.adaptive_max_pool %x {output_size = array<i64: 6>} : (tensor<?x3x3xf32>) -> tensor<?x3x6xf32>
  return %0 : tensor<?x3x6xf32>
}

// Positions of maxima: each window's elements stand side by side, those of a window over the border with some of its own in the place
// of padding; the largest one's number in the window and the window's own number, counted by a sum of ones, give its place.
// CHECK-LABEL: func.func @positions(
// CHECK: nn.resample %arg0 {dim = 2 : i64, starts = array<i64: 0, 0, 1, 1, 2, 3, 3, 4, 4>
// CHECK: %[[TAP:.*]] = nn.arg_extremum {{.*}} {dim = 3 : i64, keepdim = false, minimum = false}
// CHECK: %[[COUNTED:.*]] = nn.cum_sum {{.*}} {dim = 2 : i64}
// CHECK: %[[PLACE:.*]] = nn.map "add" %[[COUNTED]] {numbers = array<f64: -1.000000e+00>}
// CHECK: %[[BEGIN:.*]] = nn.map "mul" %[[PLACE]] {numbers = array<f64: 2.000000e+00>}
// CHECK: %[[AT:.*]] = nn.map "add" %[[BEGIN]], %[[TAP]]
// CHECK: %[[PADDED:.*]] = nn.map "add" %[[AT]] {numbers = array<f64: -1.000000e+00>}
// CHECK: %[[LEAST:.*]] = nn.map "maximum" %[[PADDED]] {numbers = array<f64: 0.000000e+00>}
// CHECK: nn.map "minimum" %[[LEAST]] {numbers = array<f64: 4.000000e+00>}
func.func @positions(%x: tensor<?x3x5xf32>) -> tensor<?x3x3xi64> {
  %0 = nn.max_pool_positions %x {ceil_mode = false, dilation = array<i64: 1>, kernel_size = array<i64: 3>, padding = array<i64: 1>, stride = array<i64: 2>} : (tensor<?x3x5xf32>) -> tensor<?x3x3xi64>
  return %0 : tensor<?x3x3xi64>
}

// Windows that tile the image need no laying out.
// CHECK-LABEL: func.func @tiles(
// CHECK-NEXT: %[[APART:.*]] = nn.reshape %arg0 {shape = array<i64: -1, 2, 2, 3, 2>}
// CHECK-NEXT: %[[TURNED:.*]] = nn.permute %[[APART]] {dims = array<i64: 0, 1, 3, 2, 4>}
// CHECK-NEXT: %[[WINDOWS:.*]] = nn.reshape %[[TURNED]] {shape = array<i64: -1, 2, 3, 4>}
// CHECK-NEXT: nn.arg_extremum %[[WINDOWS]] {dim = 3 : i64
func.func @tiles(%x: tensor<?x4x6xf32>) -> tensor<?x2x3xi64> {
  %0 = nn.adaptive_max_pool_positions %x {output_size = array<i64: 2, 3>} : (tensor<?x4x6xf32>) -> tensor<?x2x3xi64>
  return %0 : tensor<?x2x3xi64>
}

// CHECK-LABEL: func.func @unpool(
// CHECK-DAG: %[[X:.*]] = nn.reshape %arg0 {shape = array<i64: -1, 3, 4>}
// CHECK-DAG: %[[P:.*]] = nn.reshape %arg1 {shape = array<i64: -1, 3, 4>}
// CHECK: %[[ZEROS:.*]] = nn.pad {{.*}} {begin = 0 : i64, dim = 2 : i64, size = 20 : i64}
// CHECK: %[[Y:.*]] = nn.scatter_elements %[[P]], %[[ZEROS]], %[[X]] {dim = 2 : i64}
// CHECK: nn.reshape %[[Y]] {shape = array<i64: -1, 3, 5, 4>}
func.func @unpool(%x: tensor<?x3x2x2xf32>, %p: tensor<?x3x2x2xi64>) -> tensor<?x3x5x4xf32> {
  %0 = nn.max_unpool %x, %p {kernel_size = array<i64: 2, 2>, output_size = array<i64: 5, 4>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x3x2x2xf32>, tensor<?x3x2x2xi64>) -> tensor<?x3x5x4xf32>
  return %0 : tensor<?x3x5x4xf32>
}

// A wide border is one entry repeated, not as many slices.
// CHECK-LABEL: func.func @border(
// CHECK: %[[FIRST:.*]] = nn.slice %arg0 {begin = 0 : i64, dim = 1 : i64, size = 1 : i64}
// CHECK: %[[BEFORE:.*]] = nn.expand %[[FIRST]] {like_dim = 0 : i64, shape = array<i64: -1, 90>}
// CHECK: %[[AFTER:.*]] = nn.slice %arg0 {begin = 6 : i64, dim = 1 : i64, size = 1 : i64}
// CHECK: nn.concat %[[BEFORE]], %arg0, %[[AFTER]]
func.func @border(%x: tensor<?x7xf32>) -> tensor<?x98xf32> {
  %0 = nn.border %x {pad = array<i64: 90, 1>, mode = "replicate", value = 0.0 : f64} : (tensor<?x7xf32>) -> tensor<?x98xf32>
  return %0 : tensor<?x98xf32>
}

// A lookup of rows of a table is an embedding; one of anything else has a kernel of its own.
// CHECK-LABEL: func.func @lookups(
// CHECK: %[[T:.*]] = nn.reshape %arg0 {shape = array<i64: 5, 6>}
// CHECK: %[[E:.*]] = nn.embedding %arg1, %[[T]] : (tensor<4xi64>, tensor<5x6xf32>) -> tensor<4x6xf32>
// CHECK: nn.reshape %[[E]] {shape = array<i64: 4, 2, 3>}
// CHECK: nn.index_select %arg1, %arg0 {dim = 1 : i64}
func.func @lookups(%x: tensor<5x2x3xf32>, %i: tensor<4xi64>) -> (tensor<4x2x3xf32>, tensor<5x4x3xf32>) {
  %0 = nn.index_select %i, %x {dim = 0 : i64} : (tensor<4xi64>, tensor<5x2x3xf32>) -> tensor<4x2x3xf32>
  %1 = nn.index_select %i, %x {dim = 1 : i64} : (tensor<4xi64>, tensor<5x2x3xf32>) -> tensor<5x4x3xf32>
  return %0, %1 : tensor<4x2x3xf32>, tensor<5x4x3xf32>
}

// A reduction over non-adjacent dimensions takes one after the other.
// CHECK-LABEL: func.func @apart(
// CHECK: %[[L:.*]] = nn.extremum %arg0 {dims = array<i64: 3>, keepdim = true, minimum = false} {{.*}} -> tensor<?x4x5x1xf32>
// CHECK: nn.extremum %[[L]] {dims = array<i64: 1>, keepdim = true, minimum = false} {{.*}} -> tensor<?x1x5x1xf32>
func.func @apart(%x: tensor<?x4x5x6xf32>) -> tensor<?x1x5x1xf32> {
  %0 = nn.extremum %x {dims = array<i64: 1, -1>, keepdim = true, minimum = false} : (tensor<?x4x5x6xf32>) -> tensor<?x1x5x1xf32>
  return %0 : tensor<?x1x5x1xf32>
}

// An image that grows is interpolated along its width, then along its height.
// CHECK-LABEL: func.func @upsample(
// CHECK: %[[W:.*]] = nn.resample %arg0 {dim = 3 : i64, starts = array<i64: 0, 0, 1, 1>, weights = array<f64: 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00>}
// CHECK-NEXT: nn.resample %[[W]] {dim = 2 : i64
func.func @upsample(%x: tensor<?x3x2x2xf32>) -> tensor<?x3x4x4xf32> {
  %0 = nn.upsample %x {align_corners = false, mode = "nearest", scale_factor = array<f64: 2.0>, size = array<i64>} : (tensor<?x3x2x2xf32>) -> tensor<?x3x4x4xf32>
  return %0 : tensor<?x3x4x4xf32>
}

// A mask is applied to the scores, and the softmax after it is marked.
// CHECK-LABEL: func.func @attention(
// CHECK: %[[S:.*]] = nn.matmul {{.*}} {transpose_b} : {{.*}} -> tensor<?x4x3x3xf32>
// CHECK: %[[M:.*]] = nn.mask_scores %[[S]] {causal = 0 : i64}
// CHECK: nn.softmax %[[M]] {dim = -1 : i64, log = false, nn.masked}
func.func @attention(%q: tensor<?x4x3x8xf32>) -> tensor<?x4x3x8xf32> {
  %0 = nn.attention %q, %q, %q {enable_gqa = false, is_causal = true} : (tensor<?x4x3x8xf32>, tensor<?x4x3x8xf32>, tensor<?x4x3x8xf32>) -> tensor<?x4x3x8xf32>
  return %0 : tensor<?x4x3x8xf32>
}

// Lines and volumes become images.
// CHECK-LABEL: func.func @pools(
// CHECK: nn.max_pool {{.*}} {ceil_mode = false, dilation = array<i64: 1, 1>, kernel_size = array<i64: 1, 3>, padding = array<i64: 0, 1>, stride = array<i64: 1, 2>} : (tensor<?x4x1x9xf32>) -> tensor<?x4x1x5xf32>
func.func @pools(%x: tensor<?x4x9xf32>) -> tensor<?x4x5xf32> {
  %0 = nn.max_pool %x {ceil_mode = false, dilation = array<i64: 1>, kernel_size = array<i64: 3>, padding = array<i64: 1>, stride = array<i64: 2>} : (tensor<?x4x9xf32>) -> tensor<?x4x5xf32>
  return %0 : tensor<?x4x5xf32>
}

// Many queries are processed in parts: the scores of all of them never exist at once.
// CHECK-LABEL: func.func @long_attention(
// CHECK-COUNT-4: nn.matmul {{.*}} {transpose_b} : {{.*}} -> tensor<?x256x5xf32>
// CHECK: nn.matmul {{.*}} {transpose_b} : {{.*}} -> tensor<?x6x5xf32>
// CHECK: nn.mask_scores {{.*}} {causal = 1024 : i64}
// CHECK: nn.concat {{.*}} {dim = 1 : i64} {{.*}} -> tensor<?x1030x8xf32>
func.func @long_attention(%q: tensor<?x1030x8xf32>, %k: tensor<?x5x8xf32>) -> tensor<?x1030x8xf32> {
  %0 = nn.attention %q, %k, %k {enable_gqa = false, is_causal = true} : (tensor<?x1030x8xf32>, tensor<?x5x8xf32>, tensor<?x5x8xf32>) -> tensor<?x1030x8xf32>
  return %0 : tensor<?x1030x8xf32>
}

// A pool averages neighbouring channels; for an even number it makes one place too many.
// CHECK-LABEL: func.func @neighbours(
// CHECK: %[[SQUARES:.*]] = nn.mul %arg0, %arg0
// CHECK: %[[IMAGE:.*]] = nn.reshape %[[SQUARES]] {shape = array<i64: -1, 1, 6, 15>}
// CHECK: %[[MEAN:.*]] = nn.avg_pool %[[IMAGE]] {ceil_mode = false, count_include_pad = true, divisor_override = 0 : i64, kernel_size = array<i64: 4, 1>, padding = array<i64: 2, 0>, stride = array<i64: 1, 1>} : (tensor<?x1x6x15xf32>) -> tensor<?x1x7x15xf32>
// CHECK: nn.slice %[[MEAN]] {begin = 0 : i64, dim = 2 : i64, size = 6 : i64}
// CHECK: nn.map "power"
// CHECK: nn.div %arg0,
func.func @neighbours(%x: tensor<?x6x3x5xf32>) -> tensor<?x6x3x5xf32> {
  %0 = nn.local_response_norm %x {alpha = 1.0 : f64, beta = 0.5 : f64, k = 2.0 : f64, size = 4 : i64} : (tensor<?x6x3x5xf32>) -> tensor<?x6x3x5xf32>
  return %0 : tensor<?x6x3x5xf32>
}

// A transposed convolution of volumes becomes one of images, whose results for each tap are spread along the depth and
// added up.
// CHECK-LABEL: func.func @transposed_volume(
// CHECK: nn.conv_transpose %{{.*}}, %{{.*}} {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>} : (tensor<?x2x4x4xf32>, tensor<2x6x3x3xf32>) -> tensor<?x6x6x6xf32>
// CHECK: nn.pad %{{.*}} {begin = 0 : i64, dim = 3 : i64, size = 2 : i64}
// CHECK-COUNT-2: nn.add
// CHECK-NOT: nn.add
func.func @transposed_volume(%x: tensor<?x2x5x4x4xf32>, %w: tensor<2x3x2x3x3xf32>, %b: tensor<3xf32>) -> tensor<?x3x10x6x6xf32> {
  %0 = nn.conv_transpose %x, %w bias(%b) {stride = array<i64: 2, 1, 1>, padding = array<i64: 0, 0, 0>, output_padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 1>, groups = 1 : i64} : (tensor<?x2x5x4x4xf32>, tensor<2x3x2x3x3xf32>, tensor<3xf32>) -> tensor<?x3x10x6x6xf32>
  return %0 : tensor<?x3x10x6x6xf32>
}
