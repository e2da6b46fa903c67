// RUN: sheaf-opt %s | sheaf-opt | FileCheck %s

// Operations over a dimension take it from the end too, as PyTorch does.
// CHECK-LABEL: func.func @rows(
func.func @rows(%x: tensor<?x4x6xf32>) {
  // CHECK: nn.softmax %{{.*}} {dim = -1 : i64, log = true} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %0 = nn.softmax %x {dim = -1 : i64, log = true} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  // CHECK: nn.mean %{{.*}} {dims = array<i64: 1, -1>, keepdim = false} : (tensor<?x4x6xf32>) -> tensor<?xf32>
  %1 = nn.mean %x {dims = array<i64: 1, -1>, keepdim = false} : (tensor<?x4x6xf32>) -> tensor<?xf32>
  // CHECK: nn.mean %{{.*}} {dims = array<i64: 0>, keepdim = true} : (tensor<?x4x6xf32>) -> tensor<1x4x6xf32>
  %2 = nn.mean %x {dims = array<i64: 0>, keepdim = true} : (tensor<?x4x6xf32>) -> tensor<1x4x6xf32>
  return
}

// Ops that move elements: the part of a shape that depends on the batch stays `?`.
// CHECK-LABEL: func.func @movement(
func.func @movement(%x: tensor<?x4x6xf32>) {
  // CHECK: nn.reshape %{{.*}} {shape = array<i64: -1, 24>} : (tensor<?x4x6xf32>) -> tensor<?x24xf32>
  %0 = nn.reshape %x {shape = array<i64: -1, 24>} : (tensor<?x4x6xf32>) -> tensor<?x24xf32>
  // CHECK: nn.flatten %{{.*}} {end_dim = -1 : i64, start_dim = 1 : i64} : (tensor<?x4x6xf32>) -> tensor<?x24xf32>
  %1 = nn.flatten %x {end_dim = -1 : i64, start_dim = 1 : i64} : (tensor<?x4x6xf32>) -> tensor<?x24xf32>
  // CHECK: nn.permute %{{.*}} {dims = array<i64: 2, 0, 1>} : (tensor<?x4x6xf32>) -> tensor<6x?x4xf32>
  %2 = nn.permute %x {dims = array<i64: 2, 0, 1>} : (tensor<?x4x6xf32>) -> tensor<6x?x4xf32>
  // CHECK: nn.select %{{.*}} {dim = 1 : i64, index = -1 : i64} : (tensor<?x4x6xf32>) -> tensor<?x6xf32>
  %3 = nn.select %x {dim = 1 : i64, index = -1 : i64} : (tensor<?x4x6xf32>) -> tensor<?x6xf32>
  // CHECK: nn.slice %{{.*}} {begin = 2 : i64, dim = 2 : i64, size = 3 : i64} : (tensor<?x4x6xf32>) -> tensor<?x4x3xf32>
  %4 = nn.slice %x {begin = 2 : i64, dim = 2 : i64, size = 3 : i64} : (tensor<?x4x6xf32>) -> tensor<?x4x3xf32>
  // CHECK: nn.concat %{{.*}}, %{{.*}} {dim = 2 : i64} : (tensor<?x4x6xf32>, tensor<?x4x3xf32>) -> tensor<?x4x9xf32>
  %5 = nn.concat %x, %4 {dim = 2 : i64} : (tensor<?x4x6xf32>, tensor<?x4x3xf32>) -> tensor<?x4x9xf32>
  return
}

// Dropout and identity return their input in inference; a layer's annotations are kept.
// CHECK-LABEL: func.func @nothing(
func.func @nothing(%x: tensor<?x4xi64>) {
  // CHECK: nn.dropout %{{.*}} {nn.device = 1 : i64, nn.reason = "the model file places it on device 1", nn.type = "Dropout", p = 5.000000e-01 : f64} : (tensor<?x4xi64>) -> tensor<?x4xi64>
  %0 = nn.dropout %x {nn.device = 1 : i64, nn.reason = "the model file places it on device 1", nn.type = "Dropout", p = 5.000000e-01 : f64} : (tensor<?x4xi64>) -> tensor<?x4xi64>
  // CHECK: nn.identity %{{.*}} {nn.device = -1 : i64} : (tensor<?x4xi64>) -> tensor<?x4xi64>
  %1 = nn.identity %x {nn.device = -1 : i64} : (tensor<?x4xi64>) -> tensor<?x4xi64>
  return
}
