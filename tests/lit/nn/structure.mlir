// RUN: sheaf-opt %s | sheaf-opt | FileCheck %s

// A program's arguments have roles; its outputs have names.
// CHECK-LABEL: func.func @program(
func.func @program(%x: tensor<?x5xf32> {nn.name = "x", nn.role = "input"}, %w: tensor<2x5xf32> {nn.name = "fc.weight", nn.role = "parameter"}) -> tensor<?x2xf32> attributes {nn.outputs = ["y"]} {
  // CHECK: nn.linear %{{.*}}, %{{.*}} : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
  %0 = nn.linear %x, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// A parallel region takes chunks of its inputs and uses parameters from outside; each of its attributes except `dim`
// may be absent.
// CHECK-LABEL: func.func @parallel(
func.func @parallel(%x: tensor<?x5xf32>, %w: tensor<2x5xf32>) {
  // CHECK: nn.data_parallel "net"(%{{.*}}) {device_ids = array<i64: 2, 0>, dim = 0 : i64, output_device = 1 : i64} : (tensor<?x5xf32>) -> tensor<?x2xf32> {
  %0 = nn.data_parallel "net"(%x) {device_ids = array<i64: 2, 0>, dim = 0 : i64, output_device = 1 : i64} : (tensor<?x5xf32>) -> tensor<?x2xf32> {
  ^bb0(%chunk: tensor<?x5xf32>):
  // CHECK: nn.linear %{{.*}}, %{{.*}} : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
    %1 = nn.linear %chunk, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
  // CHECK: nn.yield %{{.*}} : tensor<?x2xf32>
    nn.yield %1 : tensor<?x2xf32>
  }
  return
}

// A region without inputs and results is valid too: it may print.
// CHECK-LABEL: func.func @no_inputs(
func.func @no_inputs(%w: tensor<2x5xf32>) {
  // CHECK: nn.data_parallel "net"() {dim = 0 : i64} : () -> () {
  nn.data_parallel "net"() {dim = 0 : i64} : () -> () {
  // CHECK: nn.print %{{.*}} text "weight of {0}" : (tensor<2x5xf32>) -> tensor<2x5xf32>
    %0 = nn.print %w text "weight of {0}" : (tensor<2x5xf32>) -> tensor<2x5xf32>
  }
  return
}

// Replicas add up what each of them computes.
// CHECK-LABEL: func.func @sum_over_replicas(
func.func @sum_over_replicas(%x: tensor<?x5xf32>) {
  nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> () {
  ^bb0(%chunk: tensor<?x5xf32>):
    %0 = nn.sum %chunk {dims = array<i64: 0>, keepdim = false} : (tensor<?x5xf32>) -> tensor<5xf32>
  // CHECK: nn.sum_over_replicas %{{.*}} : tensor<5xf32>
    %1 = nn.sum_over_replicas %0 : tensor<5xf32>
  }
  return
}

// A fused group sees nothing but its arguments.
// CHECK-LABEL: func.func @fused(
func.func @fused(%x: tensor<?x5xf32>, %b: tensor<5xf32>) {
  // CHECK: nn.fused(%{{.*}}, %{{.*}}) : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32> {
  %0 = nn.fused(%x, %b) : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32> {
  ^bb0(%a: tensor<?x5xf32>, %c: tensor<5xf32>):
  // CHECK: nn.add %{{.*}}, %{{.*}} : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
    %1 = nn.add %a, %c : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.relu %{{.*}} : (tensor<?x5xf32>) -> tensor<?x5xf32>
    %2 = nn.relu %1 : (tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: nn.yield %{{.*}} : tensor<?x5xf32>
    nn.yield %2 : tensor<?x5xf32>
  }
  return
}

// Before shape inference a result's type may be unknown.
// CHECK-LABEL: func.func @unranked(
func.func @unranked(%x: tensor<?x5xf32>, %w: tensor<2x5xf32>) {
  // CHECK: nn.linear %{{.*}}, %{{.*}} : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<*xf32>
  %0 = nn.linear %x, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<*xf32>
  // CHECK: nn.relu %{{.*}} : (tensor<*xf32>) -> tensor<*xf32>
  %1 = nn.relu %0 : (tensor<*xf32>) -> tensor<*xf32>
  return
}
