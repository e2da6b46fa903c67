// RUN: sheaf-opt %s --nn-fold-batch-norm -verify-diagnostics -split-input-file

// A misfit is found before anything is folded: the statistics must have the convolution's channels.
func.func @channels(%x: tensor<?x4x9xf32> {nn.role = "input"}, %w: tensor<6x4x3xf32> {nn.role = "parameter"}, %c: tensor<4xf32> {nn.role = "buffer"}) -> tensor<?x6x7xf32> {
  %0 = nn.conv %x, %w {stride = array<i64: 1>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x9xf32>, tensor<6x4x3xf32>) -> tensor<?x6x7xf32>
  // expected-error @+1 {{expects 6 channels, but a statistic or parameter has shape [4]}}
  %1 = nn.batch_norm %0 mean(%c) var(%c) {eps = 1.0e-05 : f64} : (tensor<?x6x7xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x6x7xf32>
  return %1 : tensor<?x6x7xf32>
}
