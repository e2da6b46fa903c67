// RUN: sheaf-opt %s | sheaf-opt | FileCheck %s

// Activations keep their input's shape, whatever depends on the batch; each is parsed and printed as written here.
// CHECK-LABEL: func.func @activations(
func.func @activations(%x: tensor<?x5xf32>) {
  // CHECK: nn.relu %{{.*}} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %0 = nn.relu %x : (tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.leaky_relu %{{.*}} {negative_slope = 2.000000e-01 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %1 = nn.leaky_relu %x {negative_slope = 2.000000e-01 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.elu %{{.*}} {alpha = 1.500000e+00 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.elu %x {alpha = 1.500000e+00 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.silu %{{.*}} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %3 = nn.silu %x : (tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.gelu %{{.*}} {tanh_form = false} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %4 = nn.gelu %x {tanh_form = false} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.gelu %{{.*}} {tanh_form = true} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %5 = nn.gelu %x {tanh_form = true} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.tanh %{{.*}} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %6 = nn.tanh %x : (tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.sigmoid %{{.*}} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %7 = nn.sigmoid %x : (tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.hardtanh %{{.*}} {max_val = 6.000000e+00 : f64, min_val = -1.000000e+00 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %8 = nn.hardtanh %x {max_val = 6.000000e+00 : f64, min_val = -1.000000e+00 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.scale %{{.*}} {value = 5.000000e-01 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %9 = nn.scale %x {value = 5.000000e-01 : f64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}

// Arithmetic broadcasts as PyTorch does: dimensions are aligned at the end and a size of 1 stretches.
// CHECK-LABEL: func.func @arithmetic(
func.func @arithmetic(%x: tensor<?x5xf32>, %row: tensor<5xf32>, %column: tensor<?x1xf32>, %one: tensor<f32>) {
  // CHECK: nn.add %{{.*}}, %{{.*}} : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  %0 = nn.add %x, %row : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.sub %{{.*}}, %{{.*}} : (tensor<?x5xf32>, tensor<?x1xf32>) -> tensor<?x5xf32>
  %1 = nn.sub %x, %column : (tensor<?x5xf32>, tensor<?x1xf32>) -> tensor<?x5xf32>
  // CHECK: nn.mul %{{.*}}, %{{.*}} : (tensor<f32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.mul %one, %x : (tensor<f32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}

// Weight and bias of a batch norm may be absent, each independently.
// CHECK-LABEL: func.func @batch_norm(
func.func @batch_norm(%x: tensor<?x3x4x4xf32>, %c: tensor<3xf32>) {
  // CHECK: nn.batch_norm %{{.*}} mean(%{{.*}}) var(%{{.*}}) {eps = 1.000000e-05 : f64} : (tensor<?x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x4x4xf32>
  %0 = nn.batch_norm %x mean(%c) var(%c) {eps = 1.000000e-05 : f64} : (tensor<?x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x4x4xf32>
  // CHECK: nn.batch_norm %{{.*}} mean(%{{.*}}) var(%{{.*}}) weight(%{{.*}}) {eps = 1.000000e-05 : f64} : (tensor<?x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x4x4xf32>
  %1 = nn.batch_norm %x mean(%c) var(%c) weight(%c) {eps = 1.000000e-05 : f64} : (tensor<?x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x4x4xf32>
  // CHECK: nn.batch_norm %{{.*}} mean(%{{.*}}) var(%{{.*}}) bias(%{{.*}}) {eps = 1.000000e-05 : f64} : (tensor<?x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x4x4xf32>
  %2 = nn.batch_norm %x mean(%c) var(%c) bias(%c) {eps = 1.000000e-05 : f64} : (tensor<?x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x4x4xf32>
  // CHECK: nn.batch_norm %{{.*}} mean(%{{.*}}) var(%{{.*}}) weight(%{{.*}}) bias(%{{.*}}) {eps = 1.000000e-05 : f64} : (tensor<?x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x4x4xf32>
  %3 = nn.batch_norm %x mean(%c) var(%c) weight(%c) bias(%c) {eps = 1.000000e-05 : f64} : (tensor<?x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x4x4xf32>
  return
}

// The ops that folding a batch norm leaves behind: the scale runs along `axis` of the kernel, everything else is per
// channel.
// CHECK-LABEL: func.func @folded(
func.func @folded(%kernel: tensor<3x2x5x5xf32>, %c: tensor<3xf32>, %d: tensor<2xf32>) {
  // CHECK: nn.fold_weight %{{.*}} var(%{{.*}}) weight(%{{.*}}) {axis = 0 : i64, eps = 1.000000e-05 : f64} : (tensor<3x2x5x5xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3x2x5x5xf32>
  %0 = nn.fold_weight %kernel var(%c) weight(%c) {axis = 0 : i64, eps = 1.000000e-05 : f64} : (tensor<3x2x5x5xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3x2x5x5xf32>
  // CHECK: nn.fold_weight %{{.*}} var(%{{.*}}) {axis = 1 : i64, eps = 1.000000e-05 : f64} : (tensor<3x2x5x5xf32>, tensor<2xf32>) -> tensor<3x2x5x5xf32>
  %1 = nn.fold_weight %kernel var(%d) {axis = 1 : i64, eps = 1.000000e-05 : f64} : (tensor<3x2x5x5xf32>, tensor<2xf32>) -> tensor<3x2x5x5xf32>
  // CHECK: nn.fold_bias %{{.*}} var(%{{.*}}) conv_bias(%{{.*}}) weight(%{{.*}}) bias(%{{.*}}) {eps = 1.000000e-05 : f64} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %2 = nn.fold_bias %c var(%c) conv_bias(%c) weight(%c) bias(%c) {eps = 1.000000e-05 : f64} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  // CHECK: nn.fold_bias %{{.*}} var(%{{.*}}) {eps = 1.000000e-05 : f64} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = nn.fold_bias %c var(%c) {eps = 1.000000e-05 : f64} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}
