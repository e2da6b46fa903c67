// RUN: sheaf-opt %s -verify-diagnostics -split-input-file

// A result's type must be the one from the op's shape function.
func.func @result_type(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{has a result of type 'tensor<?x6xf32>' where its operands give 'tensor<?x5xf32>'}}
  %0 = nn.relu %x : (tensor<?x5xf32>) -> tensor<?x6xf32>
  return
}

// -----

// Its rank too.
func.func @result_rank(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{where its operands give 'tensor<?x5xf32>'}}
  %0 = nn.tanh %x : (tensor<?x5xf32>) -> tensor<5xf32>
  return
}

// -----

// Activations are defined on floating-point elements.
func.func @integers(%x: tensor<?x5xi64>) {
  // expected-error @+1 {{computes with floating-point numbers, but an input is int64; declare the model's input as float32}}
  %0 = nn.sigmoid %x : (tensor<?x5xi64>) -> tensor<?x5xi64>
  return
}

// -----

// Sizes other than 1 don't stretch.
func.func @broadcast(%x: tensor<?x5xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{expects inputs whose shapes broadcast, but got [?, 5] and [4]}}
  %0 = nn.add %x, %y : (tensor<?x5xf32>, tensor<4xf32>) -> tensor<?x5xf32>
  return
}

// -----

// An activation's constant is not optional.
func.func @no_slope(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{'nn.leaky_relu' op requires attribute 'negative_slope'}}
  %0 = nn.leaky_relu %x : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}

// -----

// Statistics of a batch norm run along dimension 1.
func.func @channels(%x: tensor<?x3x4xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{expects 3 channels, but a statistic or parameter has shape [4]}}
  %0 = nn.batch_norm %x mean(%c) var(%c) {eps = 1.0e-05 : f64} : (tensor<?x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x3x4xf32>
  return
}

// -----

// So the dimension must exist.
func.func @no_channels(%x: tensor<?xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{expects an input of at least 2 dimensions, but got [?]}}
  %0 = nn.batch_norm %x mean(%c) var(%c) {eps = 1.0e-05 : f64} : (tensor<?xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?xf32>
  return
}

// -----

// The scale of fold_weight runs along a dimension that the kernel has.
func.func @axis(%kernel: tensor<3x2x5xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{expects an axis of the kernel}}
  %0 = nn.fold_weight %kernel var(%c) {axis = 3 : i64, eps = 1.0e-05 : f64} : (tensor<3x2x5xf32>, tensor<3xf32>) -> tensor<3x2x5xf32>
  return
}

// -----

// And has its size.
func.func @scale(%kernel: tensor<3x2x5xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{expects 2 channels, but a statistic or parameter has shape [3]}}
  %0 = nn.fold_weight %kernel var(%c) {axis = 1 : i64, eps = 1.0e-05 : f64} : (tensor<3x2x5xf32>, tensor<3xf32>) -> tensor<3x2x5xf32>
  return
}

// -----

// fold_bias works per channel.
func.func @fold_bias(%mean: tensor<3xf32>, %c: tensor<2xf32>) {
  // expected-error @+1 {{expects 3 channels, but a statistic or parameter has shape [2]}}
  %0 = nn.fold_bias %mean var(%c) {eps = 1.0e-05 : f64} : (tensor<3xf32>, tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

// A mean that is not a vector has no channels.
func.func @fold_bias_mean(%mean: tensor<3x1xf32>) {
  // expected-error @+1 {{expects a vector of means, but got [3, 1]}}
  %0 = nn.fold_bias %mean var(%mean) {eps = 1.0e-05 : f64} : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  return
}
