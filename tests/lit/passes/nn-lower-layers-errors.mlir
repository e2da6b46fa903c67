// RUN: sheaf-opt %s --nn-lower-layers -verify-diagnostics -split-input-file

// Attention is split into heads, so their number must divide its width.
func.func @heads(%q: tensor<?x7x4xf32>, %wi: tensor<12x4xf32>, %wo: tensor<4x4xf32>) {
  // expected-error @+1 {{expects a width divisible by the number of heads, but got 4 and 3}}
  %y, %w = nn.multihead_attention %q, %q, %q in_proj(%wi) out_proj(%wo) {batch_first = true, num_heads = 3 : i64} : (tensor<?x7x4xf32>, tensor<?x7x4xf32>, tensor<?x7x4xf32>, tensor<12x4xf32>, tensor<4x4xf32>) -> (tensor<?x7x4xf32>, tensor<?x7x7xf32>)
  return
}

// -----

// No heads at all are refused too.
func.func @no_heads(%q: tensor<?x7x4xf32>, %wi: tensor<12x4xf32>, %wo: tensor<4x4xf32>) {
  // expected-error @+1 {{expects a width divisible by the number of heads, but got 4 and 0}}
  %y, %w = nn.multihead_attention %q, %q, %q in_proj(%wi) out_proj(%wo) {batch_first = true, num_heads = 0 : i64} : (tensor<?x7x4xf32>, tensor<?x7x4xf32>, tensor<?x7x4xf32>, tensor<12x4xf32>, tensor<4x4xf32>) -> (tensor<?x7x4xf32>, tensor<?x7x7xf32>)
  return
}
