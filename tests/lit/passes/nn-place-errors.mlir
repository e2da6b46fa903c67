// RUN: sheaf-opt %s --nn-place -verify-diagnostics -split-input-file

// Replicas run on their group's devices; an op among them cannot run elsewhere.
func.func @inside(%x: tensor<?x5xf32> {nn.role = "input"}) {
  nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> () {
  ^bb0(%chunk: tensor<?x5xf32>):
    // expected-error @+1 {{is placed on device 1, but is in the DataParallel layer 'net', whose replicas run on the group's devices; remove `device`, or move the layer out}}
    %0 = nn.relu %chunk {nn.device = 1 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  }
  return
}

// -----

// Nor on the host.
func.func @inside_host(%x: tensor<?x5xf32> {nn.role = "input"}) {
  nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> () {
  ^bb0(%chunk: tensor<?x5xf32>):
    // expected-error @+1 {{is placed on the host, but is in the DataParallel layer 'net'}}
    %0 = nn.relu %chunk {nn.device = -1 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  }
  return
}
