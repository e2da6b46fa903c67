// RUN: sheaf-opt %s --nn-lower-layers | FileCheck %s

// Dropout and identity disappear.
// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT: return %arg0
func.func @nothing(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.dropout %x {p = 0.5 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %1 = nn.identity %0 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %1 : tensor<?x5xf32>
}

// A convolution without a batch gets one of size 1.
// CHECK-LABEL: func.func @unbatched_conv(
// CHECK-NEXT: %[[X:.*]] = nn.reshape %arg0 {shape = array<i64: 1, 4, 9>}
// CHECK-NEXT: %[[Y:.*]] = nn.conv %[[X]], %arg1 {{.*}} -> tensor<1x6x7xf32>
// CHECK-NEXT: nn.reshape %[[Y]] {shape = array<i64: 6, 7>}
func.func @unbatched_conv(%x: tensor<4x9xf32>, %w: tensor<6x4x3xf32>) -> tensor<6x7xf32> {
  %0 = nn.conv %x, %w {stride = array<i64: 1>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<4x9xf32>, tensor<6x4x3xf32>) -> tensor<6x7xf32>
  return %0 : tensor<6x7xf32>
}

// One with a batch stays as it is.
// CHECK-LABEL: func.func @batched_pool(
// CHECK-NEXT: nn.adaptive_avg_pool %arg0
// CHECK-NEXT: return
func.func @batched_pool(%x: tensor<?x4x9x9xf32>) -> tensor<?x4x1x1xf32> {
  %0 = nn.adaptive_avg_pool %x {output_size = array<i64: 1, 1>} : (tensor<?x4x9x9xf32>) -> tensor<?x4x1x1xf32>
  return %0 : tensor<?x4x1x1xf32>
}

// Attention becomes projections, split into heads, a softmax of their products, and a projection of the heads joined.
// CHECK-LABEL: func.func @attention(
// CHECK-COUNT-3: nn.linear
// CHECK: nn.scale {{.*}} {value = 0.70710678118654{{.*}}}
// CHECK: %[[S:.*]] = nn.matmul {{.*}} -> tensor<?x2x7x7xf32>
// CHECK: %[[A:.*]] = nn.softmax %[[S]] {dim = -1 : i64, log = false}
// CHECK: nn.matmul %[[A]], {{.*}} -> tensor<?x2x7x2xf32>
// CHECK: %[[Y:.*]] = nn.linear {{.*}} -> tensor<?x7x4xf32>
// CHECK-NOT: nn.mean
// CHECK: return %[[Y]]
func.func @attention(%q: tensor<?x7x4xf32>, %wi: tensor<12x4xf32>, %bi: tensor<12xf32>, %wo: tensor<4x4xf32>, %bo: tensor<4xf32>) -> tensor<?x7x4xf32> {
  %y, %w = nn.multihead_attention %q, %q, %q in_proj(%wi, %bi) out_proj(%wo, %bo) {batch_first = true, num_heads = 2 : i64} : (tensor<?x7x4xf32>, tensor<?x7x4xf32>, tensor<?x7x4xf32>, tensor<12x4xf32>, tensor<12xf32>, tensor<4x4xf32>, tensor<4xf32>) -> (tensor<?x7x4xf32>, tensor<?x7x7xf32>)
  return %y : tensor<?x7x4xf32>
}

// Its weights, if used, are the mean over heads; without a batch everything is reshaped back.
// CHECK-LABEL: func.func @attention_weights(
// CHECK: %[[A:.*]] = nn.softmax {{.*}} -> tensor<1x2x7x7xf32>
// CHECK: %[[M:.*]] = nn.mean %[[A]] {dims = array<i64: 1>, keepdim = false}
// CHECK: nn.reshape %[[M]] {shape = array<i64: 7, 7>}
func.func @attention_weights(%q: tensor<7x4xf32>, %wi: tensor<12x4xf32>, %wo: tensor<4x4xf32>) -> (tensor<7x4xf32>, tensor<7x7xf32>) {
  %y, %w = nn.multihead_attention %q, %q, %q in_proj(%wi) out_proj(%wo) {batch_first = false, num_heads = 2 : i64} : (tensor<7x4xf32>, tensor<7x4xf32>, tensor<7x4xf32>, tensor<12x4xf32>, tensor<4x4xf32>) -> (tensor<7x4xf32>, tensor<7x7xf32>)
  return %y, %w : tensor<7x4xf32>, tensor<7x7xf32>
}

// Padding that isn't zeros is taken from the input itself.
// CHECK-LABEL: func.func @reflect(
// CHECK: %[[A:.*]] = nn.slice %arg0 {begin = 2 : i64, dim = 2 : i64, size = 2 : i64, step = -1 : i64}
// CHECK: %[[B:.*]] = nn.slice %arg0 {begin = 3 : i64, dim = 2 : i64, size = 1 : i64, step = -1 : i64}
// CHECK: %[[X:.*]] = nn.concat %[[A]], %arg0, %[[B]] {dim = 2 : i64} {{.*}} -> tensor<?x4x8xf32>
// CHECK: nn.conv %[[X]], %arg1 {dilation = array<i64: 1>, groups = 1 : i64, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, stride = array<i64: 1>}
func.func @reflect(%x: tensor<?x4x5xf32>, %w: tensor<6x4x3xf32>) -> tensor<?x6x6xf32> {
  %0 = nn.conv %x, %w {nn.padding_mode = "reflect", stride = array<i64: 1>, padding_begin = array<i64: 2>, padding_end = array<i64: 1>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x5xf32>, tensor<6x4x3xf32>) -> tensor<?x6x6xf32>
  return %0 : tensor<?x6x6xf32>
}

// A scalar's softmax is that of a vector of one element.
// CHECK-LABEL: func.func @scalar(
// CHECK: %[[V:.*]] = nn.reshape %arg0 {shape = array<i64: 1>}
// CHECK: nn.softmax %[[V]] {dim = 0 : i64, log = true} : (tensor<1xf32>) -> tensor<1xf32>
func.func @scalar(%x: tensor<f32>) -> tensor<f32> {
  %0 = nn.softmax %x {dim = -1 : i64, log = true} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
