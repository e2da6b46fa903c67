// RUN: sheaf-opt %s --nn-warn-mixing --split-input-file --verify-diagnostics

// A misfit is rejected before any warning.
func.func @program(%x: tensor<?x5xf32> {nn.name = "x", nn.role = "input"}) -> tensor<?x2xf32> {
  // expected-error @+1 {{has 1 results, but its body yields 0}}
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<?x2xf32> {
  ^bb0(%chunk: tensor<?x5xf32>):
    nn.yield
  }
  return %0 : tensor<?x2xf32>
}
