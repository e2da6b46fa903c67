// RUN: sheaf-opt %s --sheaf-gpu-schedule --split-input-file --verify-diagnostics

// Memory for a block of iterations works only on the CPU: each of a GPU's threads would have one.
func.func @scratch(%x: memref<?xf32>, %begin: index, %end: index)
    attributes {kernel, gpu_schedule = {block = 256 : i32, lanes = 1 : i32}} {
  // expected-error @below {{is not part of one parallel loop over the kernel's range}}
  %sums = memref.alloca() : memref<64xf32>
  return
}

// -----

func.func @part(%x: memref<?xf32>, %begin: index, %end: index)
    attributes {kernel, gpu_schedule = {block = 256 : i32, lanes = 1 : i32}} {
  %one = arith.constant 1 : index
  %value = arith.constant 1.0 : f32
  // expected-error @below {{is not part of one parallel loop over the kernel's range}}
  scf.parallel (%i) = (%one) to (%end) step (%one) {
    memref.store %value, %x[%i] : memref<?xf32>
  }
  return
}

// -----

func.func @twice(%x: memref<?xf32>, %begin: index, %end: index)
    attributes {kernel, gpu_schedule = {block = 256 : i32, lanes = 1 : i32}} {
  %one = arith.constant 1 : index
  %value = arith.constant 1.0 : f32
  scf.parallel (%i) = (%begin) to (%end) step (%one) {
    memref.store %value, %x[%i] : memref<?xf32>
  }
  // expected-error @below {{is not part of one parallel loop over the kernel's range}}
  scf.parallel (%i) = (%begin) to (%end) step (%one) {
    memref.store %value, %x[%i] : memref<?xf32>
  }
  return
}
