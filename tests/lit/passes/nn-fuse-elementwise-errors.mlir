// RUN: sheaf-opt %s --nn-fuse-elementwise -verify-diagnostics -split-input-file

// A group that fuses more than scalar definitions is refused, as no kernel could be made of it.
func.func @library(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = nn.fused(%x) : (tensor<?x5xf32>) -> tensor<?x5xf32> {
  ^bb0(%a: tensor<?x5xf32>):
    // expected-error @+1 {{has no scalar definition and cannot be in nn.fused}}
    %1 = nn.permute %a {dims = array<i64: 0, 1>} : (tensor<?x5xf32>) -> tensor<?x5xf32>
    nn.yield %1 : tensor<?x5xf32>
  }
  return %0 : tensor<?x5xf32>
}
