// RUN: sheaf-opt %s --nn-warn-mixing -split-input-file -verify-diagnostics

// Each replica takes a mean over the rows that the region splits over its own chunk only.
func.func @mean(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32> {
  ^bb0(%a: tensor<?x5xf32>):
    // expected-warning @+1 {{mixes what the DataParallel layer 'net' splits}}
    %m = nn.mean %a {dims = array<i64: 0>, keepdim = false} : (tensor<?x5xf32>) -> tensor<5xf32>
    %s = nn.sub %a, %m : (tensor<?x5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
    nn.yield %s : tensor<?x5xf32>
  }
  return %0 : tensor<?x5xf32>
}

// -----

// The cut dimension is followed through a permutation: here dimension 1 is split.
func.func @permuted(%x: tensor<?x5xf32>) -> tensor<5x?xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<5x?xf32> {
  ^bb0(%a: tensor<?x5xf32>):
    %p = nn.permute %a {dims = array<i64: 1, 0>} : (tensor<?x5xf32>) -> tensor<5x?xf32>
    %s = nn.softmax %p {dim = 0 : i64, log = false} : (tensor<5x?xf32>) -> tensor<5x?xf32>
    // expected-warning @+1 {{mixes what the DataParallel layer 'net' splits}}
    %t = nn.softmax %s {dim = 1 : i64, log = false} : (tensor<5x?xf32>) -> tensor<5x?xf32>
    nn.yield %t : tensor<5x?xf32>
  }
  return %0 : tensor<5x?xf32>
}

// -----

// Rows that stay apart cause no warning.
func.func @rows(%x: tensor<?x5xf32>, %w: tensor<2x5xf32>) -> tensor<?x2xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<?x2xf32> {
  ^bb0(%a: tensor<?x5xf32>):
    %y = nn.linear %a, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
    %z = nn.softmax %y {dim = -1 : i64, log = false} : (tensor<?x2xf32>) -> tensor<?x2xf32>
    nn.yield %z : tensor<?x2xf32>
  }
  return %0 : tensor<?x2xf32>
}

// -----

// Each result of a layer is cut in a dimension of its own: with batch_first y in 0, the states in 1. A layer's last state mixes nothing …
func.func @state(%x: tensor<?x7x5xf32>, %w: tensor<12x5xf32>, %u: tensor<12x4xf32>) -> tensor<?x4xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x7x5xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x7x5xf32>):
    %y, %h = nn.gru %a weights(%w, %u) {hidden_size = 4 : i64, num_layers = 1 : i64, bidirectional = false, batch_first = true, bias = false}
      : (tensor<?x7x5xf32>, tensor<12x5xf32>, tensor<12x4xf32>) -> (tensor<?x7x4xf32>, tensor<1x?x4xf32>)
    %s = nn.select %h {dim = 0 : i64, index = 0 : i64} : (tensor<1x?x4xf32>) -> tensor<?x4xf32>
    nn.yield %s : tensor<?x4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

// … a mean over its dimension 1 does.
func.func @mean_of_states(%x: tensor<?x7x5xf32>, %w: tensor<12x5xf32>, %u: tensor<12x4xf32>) -> tensor<1x4xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x7x5xf32>) -> tensor<1x4xf32> {
  ^bb0(%a: tensor<?x7x5xf32>):
    %y, %h = nn.gru %a weights(%w, %u) {hidden_size = 4 : i64, num_layers = 1 : i64, bidirectional = false, batch_first = true, bias = false}
      : (tensor<?x7x5xf32>, tensor<12x5xf32>, tensor<12x4xf32>) -> (tensor<?x7x4xf32>, tensor<1x?x4xf32>)
    // expected-warning @+1 {{mixes what the DataParallel layer 'net' splits}}
    %m = nn.mean %h {dims = array<i64: 1>, keepdim = false} : (tensor<1x?x4xf32>) -> tensor<1x4xf32>
    nn.yield %m : tensor<1x4xf32>
  }
  return %0 : tensor<1x4xf32>
}

// -----

// An attention's weights have the batch first, wherever its rows do.
func.func @attention(%x: tensor<7x?x4xf32>, %w: tensor<12x4xf32>, %o: tensor<4x4xf32>) -> tensor<?x7xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 1 : i64} : (tensor<7x?x4xf32>) -> tensor<?x7xf32> {
  ^bb0(%a: tensor<7x?x4xf32>):
    %y, %p = nn.multihead_attention %a, %a, %a in_proj(%w) out_proj(%o) {num_heads = 2 : i64, batch_first = false}
      : (tensor<7x?x4xf32>, tensor<7x?x4xf32>, tensor<7x?x4xf32>, tensor<12x4xf32>, tensor<4x4xf32>) -> (tensor<7x?x4xf32>, tensor<?x7x7xf32>)
    %m = nn.mean %p {dims = array<i64: 1>, keepdim = false} : (tensor<?x7x7xf32>) -> tensor<?x7xf32>
    nn.yield %m : tensor<?x7xf32>
  }
  return %0 : tensor<?x7xf32>
}

// -----

// A reshape keeps rows together as long as equally many elements come before them; one that turns rows into columns
// does not.
func.func @reshaped(%x: tensor<?x6xf32>) -> tensor<6x?xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x6xf32>) -> tensor<6x?xf32> {
  ^bb0(%a: tensor<?x6xf32>):
    %r = nn.reshape %a {shape = array<i64: 1, -1, 2, 3>} : (tensor<?x6xf32>) -> tensor<1x?x2x3xf32>
    %m = nn.softmax %r {dim = 2 : i64, log = false} : (tensor<1x?x2x3xf32>) -> tensor<1x?x2x3xf32>
    // expected-warning @+1 {{mixes what the DataParallel layer 'net' splits}}
    %t = nn.reshape %m {shape = array<i64: 6, -1>} : (tensor<1x?x2x3xf32>) -> tensor<6x?xf32>
    nn.yield %t : tensor<6x?xf32>
  }
  return %0 : tensor<6x?xf32>
}

// -----

// Rows against all rows: each replica would have only its own.
func.func @products(%x: tensor<?x6xf32>) -> tensor<?x?xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x6xf32>) -> tensor<?x?xf32> {
  ^bb0(%a: tensor<?x6xf32>):
    %t = nn.permute %a {dims = array<i64: 1, 0>} : (tensor<?x6xf32>) -> tensor<6x?xf32>
    // expected-warning @+1 {{mixes what the DataParallel layer 'net' splits}}
    %p = nn.matmul %a, %t : (tensor<?x6xf32>, tensor<6x?xf32>) -> tensor<?x?xf32>
    nn.yield %p : tensor<?x?xf32>
  }
  return %0 : tensor<?x?xf32>
}
