// RUN: sheaf-opt %s --nn-fuse-library -verify-diagnostics -split-input-file

// A misfitting sum is an error before it could become a residual.
func.func @residual(%x: tensor<?x5xf32>, %w: tensor<2x5xf32>, %r: tensor<?x3xf32>) -> tensor<?x2xf32> {
  %0 = nn.linear %x, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
  // expected-error @+1 {{expects inputs whose shapes broadcast, but got [?, 2] and [?, 3]}}
  %1 = nn.add %0, %r : (tensor<?x2xf32>, tensor<?x3xf32>) -> tensor<?x2xf32>
  return %1 : tensor<?x2xf32>
}
