// RUN: sheaf-opt %s --nn-infer-shapes -verify-diagnostics -split-input-file

// What a slice is cut from has a fixed size, which is the most that the length can be.
func.func @open(%x: tensor<?x?xf32> {nn.name = "x", nn.role = "input", nn.extents = ["batch", "seq"]}) -> tensor<*xf32>
    attributes {nn.lengths = {seq = 0 : i64}, nn.outputs = ["y"]} {
  // expected-error @+1 {{takes entries up to the length 'seq' of dimension 0, whose size isn't fixed (input [batch, seq])}}
  %0 = nn.strided_slice %x {dim = 0 : i64, start = 0 : i64, step = 1 : i64, nn.length = "seq"} : (tensor<?x?xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

func.func @begin(%x: tensor<12xf32> {nn.name = "x", nn.role = "parameter"}) -> tensor<*xf32>
    attributes {nn.lengths = {seq = 0 : i64}, nn.outputs = ["y"]} {
  // expected-error @+1 {{expects a slice to the length 'seq' to begin at 0 and take every entry}}
  %0 = nn.strided_slice %x {dim = 0 : i64, start = 1 : i64, step = 1 : i64, nn.length = "seq"} : (tensor<12xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// What needs a size at compile time names the length; no rows are meant.
func.func @split(%x: tensor<?x?xf32> {nn.name = "x", nn.role = "input", nn.extents = ["batch", "seq"]}) -> tensor<*xf32>
    attributes {nn.lengths = {seq = 0 : i64}, nn.outputs = ["y"]} {
  // expected-error @+1 {{splits dimension 1, which depends on the length 'seq' (input [batch, seq])}}
  %0 = nn.split %x {dim = 1 : i64, sections = array<i64: 2>} : (tensor<?x?xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// Two lengths are two sizes, though both are shown as `?`.
func.func @sum(%x: tensor<?x?xf32> {nn.name = "x", nn.role = "input", nn.extents = ["batch", "seq"]},
               %y: tensor<?x?xf32> {nn.name = "y", nn.role = "input", nn.extents = ["batch", "keys"]}) -> tensor<*xf32>
    attributes {nn.lengths = {keys = 0 : i64, seq = 0 : i64}, nn.outputs = ["z"]} {
  // expected-error @+1 {{[batch, seq] and [batch, keys]}}
  %0 = nn.add %x, %y : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// Only rows are divided among devices.
func.func @parallel(%x: tensor<?x?xf32> {nn.name = "x", nn.role = "input", nn.extents = ["seq", "batch"]}) -> tensor<*xf32>
    attributes {nn.lengths = {seq = 0 : i64}, nn.outputs = ["y"]} {
  // expected-error @+1 {{cannot split an input of shape [seq, batch] along dimension 0, the length 'seq': only rows of the batch are divided among devices}}
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x?xf32>) -> tensor<*xf32> {
  ^bb0(%chunk: tensor<*xf32>):
    %1 = nn.relu %chunk : (tensor<*xf32>) -> tensor<*xf32>
    nn.yield %1 : tensor<*xf32>
  }
  return %0 : tensor<*xf32>
}

// -----

// expected-error @+1 {{nn.lengths must be a dictionary of largest numbers}}
func.func @listed(%x: tensor<?xf32>) -> tensor<?xf32> attributes {nn.lengths = ["seq"]} {
  return %x : tensor<?xf32>
}

// -----

// An element's number in the whole batch must not depend on the batch's size: its rows are counted first.
func.func @rows_behind_a_length(%x: tensor<?x?xf32> {nn.name = "x", nn.role = "input", nn.extents = ["seq", "batch"]}, %s: tensor<i64> {nn.name = "s", nn.role = "setting"}) -> tensor<*xf32>
    attributes {nn.lengths = {seq = 0 : i64}} {
  // expected-error @+1 {{expects at most one size that depends on the batch, and lengths behind it, but the input is [seq, batch]; a Permute before it mends it}}
  %0 = nn.dropout_train %x step(%s) seed(%s) {p = 0.5 : f64, layer = 7 : i64} : (tensor<?x?xf32>, tensor<i64>, tensor<i64>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// As are an RReLU's slopes.
func.func @slopes_behind_a_length(%x: tensor<?x?xf32> {nn.name = "x", nn.role = "input", nn.extents = ["seq", "batch"]}, %s: tensor<i64> {nn.name = "s", nn.role = "setting"}) -> tensor<*xf32>
    attributes {nn.lengths = {seq = 0 : i64}} {
  // expected-error @+1 {{expects at most one size that depends on the batch, and lengths behind it, but the input is [seq, batch]; a Permute before it mends it}}
  %0 = nn.rrelu_train %x, %x step(%s) seed(%s) {lower = 0.1 : f64, upper = 0.3 : f64, layer = 7 : i64} : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<i64>, tensor<i64>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// A time may be a length; the labels are padded to one number.
func.func @labels(%x: tensor<?x?x5xf32> {nn.name = "x", nn.role = "input", nn.extents = ["time", "batch", "5"]},
                  %t: tensor<?x?xi64> {nn.name = "y", nn.role = "target", nn.extents = ["batch", "labels"]},
                  %n: tensor<?xi64> {nn.name = "n", nn.role = "input", nn.extents = ["batch"]}) -> tensor<*xf32>
    attributes {nn.lengths = {labels = 0 : i64, time = 0 : i64}, nn.outputs = ["loss"]} {
  // expected-error @+1 {{takes targets of shape [batch, labels] with a known number of labels, but they are [batch, labels]}}
  %0 = nn.loss "CTCLoss" %x, %t, %n, %n {arguments = {blank = 0 : i64, reduction = "mean", zero_infinity = false}} : (tensor<?x?x5xf32>, tensor<?x?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
