// RUN: sheaf-opt %s -verify-diagnostics -split-input-file

// A region's body takes as many values as the region has inputs.
func.func @arguments(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{has 1 inputs, but its body takes 0}}
  nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> () {
  }
  return
}

// -----

// It yields as many as the region has results.
func.func @results(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{has 1 results, but its body yields 0}}
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32> {
  ^bb0(%chunk: tensor<?x5xf32>):
  }
  return
}

// -----

// Inputs have the dimension that they are split along.
func.func @dim(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{cannot split 'tensor<?x5xf32>' along dimension 2}}
  nn.data_parallel "net"(%x) {dim = 2 : i64} : (tensor<?x5xf32>) -> () {
  ^bb0(%chunk: tensor<?x5xf32>):
  }
  return
}

// -----

// A chunk's size depends on the batch and the devices, even if the whole has a fixed size.
func.func @chunk(%x: tensor<8x5xf32>) {
  // expected-error @+1 {{splits 'tensor<8x5xf32>' along dimension 0, but its body takes 'tensor<8x5xf32>'}}
  nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<8x5xf32>) -> () {
  ^bb0(%chunk: tensor<8x5xf32>):
  }
  return
}

// -----

// Devices are entries of the device list.
func.func @devices(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{expects device ids that are not negative}}
  nn.data_parallel "net"(%x) {device_ids = array<i64: 0, -1>, dim = 0 : i64} : (tensor<?x5xf32>) -> () {
  ^bb0(%chunk: tensor<?x5xf32>):
  }
  return
}

// -----

// A group of no devices computes nothing.
func.func @no_devices(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{expects at least one device id}}
  nn.data_parallel "net"(%x) {device_ids = array<i64>, dim = 0 : i64} : (tensor<?x5xf32>) -> () {
  ^bb0(%chunk: tensor<?x5xf32>):
  }
  return
}

// -----

// Only ops with a scalar definition can be fused.
func.func @fused(%x: tensor<?x5xf32>) {
  %0 = nn.fused(%x) : (tensor<?x5xf32>) -> tensor<?x5xf32> {
  ^bb0(%a: tensor<?x5xf32>):
    // expected-error @+1 {{has no scalar definition and cannot be in nn.fused}}
    %1 = nn.identity %a : (tensor<?x5xf32>) -> tensor<?x5xf32>
    nn.yield %1 : tensor<?x5xf32>
  }
  return
}

// -----

// One kernel computes one softmax.
func.func @fused_twice(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{holds 2 ops over rows; one kernel computes at most one}}
  %0 = nn.fused(%x) : (tensor<?x5xf32>) -> tensor<?x5xf32> {
  ^bb0(%a: tensor<?x5xf32>):
    %1 = nn.softmax %a {dim = 1 : i64, log = false} : (tensor<?x5xf32>) -> tensor<?x5xf32>
    %2 = nn.softmax %1 {dim = 1 : i64, log = false} : (tensor<?x5xf32>) -> tensor<?x5xf32>
    nn.yield %2 : tensor<?x5xf32>
  }
  return
}

// -----

// A fused group's body takes its inputs as they are.
func.func @fused_inputs(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{expects body arguments of its inputs' types}}
  %0 = nn.fused(%x) : (tensor<?x5xf32>) -> tensor<?x5xf32> {
  ^bb0(%a: tensor<5x?xf32>):
    %1 = nn.relu %a : (tensor<5x?xf32>) -> tensor<5x?xf32>
    nn.yield %1 : tensor<5x?xf32>
  }
  return
}

// -----

// And yields its results.
func.func @fused_results(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{expects its body to yield its results}}
  %0 = nn.fused(%x) : (tensor<?x5xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<?x5xf32>):
    %1 = nn.relu %a : (tensor<?x5xf32>) -> tensor<?x5xf32>
    nn.yield %1 : tensor<?x5xf32>
  }
  return
}

// -----

