// RUN: sheaf-opt %s --nn-infer-shapes | FileCheck %s

// Every value gets the type from its op's shape function, and the function's type follows.
// CHECK-LABEL: func.func @layers(
// CHECK-SAME: -> tensor<?x2xf32>
// CHECK: nn.linear {{.*}} -> tensor<?x2xf32>
// CHECK: nn.relu {{.*}} -> tensor<?x2xf32>
func.func @layers(%x: tensor<?x5xf32>, %w: tensor<2x5xf32>) -> tensor<*xf32> {
  %0 = nn.linear %x, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<*xf32>
  %1 = nn.relu %0 : (tensor<*xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// Chunks have a size of their own, and together give the batch again: only then can the region's result be added to its
// input.
// CHECK-LABEL: func.func @region(
// CHECK: nn.data_parallel {{.*}} -> tensor<?x5xf32>
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x5xf32>):
// CHECK: nn.add {{.*}} : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
func.func @region(%x: tensor<?x5xf32>) -> tensor<*xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<*xf32> {
  ^bb0(%chunk: tensor<*xf32>):
    %2 = nn.relu %chunk : (tensor<*xf32>) -> tensor<*xf32>
    nn.yield %2 : tensor<*xf32>
  }
  %1 = nn.add %x, %0 : (tensor<?x5xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// Split along dimension 1, a fixed size becomes one of unknown size inside, and is fixed again outside.
// CHECK-LABEL: func.func @dim_one(
// CHECK: nn.data_parallel {{.*}} -> tensor<?x6xf32>
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x?xf32>):
func.func @dim_one(%x: tensor<?x6xf32>) -> tensor<*xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 1 : i64} : (tensor<?x6xf32>) -> tensor<*xf32> {
  ^bb0(%chunk: tensor<*xf32>):
    %1 = nn.relu %chunk : (tensor<*xf32>) -> tensor<*xf32>
    nn.yield %1 : tensor<*xf32>
  }
  return %0 : tensor<*xf32>
}

// A number from each replica gives a vector with one for each.
// CHECK-LABEL: func.func @numbers(
// CHECK: nn.data_parallel {{.*}} -> tensor<?xf32>
// CHECK: nn.yield %{{.*}} : tensor<f32>
func.func @numbers(%x: tensor<?x6xf32>) -> tensor<*xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x6xf32>) -> tensor<*xf32> {
  ^bb0(%chunk: tensor<*xf32>):
    %1 = nn.mean %chunk {dims = array<i64: 0, 1>, keepdim = false} : (tensor<*xf32>) -> tensor<*xf32>
    nn.yield %1 : tensor<*xf32>
  }
  return %0 : tensor<*xf32>
}
