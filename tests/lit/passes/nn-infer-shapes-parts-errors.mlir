// RUN: sheaf-opt %s --nn-infer-shapes -verify-diagnostics -split-input-file

// Each device has its own rows: taking some of the batch's rows is an error.
func.func @slice(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}) -> tensor<*xf32> attributes {nn.outputs = ["y"]} {
  // expected-error @+1 {{takes a part of dimension 0, which depends on the batch (input [batch, 4]): each device has rows of its own}}
  %0 = nn.strided_slice %x {dim = 0 : i64, start = 1 : i64, step = 1 : i64} : (tensor<?x4xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

func.func @split(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}) -> tensor<*xf32> attributes {nn.outputs = ["y"]} {
  // expected-error @+1 {{splits dimension 0, which depends on the batch (input [batch, 4])}}
  %0 = nn.split %x {dim = 0 : i64, sections = array<i64: 2>} : (tensor<?x4xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

func.func @pad(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}) -> tensor<*xf32> attributes {nn.outputs = ["y"]} {
  // expected-error @+1 {{pads dimension 0, which depends on the batch (input [batch, 4])}}
  %0 = nn.border %x {mode = "constant", pad = array<i64: 0, 0, 1, 0>, value = 0.0 : f64} : (tensor<?x4xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

func.func @lookup(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}, %i: tensor<3xi64> {nn.name = "i", nn.role = "input"}) -> tensor<*xf32> attributes {nn.outputs = ["y"]} {
  // expected-error @+1 {{looks up entries of dimension 0, which depends on the batch (input [batch, 4])}}
  %0 = nn.index_select %i, %x {dim = 0 : i64} : (tensor<3xi64>, tensor<?x4xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
