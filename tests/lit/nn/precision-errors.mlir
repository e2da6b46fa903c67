// RUN: sheaf-opt %s --split-input-file --verify-diagnostics

func.func @unknown(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{expects to: the name of a dtype, but got 'int8'}}
  %0 = nn.cast %x {to = "int8"} : (tensor<?x5xf32>) -> tensor<?x5xi8>
  return
}

// -----

func.func @other_result(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{has a result of type 'tensor<?x5xf32>' where its operands give 'tensor<?x5xbf16>'}}
  %0 = nn.cast %x {to = "bfloat16"} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return
}
