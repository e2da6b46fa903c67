// RUN: sheaf-opt %s --nn-set-precision=precision=f64 --split-input-file --verify-diagnostics

// expected-error @+1 {{expects a precision of f32, bf16 or f16, but got 'f64'}}
func.func @unknown(%x: tensor<?x5xf32> {nn.role = "input"}) -> tensor<?x5xf32> {
  return %x : tensor<?x5xf32>
}
