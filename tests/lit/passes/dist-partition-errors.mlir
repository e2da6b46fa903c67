// RUN: sheaf-opt %s --dist-partition -verify-diagnostics -split-input-file

// An op without a place cannot be put into a region.
func.func @no_device(%x: tensor<?x5xf32> {nn.role = "input"}) {
  // expected-error @+1 {{has no device; run nn-place first}}
  %0 = nn.relu %x : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}

// -----

// Where an argument lives depends on its role.
// expected-error @+1 {{has an argument without nn.role or ranked type; run nn-infer-shapes first}}
func.func @no_role(%x: tensor<?x5xf32>) {
  return
}

// -----

// A role is a string.
// expected-error @+1 {{has an argument without nn.role or ranked type; run nn-infer-shapes first}}
func.func @role(%x: tensor<?x5xf32> {nn.role = 1 : i64}) {
  return
}

// -----

// Placed tensors have ranks.
// expected-error @+1 {{has an argument without nn.role or ranked type; run nn-infer-shapes first}}
func.func @no_rank(%x: tensor<*xf32> {nn.role = "input"}) {
  return
}

// -----

// Nothing but nn programs can be partitioned.
func.func @other(%x: tensor<4xf32> {nn.role = "input"}) {
  // expected-error @+1 {{is no op of the nn dialect}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  return
}

// -----

// Least of all a declaration.
// expected-error @+1 {{has no body}}
func.func private @declaration(tensor<4xf32>)
