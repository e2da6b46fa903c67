// RUN: sheaf-opt %s -verify-diagnostics -split-input-file

// The function must exist.
func.func @unknown(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{has no function 'sofplus'}}
  %0 = nn.map "sofplus" %x {numbers = array<f64>} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}

// -----

// It must get its number of numbers and inputs.
func.func @numbers(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{expects 1 inputs and 2 numbers}}
  %0 = nn.map "softplus" %x {numbers = array<f64: 1.0>} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}

// -----

// Logarithms are of floating-point numbers.
func.func @integers(%x: tensor<?x5xi64>) {
  // expected-error @+1 {{computes with floating-point numbers, but an input is int64}}
  %0 = nn.map "log" %x {numbers = array<f64>} : (tensor<?x5xi64>) -> tensor<?x5xi64>
  return
}

// -----

// Types don't mix.
func.func @mixed(%x: tensor<?x5xf32>, %i: tensor<?x5xi64>) {
  // expected-error @+1 {{computes with inputs of one type, but they are float32 and int64; put a Cast before one of them}}
  %0 = nn.map "minimum" %x, %i {numbers = array<f64>} : (tensor<?x5xf32>, tensor<?x5xi64>) -> tensor<?x5xf32>
  return
}

// -----

// A number beside integers must be one.
func.func @fraction(%i: tensor<?x5xi64>) {
  // expected-error @+1 {{beside an input of int64; cast the input to float32 first}}
  %0 = nn.map "add" %i {numbers = array<f64: 0.5>} : (tensor<?x5xi64>) -> tensor<?x5xi64>
  return
}

// -----

func.func @condition(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{expects a condition of bool, but it is float32}}
  %0 = nn.map "where" %x, %x, %x {numbers = array<f64>} : (tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}

// -----

func.func @channels(%x: tensor<?x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{expects one number, or one for each of 3 channels, but got [4]}}
  %0 = nn.map "prelu" %x, %w {numbers = array<f64>} : (tensor<?x3x4xf32>, tensor<4xf32>) -> tensor<?x3x4xf32>
  return
}

// -----

// Only dimensions of size 1 are repeated.
func.func @expand(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{cannot repeat an input of shape [2, 3] to size 4 in dimension 0 of 2}}
  %0 = nn.expand %x {like_dim = 0 : i64, shape = array<i64: 4, 3>} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @expand_rows(%x: tensor<1x3xf32>) {
  // expected-error @+1 {{has "batch" in its shape, but no second input}}
  %0 = nn.expand %x {like_dim = 0 : i64, shape = array<i64: -2, 3>} : (tensor<1x3xf32>) -> tensor<?x3xf32>
  return
}
