// A pipeline that fails leaves a reproducer, which holds the input and the pipeline and fails in the same way when run
// again.
// RUN: rm -f %t.mlir
// RUN: not sheaf-opt %s --mlir-pass-pipeline-crash-reproducer=%t.mlir --sheaf-partition 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: FileCheck %s --check-prefix=FILE --input-file=%t.mlir
// RUN: not sheaf-opt --run-reproducer %t.mlir 2>&1 | FileCheck %s --check-prefix=AGAIN

// FIRST: error: is placed on device 1, but is in the DataParallel layer 'net'
// FILE: nn.data_parallel "net"
// FILE: mlir_reproducer
// FILE: nn-place
// AGAIN: error: is placed on device 1, but is in the DataParallel layer 'net'
func.func @inside(%x: tensor<?x5xf32> {nn.role = "input"}) {
  nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> () {
  ^bb0(%chunk: tensor<?x5xf32>):
    %0 = nn.relu %chunk {nn.device = 1 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  }
  return
}
