// RUN: sheaf-opt %s --sheaf-ptx-entry | FileCheck %s
// RUN: sheaf-opt %s --sheaf-gpu-schedule --sheaf-gpu-kernels | FileCheck %s --check-prefix=WHOLE

// A function with a block size becomes an entry for blocks of exactly that many threads.
// CHECK-LABEL: llvm.func @lowered
// CHECK-SAME: attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>}
llvm.func @lowered(%x: !llvm.ptr {llvm.noalias}) attributes {gpu_block = 64 : i32, kernel, in_place = array<i64: 0>} {
  llvm.return
}

// CHECK-LABEL: llvm.func @other
// CHECK-NOT: nvvm
llvm.func @other() {
  llvm.return
}

// All passes: buffers are bare pointers without aliases, except those that may be the same.
// WHOLE-LABEL: llvm.func @scale(
// WHOLE-SAME: %{{[^:]*}}: !llvm.ptr {llvm.noalias}, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: i64, %{{[^:]*}}: i64)
// WHOLE-SAME: nvvm.reqntid = array<i32: 128, 1, 1>
// WHOLE: nvvm.read.ptx.sreg.ctaid.x
// WHOLE: llvm.fmul %{{.*}} {fastmathFlags = #llvm.fastmath<nsz, contract>}
// WHOLE-LABEL: llvm.func @scale_many(
// WHOLE: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// WHOLE-NOT: unrealized_conversion_cast
func.func @scale(%factor: memref<?xf32>, %x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index)
    attributes {kernel, many, in_place = array<i64: 1, 2>, gpu_schedule = {block = 128 : i32, lanes = 1 : i32}} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.parallel (%i) = (%begin) to (%end) step (%one) {
    %f = memref.load %factor[%zero] : memref<?xf32>
    %v = memref.load %x[%i] : memref<?xf32>
    %p = arith.mulf %f, %v : f32
    memref.store %p, %y[%i] : memref<?xf32>
  }
  return
}
