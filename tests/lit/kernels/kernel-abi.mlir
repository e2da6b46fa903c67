// RUN: sheaf-opt %s --sheaf-kernel-abi | FileCheck %s

// Buffers of a kernel become memrefs that a bare pointer can represent, marked as not overlapping.
// CHECK-LABEL: func.func @copy
// CHECK-SAME: (%[[X:.*]]: memref<1xf32> {llvm.noalias}, %[[Y:.*]]: memref<1xf32> {llvm.noalias}, %{{.*}}: index, %{{.*}}: index)
// CHECK: memref.reinterpret_cast %[[X]] to offset: [0], sizes: [%{{.*}}], strides: [1] : memref<1xf32> to memref<?xf32
func.func @copy(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index) attributes {kernel} {
  %0 = memref.load %x[%begin] : memref<?xf32>
  memref.store %0, %y[%begin] : memref<?xf32>
  return
}

// Buffers that may be the same get no such mark.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: (%{{.*}}: memref<1xf32>, %{{.*}}: memref<1xf32> {llvm.noalias}, %{{.*}}: memref<1xf32>, %{{.*}}: index, %{{.*}}: index)
func.func @in_place(%x: memref<?xf32>, %s: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index)
    attributes {kernel, in_place = array<i64: 0, 2>} {
  return
}

// Only kernels are changed.
// CHECK-LABEL: func.func @other(%{{.*}}: memref<?xf32>)
func.func @other(%x: memref<?xf32>) {
  return
}
