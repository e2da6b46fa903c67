// RUN: sheaf-opt %s -verify-diagnostics -split-input-file

// A dimension must be one of the input's.
func.func @softmax(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{expects a dimension between -2 and 1 for an input of shape [?, 4], but got 2}}
  %0 = nn.softmax %x {dim = 2 : i64, log = false} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// A dimension is reduced once, whether counted from the front or the back.
func.func @mean(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{names dimension 1 twice}}
  %0 = nn.mean %x {dims = array<i64: 1, -1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<?xf32>
  return
}

// -----

// Several open sizes of a reshape are those of its input, in order.
func.func @two_open(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{cannot view an input of shape [?, 4] as [-1, -1]}}
  %0 = nn.reshape %x {shape = array<i64: -1, -1>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// A reshape keeps the number of elements.
func.func @reshape(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{cannot view an input of shape [3, 4] as [5, 2]}}
  %0 = nn.reshape %x {shape = array<i64: 5, 2>} : (tensor<3x4xf32>) -> tensor<5x2xf32>
  return
}

// -----

// flatten goes from an outer dimension to an inner one.
func.func @flatten(%x: tensor<?x4x6xf32>) {
  // expected-error @+1 {{expects start_dim not to come after end_dim}}
  %0 = nn.flatten %x {end_dim = 1 : i64, start_dim = -1 : i64} : (tensor<?x4x6xf32>) -> tensor<?x24xf32>
  return
}

// -----

// A permutation has each dimension once.
func.func @permute_twice(%x: tensor<?x4x6xf32>) {
  // expected-error @+1 {{names dimension 2 twice}}
  %0 = nn.permute %x {dims = array<i64: 2, -1, 0>} : (tensor<?x4x6xf32>) -> tensor<6x6x?xf32>
  return
}

// -----

// All of them.
func.func @permute_rank(%x: tensor<?x4x6xf32>) {
  // expected-error @+1 {{expects 3 dimensions, but got 2}}
  %0 = nn.permute %x {dims = array<i64: 2, 1>} : (tensor<?x4x6xf32>) -> tensor<6x4xf32>
  return
}

// -----

// An index is one of the dimension's.
func.func @select(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{expects an index between -4 and 3, but got 4}}
  %0 = nn.select %x {dim = 1 : i64, index = 4 : i64} : (tensor<?x4xf32>) -> tensor<?xf32>
  return
}

// -----

// A slice lies inside its dimension.
func.func @slice(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{expects a range inside dimension 1 of [?, 4]}}
  %0 = nn.slice %x {begin = 3 : i64, dim = 1 : i64, size = 2 : i64} : (tensor<?x4xf32>) -> tensor<?x2xf32>
  return
}

// -----

// Inputs of a concat agree in all other dimensions.
func.func @concat(%x: tensor<?x4xf32>, %y: tensor<?x5xf32>) {
  // expected-error @+1 {{expects inputs that agree except in dimension 0, but got [?, 4] and [?, 5]}}
  %0 = nn.concat %x, %y {dim = 0 : i64} : (tensor<?x4xf32>, tensor<?x5xf32>) -> tensor<?x4xf32>
  return
}

// -----

// And there is one at least.
func.func @concat_nothing() {
  // expected-error @+1 {{expects at least one input}}
  %0 = nn.concat {dim = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

// The identity changes no type.
func.func @identity(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{has a result of type 'tensor<?x4xf64>' where its operands give 'tensor<?x4xf32>'}}
  %0 = nn.identity %x : (tensor<?x4xf32>) -> tensor<?x4xf64>
  return
}

// -----

// Nor does dropout.
func.func @dropout(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{has a result of type 'tensor<?x5xf32>' where its operands give 'tensor<?x4xf32>'}}
  %0 = nn.dropout %x {p = 0.5 : f64} : (tensor<?x4xf32>) -> tensor<?x5xf32>
  return
}
