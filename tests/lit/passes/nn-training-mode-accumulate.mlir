// RUN: sheaf-opt %s --nn-training-mode=accumulate=true | FileCheck %s

// For a part of a batch: sums, with the divisor of the mean over the whole batch as a second output.
// CHECK-LABEL: func.func @cross_entropy(
// CHECK-SAME: -> (tensor<f32>, tensor<f32>) attributes {nn.outputs = ["loss", "divisor"]}
func.func @cross_entropy(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}, %t: tensor<?xi64> {nn.name = "y", nn.role = "target"}) -> tensor<f32> attributes {nn.outputs = ["loss"]} {
  // CHECK: %[[TOTAL:.*]] = nn.scale
  // CHECK: %[[COUNT:.*]] = nn.sum
  // CHECK-NOT: nn.div
  // CHECK: return %[[TOTAL]], %[[COUNT]]
  %l = nn.loss "CrossEntropyLoss" %x, %t {arguments = {reduction = "mean"}} : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<f32>
  return %l : tensor<f32>
}

// CHECK-LABEL: func.func @mean_of_squares(
func.func @mean_of_squares(%x: tensor<?x2xf32> {nn.name = "x", nn.role = "input"}, %t: tensor<?x2xf32> {nn.name = "y", nn.role = "target"}) -> tensor<f32> attributes {nn.outputs = ["loss"]} {
  // CHECK: %[[ONE:.*]] = nn.constant [1.000000e+00]
  // CHECK: %[[INVERSE:.*]] = nn.inverse_count %{{.*}} {dims = array<i64: 0, 1>}
  // CHECK: %[[COUNT:.*]] = nn.div %[[ONE]], %[[INVERSE]]
  // CHECK: return %{{.*}}, %[[COUNT]]
  %l = nn.loss "MSELoss" %x, %t {arguments = {reduction = "mean"}} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// A sum stays a sum. A dropout gets the beginning of the part.
// CHECK-LABEL: func.func @dropout(
// CHECK-SAME: {nn.name = "first_row", nn.role = "setting"}
// CHECK-SAME: -> tensor<f32> attributes {nn.outputs = ["loss"]}
func.func @dropout(%x: tensor<?x2xf32> {nn.name = "x", nn.role = "input"}, %t: tensor<?x2xf32> {nn.name = "y", nn.role = "target"}) -> tensor<f32> attributes {nn.outputs = ["loss"]} {
  // CHECK: nn.dropout_train %{{.*}} step(%{{.*}}) seed(%{{.*}}) first_row(%{{.*}})
  %y = nn.dropout %x {p = 0.5 : f64} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %l = nn.loss "MSELoss" %y, %t {arguments = {reduction = "sum"}} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
