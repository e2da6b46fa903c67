// RUN: sheaf-opt %s --dist-simplify -verify-diagnostics -split-input-file

// Whether chunks agree is known from sizes, so sizes must fit.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @sizes(%x: !dist.tensor<tensor<?x6xf32>, #dist.host>, %y: !dist.tensor<tensor<?x6xf32>, #dist.device<0>>) {
  %0 = dist.scatter %x {reason = "because"} : <tensor<?x6xf32>, #dist.host> -> <tensor<?x6xf32>, #dist.split<@g, 0>>
  %1 = dist.replicate %y {reason = "because"} : <tensor<?x6xf32>, #dist.device<0>> -> <tensor<?x6xf32>, #dist.replicated<@g>>
  %2 = dist.parallel_apply @g(%0, %1) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>>, !dist.tensor<tensor<?x6xf32>, #dist.replicated<@g>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>> {
  ^bb0(%a: tensor<?x6xf32>, %b: tensor<?x6xf32>):
    // expected-error @+1 {{expects inputs whose shapes broadcast, but got [rows0, 6] and [batch, 6]}}
    %3 = nn.add %a, %b : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %3 : tensor<?x6xf32>
  }
  return
}

// -----

// Only programs of dist ops have places to simplify.
func.func @other(%x: tensor<4xf32>) {
  // expected-error @+1 {{has no shape function}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  return
}

// -----

// A declaration is none.
// expected-error @+1 {{has no body}}
func.func private @declaration(tensor<4xf32>)
