// RUN: sheaf-opt %s --nn-warn-mixing -split-input-file -verify-diagnostics

// A mean over the rows that the region splits is taken over each replica's chunk alone.
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

// The cut dimension is followed through a permutation: here it is dimension 1 that is split.
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

// Rows that stay apart are nothing to warn of.
func.func @rows(%x: tensor<?x5xf32>, %w: tensor<2x5xf32>) -> tensor<?x2xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<?x2xf32> {
  ^bb0(%a: tensor<?x5xf32>):
    %y = nn.linear %a, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
    %z = nn.softmax %y {dim = -1 : i64, log = false} : (tensor<?x2xf32>) -> tensor<?x2xf32>
    nn.yield %z : tensor<?x2xf32>
  }
  return %0 : tensor<?x2xf32>
}
