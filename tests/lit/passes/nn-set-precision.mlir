// RUN: sheaf-opt %s --nn-set-precision=precision=bf16 | FileCheck %s
// RUN: sheaf-opt %s --nn-set-precision=precision=f32 | FileCheck %s --check-prefix=WIDE

// With f32 nothing changes if everything is f32.
// WIDE-LABEL: func.func @linear(
// WIDE-NOT: nn.cast

// A linear layer takes and returns bf16; its bias is added to the f32 sum. Later ops continue in bf16, and the
// program's output is f32 again. Casts are placed with the layer that needs them, and say so.
// CHECK-LABEL: func.func @linear(
// CHECK: %[[X:.*]] = nn.cast %arg0 {nn.device = 1 : i64, nn.reason = "--precision bf16: 'fc' computes in bfloat16", to = "bfloat16"}
// CHECK: %[[W:.*]] = nn.cast %arg1 {{.*}} : (tensor<2x5xf32>) -> tensor<2x5xbf16>
// CHECK: %[[Y:.*]] = nn.linear %[[X]], %[[W]] bias(%arg2) {{.*}} : (tensor<?x5xbf16>, tensor<2x5xbf16>, tensor<2xf32>) -> tensor<?x2xbf16>
// CHECK: %[[Z:.*]] = nn.relu %[[Y]] {{.*}} -> tensor<?x2xbf16>
// CHECK: %[[O:.*]] = nn.cast %[[Z]] {nn.device = 1 : i64, nn.reason = "outputs keep their type, whatever the plan computes in", to = "float32"}
// CHECK: return %[[O]] : tensor<?x2xf32>
func.func @linear(%x: tensor<?x5xf32> {nn.role = "input"}, %w: tensor<2x5xf32> {nn.role = "parameter"}, %b: tensor<2xf32> {nn.role = "parameter"}) -> tensor<?x2xf32> {
  %0 = nn.linear %x, %w bias(%b) {nn.device = 1 : i64} : (tensor<?x5xf32>, tensor<2x5xf32>, tensor<2xf32>) -> tensor<?x2xf32> loc("fc")
  %1 = nn.relu %0 {nn.device = 1 : i64} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  return %1 : tensor<?x2xf32>
}

// A softmax computes in f32, and a sum of both types does too. One value is cast once.
// CHECK-LABEL: func.func @wide(
// CHECK: %[[P:.*]] = nn.matmul {{.*}} -> tensor<?x?xbf16>
// CHECK: %[[F:.*]] = nn.cast %[[P]] {{.*}}to = "float32"
// CHECK: %[[S:.*]] = nn.softmax %[[F]] {{.*}} -> tensor<?x?xf32>
// CHECK-NOT: nn.cast
// CHECK: nn.add %[[F]], %[[S]] : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
func.func @wide(%a: tensor<?x5xf32> {nn.role = "input"}, %b: tensor<5x?xf32> {nn.role = "input"}) -> tensor<?x?xf32> {
  %0 = nn.matmul %a, %b : (tensor<?x5xf32>, tensor<5x?xf32>) -> tensor<?x?xf32>
  %1 = nn.softmax %0 {dim = 1 : i64, log = false} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %2 = nn.add %0, %1 : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}

// Inside a parallel region each replica casts its own weight; statistics of a batch norm stay f32 beside a bf16 x.
// CHECK-LABEL: func.func @region(
// CHECK: nn.data_parallel "net"(%arg0)
// CHECK-SAME: (tensor<?x4xf32>) -> tensor<?x3xbf16>
// CHECK: nn.cast %arg1 {{.*}}to = "bfloat16"
// CHECK: nn.linear {{.*}} -> tensor<?x3xbf16>
// CHECK: nn.batch_norm_train {{.*}} -> (tensor<?x3xbf16>, tensor<3xf32>, tensor<3xf32>)
// CHECK: nn.yield %{{.*}} : tensor<?x3xbf16>
func.func @region(%x: tensor<?x4xf32> {nn.role = "input"}, %w: tensor<3x4xf32> {nn.role = "parameter"}) -> tensor<?x3xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x4xf32>) -> tensor<?x3xf32> {
  ^bb0(%chunk: tensor<?x4xf32>):
    %1 = nn.linear %chunk, %w : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
    %2, %mean, %var = nn.batch_norm_train %1 {eps = 1.0e-5 : f64} : (tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<3xf32>, tensor<3xf32>)
    nn.yield %2 : tensor<?x3xf32>
  }
  return %0 : tensor<?x3xf32>
}

// In f32, too, a half is cast where a layer computes with it; ops that only move it leave it as it is, and an output
// keeps its type.
// WIDE-LABEL: func.func @half_input(
// WIDE: %[[F:.*]] = nn.flatten %arg0 {{.*}} -> tensor<?x4xbf16>
// WIDE: %[[X:.*]] = nn.cast %[[F]] {{.*}}nn.reason = "--precision f32: 'fc' computes in float32", to = "float32"}
// WIDE: nn.linear %[[X]], %arg1{{.*}} : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x2xf32>
// WIDE: %[[S:.*]] = nn.softmax %[[X]] {{.*}} -> tensor<?x4xf32>
// WIDE: nn.cast %[[S]] {{.*}}to = "bfloat16"}
func.func @half_input(%x: tensor<?x2x2xbf16> {nn.role = "input"}, %w: tensor<2x4xf32> {nn.role = "parameter"}) -> (tensor<?x2xf32>, tensor<?x4xbf16>) {
  %0 = nn.flatten %x {start_dim = 1 : i64, end_dim = -1 : i64} : (tensor<?x2x2xbf16>) -> tensor<?x4xbf16>
  %1 = nn.linear %0, %w : (tensor<?x4xbf16>, tensor<2x4xf32>) -> tensor<?x2xf32> loc("fc")
  %2 = nn.softmax %0 {dim = 1 : i64, log = false} : (tensor<?x4xbf16>) -> tensor<?x4xbf16>
  return %1, %2 : tensor<?x2xf32>, tensor<?x4xbf16>
}

// A half from a cast is treated like an input's.
// WIDE-LABEL: func.func @half_made(
// WIDE: %[[H:.*]] = nn.cast %arg0 {to = "bfloat16"}
// WIDE: %[[X:.*]] = nn.cast %[[H]] {{.*}}to = "float32"}
// WIDE: nn.linear %[[X]], %arg1
func.func @half_made(%x: tensor<?x4xf32> {nn.role = "input"}, %w: tensor<2x4xf32> {nn.role = "parameter"}) -> tensor<?x2xf32> {
  %0 = nn.cast %x {to = "bfloat16"} : (tensor<?x4xf32>) -> tensor<?x4xbf16>
  %1 = nn.linear %0, %w : (tensor<?x4xbf16>, tensor<2x4xf32>) -> tensor<?x2xf32> loc("fc")
  return %1 : tensor<?x2xf32>
}
