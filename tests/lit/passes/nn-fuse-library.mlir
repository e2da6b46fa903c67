// RUN: sheaf-opt %s --nn-fuse-library | FileCheck %s

// relu(conv(x) + r) is one library call.
// CHECK-LABEL: func.func @block(
// CHECK-NEXT: %[[Y:.*]] = nn.conv %arg0, %arg1 residual(%arg2) {activation = {kind = "relu"}
// CHECK-SAME: nn.notes = ["the sum of 'add' is part of the call: it reads the other summand", "the activation of 'relu' is part of the call: no tensor is between them"]
// CHECK-NEXT: return %[[Y]]
func.func @block(%x: tensor<?x4x9xf32>, %w: tensor<6x4x3xf32>, %r: tensor<?x6x7xf32>) -> tensor<?x6x7xf32> {
  %0 = nn.conv %x, %w {stride = array<i64: 1>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x9xf32>, tensor<6x4x3xf32>) -> tensor<?x6x7xf32>
  %1 = nn.add %r, %0 : (tensor<?x6x7xf32>, tensor<?x6x7xf32>) -> tensor<?x6x7xf32>
  %2 = nn.relu %1 : (tensor<?x6x7xf32>) -> tensor<?x6x7xf32>
  return %2 : tensor<?x6x7xf32>
}

// An activation's constants go with it.
// CHECK-LABEL: func.func @constants(
// CHECK: nn.linear {{.*}} {activation = {kind = "leaky_relu", negative_slope = 1.000000e-01 : f64}
// CHECK: nn.linear {{.*}} {activation = {kind = "gelu_tanh"}
// CHECK: nn.linear {{.*}} {activation = {kind = "hardtanh", max_val = 6.000000e+00 : f64, min_val = 0.000000e+00 : f64}
// CHECK: nn.linear {{.*}} {activation = {alpha = 2.000000e+00 : f64, kind = "elu"}
// CHECK-NEXT: return
func.func @constants(%x: tensor<?x5xf32>, %w: tensor<5x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.linear %x, %w : (tensor<?x5xf32>, tensor<5x5xf32>) -> tensor<?x5xf32>
  %1 = nn.leaky_relu %0 {negative_slope = 0.1 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.linear %1, %w : (tensor<?x5xf32>, tensor<5x5xf32>) -> tensor<?x5xf32>
  %3 = nn.gelu %2 {tanh_form = true} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %4 = nn.linear %3, %w : (tensor<?x5xf32>, tensor<5x5xf32>) -> tensor<?x5xf32>
  %5 = nn.hardtanh %4 {max_val = 6.0 : f64, min_val = 0.0 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %6 = nn.linear %5, %w : (tensor<?x5xf32>, tensor<5x5xf32>) -> tensor<?x5xf32>
  %7 = nn.elu %6 {alpha = 2.0 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %7 : tensor<?x5xf32>
}

// A broadcast sum can't be a residual.
// CHECK-LABEL: func.func @broadcast(
// CHECK: nn.linear %arg0, %arg1 :
// CHECK: nn.add {{.*}}nn.notes = ["not part of the call of 'linear': a sum that broadcasts is no residual"]
func.func @broadcast(%x: tensor<?x5xf32>, %w: tensor<2x5xf32>, %r: tensor<2xf32>) -> tensor<?x2xf32> {
  %0 = nn.linear %x, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
  %1 = nn.add %0, %r : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  return %1 : tensor<?x2xf32>
}

// If another op needs the call's own result, nothing moves into it.
// CHECK-LABEL: func.func @two_users(
// CHECK: nn.linear %arg0, %arg1 :
// CHECK: nn.relu {{.*}}nn.notes = ["not part of the call of 'linear': something else needs the result before it"]
// CHECK: nn.add {{.*}}nn.notes = ["not part of the call of 'linear': something else needs the result before it"]
func.func @two_users(%x: tensor<?x5xf32>, %w: tensor<5x5xf32>) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %0 = nn.linear %x, %w : (tensor<?x5xf32>, tensor<5x5xf32>) -> tensor<?x5xf32>
  %1 = nn.relu %0 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.add %0, %x : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  return %1, %2 : tensor<?x5xf32>, tensor<?x5xf32>
}

// A call has one activation, and adds its residual before it: neither a second one nor a sum after it fits.
// CHECK-LABEL: func.func @after_activation(
// CHECK: nn.linear %arg0, %arg1 {activation = {kind = "relu"}
// CHECK: nn.tanh
// CHECK: nn.linear %{{.*}}, %arg1 {activation = {kind = "silu"}
// CHECK: nn.add
func.func @after_activation(%x: tensor<?x5xf32>, %w: tensor<5x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.linear %x, %w : (tensor<?x5xf32>, tensor<5x5xf32>) -> tensor<?x5xf32>
  %1 = nn.relu %0 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.tanh %1 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %3 = nn.linear %2, %w : (tensor<?x5xf32>, tensor<5x5xf32>) -> tensor<?x5xf32>
  %4 = nn.silu %3 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %5 = nn.add %4, %x : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  return %5 : tensor<?x5xf32>
}
