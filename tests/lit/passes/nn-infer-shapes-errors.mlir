// RUN: sheaf-opt %s --nn-infer-shapes -verify-diagnostics -split-input-file

// Only here is it known what a layer gets.
func.func @features(%x: tensor<?x5xf32>, %v: tensor<4x5xf32>, %w: tensor<2x5xf32>) {
  %0 = nn.linear %x, %v : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<*xf32>
  // expected-error @+1 {{expects 5 input features, but the input is [batch, 4]}}
  %1 = nn.linear %0, %w : (tensor<*xf32>, tensor<2x5xf32>) -> tensor<*xf32>
  return
}

// -----

// Twice the batch is not the batch: sizes are exact, not just unknown.
func.func @twice(%x: tensor<?x5xf32>) {
  %0 = nn.concat %x, %x {dim = 0 : i64} : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<*xf32>
  // expected-error @+1 {{expects inputs whose shapes broadcast}}
  %1 = nn.add %x, %0 : (tensor<?x5xf32>, tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

// A chunk is not the whole.
func.func @chunk(%x: tensor<?x5xf32>) {
  nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> () {
  ^bb0(%chunk: tensor<*xf32>):
    // expected-error @+1 {{expects inputs whose shapes broadcast, but got [rows0, 5] and [batch, 5]}}
    %0 = nn.add %chunk, %x : (tensor<*xf32>, tensor<?x5xf32>) -> tensor<*xf32>
  }
  return
}

// -----

// An output of a region keeps the split dimension where it is.
func.func @moved(%x: tensor<?x5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{gathers along dimension 0, but dimension 1 of [5, rows0] differs between replicas; the output must keep the split dimension where it is}}
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<*xf32> {
  ^bb0(%chunk: tensor<*xf32>):
    %1 = nn.permute %chunk {dims = array<i64: 1, 0>} : (tensor<*xf32>) -> tensor<*xf32>
    nn.yield %1 : tensor<*xf32>
  }
  return %0 : tensor<*xf32>
}

// -----

// An input has the dimension that it is split along.
func.func @dim(%x: tensor<*xf32>, %y: tensor<?xf32>) { // The argument's type stands for anything.
  return
}
// expected-error @-3 {{has an argument that is no ranked tensor: 'tensor<*xf32>'}}

// -----

// Sizes that depend on the batch cannot be multiplied: they are linear in it.
func.func @square(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{would multiply two sizes that depend on the batch (input [batch, batch])}}
  %0 = nn.flatten %x {end_dim = 1 : i64, start_dim = 0 : i64} : (tensor<?x?xf32>) -> tensor<*xf32>
  return
}

// -----

// The number of a recurrent layer's steps doesn't depend on the batch.
func.func @time(%x: tensor<?x3x5xf32>, %wi: tensor<12x5xf32>, %wh: tensor<12x4xf32>) {
  // expected-error @+1 {{expects a sequence length that doesn't depend on the batch, but the input is [batch, 3, 5] with time as dimension 0}}
  %y, %hn = nn.gru %x weights(%wi, %wh) {batch_first = false, bias = false, bidirectional = false, hidden_size = 4 : i64, num_layers = 1 : i64} : (tensor<?x3x5xf32>, tensor<12x5xf32>, tensor<12x4xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return
}

// -----

// Nor does a spatial size.
func.func @space(%x: tensor<2x4x?xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects spatial sizes that don't depend on the batch, but the input is [2, 4, batch]}}
  %0 = nn.conv %x, %w {stride = array<i64: 1>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<2x4x?xf32>, tensor<6x4x3xf32>) -> tensor<*xf32>
  return
}

// -----

// Ops of other dialects have no shape function.
func.func @other(%x: tensor<4xf32>) {
  // expected-error @+1 {{has no shape function}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  return
}

// -----

// A declaration computes nothing.
// expected-error @+1 {{has no body}}
func.func private @declaration(tensor<4xf32>)
