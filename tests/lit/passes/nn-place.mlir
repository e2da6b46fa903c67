// RUN: sheaf-opt %s --nn-place | FileCheck %s --check-prefixes=CHECK,ANY
// RUN: sheaf-opt %s --nn-place=device-memory=3199 | FileCheck %s --check-prefixes=CHECK,SMALL
// RUN: sheaf-opt %s --nn-place=device-memory=3200 | FileCheck %s --check-prefixes=CHECK,ANY

// Without an annotation in the model file, an op runs on the first device; its successors stay there.
// CHECK-LABEL: func.func @default(
// CHECK: nn.relu {{.*}}nn.device = 0 : i64, nn.reason = "the first device of the list, as no other is named"
// CHECK: nn.tanh {{.*}}nn.device = 0 : i64, nn.reason = "stays on device 0, where its input is"
func.func @default(%x: tensor<?x5xf32> {nn.role = "input"}) {
  %0 = nn.relu %x : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %1 = nn.tanh %0 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}

// An annotation is followed, and later ops stay where their first placed input is.
// CHECK-LABEL: func.func @annotated(
// CHECK: nn.relu {{.*}}nn.device = 1 : i64, nn.reason = "the model file places it on device 1"
// CHECK: nn.tanh {{.*}}nn.device = -1 : i64, nn.reason = "the model file places it on the host"
// CHECK: nn.add {{.*}}nn.device = 1 : i64, nn.reason = "stays on device 1, where its input is"
// CHECK: nn.add {{.*}}nn.device = -1 : i64, nn.reason = "stays on the host, where its input is"
func.func @annotated(%x: tensor<?x5xf32> {nn.role = "input"}) {
  %0 = nn.relu %x {nn.device = 1 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %1 = nn.tanh %x {nn.device = -1 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.add %0, %1 : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  %3 = nn.add %1, %0 : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}

// A table of 100 · 8 · 4 bytes goes to the host if devices are said to have less. The layer after it has parameters, so
// it computes on a device nonetheless; an op without parameters stays with its input.
// CHECK-LABEL: func.func @embedding(
// ANY: nn.embedding {{.*}}nn.device = 0 : i64, nn.reason = "the first device of the list, as no other is named"
// SMALL: nn.embedding {{.*}}nn.device = -1 : i64, nn.reason = "its table of 3200 bytes doesn't fit the 3199 bytes of device memory stated"
// CHECK: nn.linear {{.*}}nn.device = 0 : i64
// SMALL: nn.relu {{.*}}nn.device = -1 : i64, nn.reason = "stays on the host, where its input is"
func.func @embedding(%x: tensor<?xi64> {nn.role = "input"}, %table: tensor<100x8xf32> {nn.role = "parameter"}, %w: tensor<2x8xf32> {nn.role = "parameter"}) {
  %0 = nn.embedding %x, %table : (tensor<?xi64>, tensor<100x8xf32>) -> tensor<?x8xf32>
  %1 = nn.linear %0, %w : (tensor<?x8xf32>, tensor<2x8xf32>) -> tensor<?x2xf32>
  %2 = nn.relu %0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// The model file's annotation outweighs a table's size.
// CHECK-LABEL: func.func @annotated_embedding(
// CHECK: nn.embedding {{.*}}nn.device = 2 : i64, nn.reason = "the model file places it on device 2"
func.func @annotated_embedding(%x: tensor<?xi64> {nn.role = "input"}, %table: tensor<100x8xf32> {nn.role = "parameter"}) {
  %0 = nn.embedding %x, %table {nn.device = 2 : i64} : (tensor<?xi64>, tensor<100x8xf32>) -> tensor<?x8xf32>
  return
}

// Ops after a parallel region run where the region's outputs are gathered: on its output device, else on the first of
// its devices. Ops inside have no place of their own.
// CHECK-LABEL: func.func @regions(
// CHECK: nn.silu %{{[^{]*}} : (
// CHECK: nn.relu {{.*}}nn.device = 3 : i64
// CHECK: nn.tanh {{.*}}nn.device = 2 : i64
func.func @regions(%x: tensor<?x5xf32> {nn.role = "input"}) {
  %0 = nn.data_parallel "a"(%x) {device_ids = array<i64: 2, 1>, dim = 0 : i64, output_device = 3 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32> {
  ^bb0(%chunk: tensor<?x5xf32>):
    %4 = nn.silu %chunk : (tensor<?x5xf32>) -> tensor<?x5xf32>
    nn.yield %4 : tensor<?x5xf32>
  }
  %1 = nn.relu %0 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.data_parallel "b"(%x) {device_ids = array<i64: 2, 1>, dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32> {
  ^bb0(%chunk: tensor<?x5xf32>):
    nn.yield %chunk : tensor<?x5xf32>
  }
  %3 = nn.tanh %2 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}