// It sees nothing else: values come in as inputs.
func.func @fused_isolated(%x: tensor<?x5xf32>, %y: tensor<?x5xf32>) {
  // expected-note @+1 {{required by region isolation constraints}}
  %0 = nn.fused(%x) : (tensor<?x5xf32>) -> tensor<?x5xf32> {
  ^bb0(%a: tensor<?x5xf32>):
    // expected-error @+1 {{using value defined outside the region}}
    %1 = nn.add %a, %y : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
    nn.yield %1 : tensor<?x5xf32>
  }
  return
}

// -----

// A print layer passes its first input on, so it needs one.
func.func @print() {
  // expected-error @+1 {{expects at least one input}}
  %0 = nn.print text "nothing" : () -> tensor<4xf32>
  return
}

// -----

// yield ends a region of this dialect, not a function.
func.func @yield(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.yield' op expects parent op to be one of 'nn.data_parallel, nn.fused'}}
  nn.yield %x : tensor<4xf32>
}

// -----

// Places are the host, -1, or an entry of the device list.
func.func @device(%x: tensor<4xf32>) {
  // expected-error @+1 {{nn.device must be -1 (the host) or an entry of the device list}}
  %0 = nn.relu %x {nn.device = -2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A reason is text.
func.func @reason(%x: tensor<4xf32>) {
  // expected-error @+1 {{nn.reason must be a string}}
  %0 = nn.relu %x {nn.reason = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Notes are a list.
func.func @notes(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  // expected-error @+1 {{nn.notes must be a list of sentences}}
  %0 = nn.tanh %x {nn.notes = "fused"} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// -----

// Outputs have names.
// expected-error @+1 {{nn.outputs must be a list of names}}
func.func @outputs() attributes {nn.outputs = [1]} {
  return
}

// -----

// Misspelt annotations don't pass unnoticed.
func.func @unknown(%x: tensor<4xf32>) {
  // expected-error @+1 {{unknown attribute 'nn.devise'}}
  %0 = nn.relu %x {nn.devise = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Only replicas have something to add up.
func.func @sum_outside(%x: tensor<5xf32>) {
  // expected-error @+1 {{'nn.sum_over_replicas' op expects parent op 'nn.data_parallel'}}
  %0 = nn.sum_over_replicas %x : tensor<5xf32>
  return
}

// -----

// A chunk has no size that all replicas share.
func.func @sum_of_chunks(%x: tensor<?x5xf32>) {
  nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> () {
  ^bb0(%chunk: tensor<?x5xf32>):
    %0 = nn.relu %chunk : (tensor<?x5xf32>) -> tensor<?x5xf32>
    // expected-error @+1 {{adds up values of one shape, but 'tensor<?x5xf32>' has open sizes}}
    %1 = nn.sum_over_replicas %0 : tensor<?x5xf32>
  }
  return
}

// -----

// What comes from outside is the same for all.
func.func @sum_of_parameters(%x: tensor<?x5xf32>, %w: tensor<5xf32>) {
  nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> () {
  ^bb0(%chunk: tensor<?x5xf32>):
    // expected-error @+1 {{adds up what its region computes, not what comes from outside}}
    %0 = nn.sum_over_replicas %w : tensor<5xf32>
  }
  return
}

// -----

// So is a sum.
func.func @sum_of_a_sum(%x: tensor<?x5xf32>) {
  nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> () {
  ^bb0(%chunk: tensor<?x5xf32>):
    %0 = nn.sum %chunk {dims = array<i64: 0>, keepdim = false} : (tensor<?x5xf32>) -> tensor<5xf32>
    %1 = nn.sum_over_replicas %0 : tensor<5xf32>
    // expected-error @+1 {{adds up a sum that is already the same on each replica}}
    %2 = nn.sum_over_replicas %1 : tensor<5xf32>
  }
  return
}

// -----

// Numbers of other types have no sum with a gradient.
func.func @sum_of_integers(%x: tensor<?x5xi64>) {
  nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xi64>) -> () {
  ^bb0(%chunk: tensor<?x5xi64>):
    %0 = nn.arg_extremum %chunk {dim = 0 : i64, keepdim = false, minimum = false} : (tensor<?x5xi64>) -> tensor<5xi64>
    // expected-error @+1 {{adds up numbers of a floating-point type, not 'tensor<5xi64>'}}
    %1 = nn.sum_over_replicas %0 : tensor<5xi64>
  }
  return
}
