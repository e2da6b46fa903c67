// RUN: sheaf-opt %s | sheaf-opt | FileCheck %s

// Elements in order, and what is carried along a dimension.
// CHECK-LABEL: func.func @along(
func.func @along(%x: tensor<?x4x6xf32>, %i: tensor<?x4x6xi64>) {
  // CHECK: nn.arg_sort %{{.*}} {descending = true, dim = -1 : i64} : (tensor<?x4x6xf32>) -> tensor<?x4x6xi64>
  %0 = nn.arg_sort %x {dim = -1 : i64, descending = true} : (tensor<?x4x6xf32>) -> tensor<?x4x6xi64>
  // CHECK: nn.arg_scan %{{.*}} {dim = 1 : i64, minimum = false} : (tensor<?x4x6xf32>) -> tensor<?x4x6xi64>
  %1 = nn.arg_scan %x {dim = 1 : i64, minimum = false} : (tensor<?x4x6xf32>) -> tensor<?x4x6xi64>
  // CHECK: nn.scan %{{.*}} {dim = 2 : i64, take = "log_sum_exp"} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %2 = nn.scan %x {dim = 2 : i64, take = "log_sum_exp"} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  // A product may be one of integers.
  // CHECK: nn.scan %{{.*}} {dim = 1 : i64, take = "product"} : (tensor<?x4x6xi64>) -> tensor<?x4x6xi64>
  %3 = nn.scan %i {dim = 1 : i64, take = "product"} : (tensor<?x4x6xi64>) -> tensor<?x4x6xi64>
  // CHECK: nn.scan_backward %{{.*}}, %{{.*}}, %{{.*}} {dim = 2 : i64, take = "log_sum_exp"} : (tensor<?x4x6xf32>, tensor<?x4x6xf32>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %4 = nn.scan_backward %x, %x, %2 {dim = 2 : i64, take = "log_sum_exp"} : (tensor<?x4x6xf32>, tensor<?x4x6xf32>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  return
}

// CHECK-LABEL: func.func @scattered(
func.func @scattered(%x: tensor<?x4x6xf32>, %i: tensor<?x2x6xi64>, %s: tensor<?x2x6xf32>, %whole: tensor<?x4x6xi64>, %few: tensor<?x2x6xi64>) {
  // CHECK: nn.scatter_elements %{{.*}}, %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<?x2x6xi64>, tensor<?x4x6xf32>, tensor<?x2x6xf32>) -> tensor<?x4x6xf32>
  %0 = nn.scatter_elements %i, %x, %s {dim = 1 : i64} : (tensor<?x2x6xi64>, tensor<?x4x6xf32>, tensor<?x2x6xf32>) -> tensor<?x4x6xf32>
  // CHECK: nn.scatter_elements %{{.*}}, %{{.*}}, %{{.*}} {add, dim = -2 : i64} : (tensor<?x2x6xi64>, tensor<?x4x6xi64>, tensor<?x2x6xi64>) -> tensor<?x4x6xi64>
  %1 = nn.scatter_elements %i, %whole, %few {add, dim = -2 : i64} : (tensor<?x2x6xi64>, tensor<?x4x6xi64>, tensor<?x2x6xi64>) -> tensor<?x4x6xi64>
  // CHECK: nn.scatter_elements %{{.*}}, %{{.*}} {dim = 1 : i64, value = 2.500000e+00 : f64} : (tensor<?x2x6xi64>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %2 = nn.scatter_elements %i, %x {dim = 1 : i64, value = 2.5 : f64} : (tensor<?x2x6xi64>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  return
}

// Time first; a target of S classes has 2 S + 1 states, with the blanks around them.
// CHECK-LABEL: func.func @ctc(
func.func @ctc(%x: tensor<9x?x5xf32>, %t: tensor<?x3xi64>, %n: tensor<?xi64>, %dy: tensor<?xf32>) {
  // CHECK: nn.ctc_loss %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {blank = 0 : i64, by_length = true, zero_infinity = false} : (tensor<9x?x5xf32>, tensor<?x3xi64>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?xf32>, tensor<?x9x7xf32>)
  %losses, %alphas = nn.ctc_loss %x, %t, %n, %n {blank = 0 : i64, zero_infinity = false, by_length = true} : (tensor<9x?x5xf32>, tensor<?x3xi64>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?xf32>, tensor<?x9x7xf32>)
  // CHECK: nn.ctc_loss_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {blank = 0 : i64, by_length = true, zero_infinity = false} : (tensor<?xf32>, tensor<9x?x5xf32>, tensor<?x3xi64>, tensor<?xi64>, tensor<?xi64>, tensor<?x9x7xf32>) -> (tensor<9x?x5xf32>, tensor<?x7xf32>)
  %dx, %betas = nn.ctc_loss_backward %dy, %x, %t, %n, %n, %alphas {blank = 0 : i64, zero_infinity = false, by_length = true} : (tensor<?xf32>, tensor<9x?x5xf32>, tensor<?x3xi64>, tensor<?xi64>, tensor<?xi64>, tensor<?x9x7xf32>) -> (tensor<9x?x5xf32>, tensor<?x7xf32>)
  return
}

// Windows as columns and back, and the halves of a gate.
// CHECK-LABEL: func.func @windows(
func.func @windows(%x: tensor<?x3x6x8xf32>) {
  // CHECK: nn.unfold %{{.*}} {{{.*}}} : (tensor<?x3x6x8xf32>) -> tensor<?x18x14xf32>
  %0 = nn.unfold %x {kernel_size = array<i64: 3, 2>, stride = array<i64: 3, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<?x3x6x8xf32>) -> tensor<?x18x14xf32>
  // CHECK: nn.fold %{{.*}} {{{.*}}output_size = array<i64: 6, 8>{{.*}}} : (tensor<?x18x14xf32>) -> tensor<?x3x6x8xf32>
  %1 = nn.fold %0 {output_size = array<i64: 6, 8>, kernel_size = array<i64: 3, 2>, stride = array<i64: 3, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<?x18x14xf32>) -> tensor<?x3x6x8xf32>
  // CHECK: nn.glu %{{.*}} {dim = 2 : i64} : (tensor<?x3x6x8xf32>) -> tensor<?x3x3x8xf32>
  %2 = nn.glu %x {dim = 2 : i64} : (tensor<?x3x6x8xf32>) -> tensor<?x3x3x8xf32>
  return
}
