// RUN: sheaf-opt %s --sheaf-kernel-lowering | FileCheck %s

// Buffers are bare pointers, sizes i64 (LLVM folds the descriptors between), and no casts are left.
// CHECK-LABEL: llvm.func @scale
// CHECK-SAME: (%[[X:.*]]: !llvm.ptr {llvm.noalias}, %[[I:.*]]: i64)
// CHECK: %[[A:.*]] = llvm.getelementptr %{{.*}}[%[[I]]]
// CHECK: %[[V:.*]] = llvm.load %[[A]]
// CHECK: llvm.fmul %[[V]], %[[V]] {fastmathFlags = #llvm.fastmath<contract>}
// CHECK-NOT: unrealized_conversion_cast
func.func @scale(%x: memref<1xf32> {llvm.noalias}, %i: index) attributes {kernel} {
  %one = arith.constant 1 : index
  %all = memref.reinterpret_cast %x to offset: [0], sizes: [%one], strides: [1] : memref<1xf32> to memref<?xf32>
  %0 = memref.load %all[%i] : memref<?xf32>
  %1 = arith.mulf %0, %0 fastmath<contract> : f32
  memref.store %1, %all[%i] : memref<?xf32>
  return
}
