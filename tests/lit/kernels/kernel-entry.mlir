// RUN: sheaf-opt %s --sheaf-kernel-entry | FileCheck %s

// The entry loads pointers from the first argument and, after begin and end, extents from the second.
// CHECK: llvm.func internal @copy.body({{.*}}) attributes {passthrough = ["noinline", "nounwind"]}
// CHECK: llvm.func @copy(%[[B:.*]]: !llvm.ptr, %[[E:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK: llvm.getelementptr %[[B]][0]
// CHECK: %[[X:.*]] = llvm.load
// CHECK: llvm.getelementptr %[[B]][1]
// CHECK: %[[Y:.*]] = llvm.load
// CHECK: llvm.getelementptr %[[E]][0]
// CHECK: %[[N:.*]] = llvm.load {{.*}} -> i64
// CHECK: llvm.call @copy.body(%[[X]], %[[Y]], %[[BEGIN]], %[[END]], %[[N]])
llvm.func @copy(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64, %n: i64)
    attributes {kernel} {
  llvm.return
}

// Loops of a kernel that may run in place are marked as free of dependences.
// CHECK: llvm.func internal @in_place.body
// CHECK: llvm.load %{{.*}} {access_groups = [#[[GROUP:.*]]], alignment
// CHECK: llvm.store %{{.*}} {access_groups = [#[[GROUP]]], alignment
// CHECK: llvm.br ^bb1({{.*}}) {loop_annotation = #{{.*}}}
llvm.func @in_place(%x: !llvm.ptr, %y: !llvm.ptr, %begin: i64, %end: i64) attributes {kernel, in_place = array<i64: 0, 1>} {
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^bb1(%begin : i64)
^bb1(%i: i64):
  %more = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %more, ^bb2, ^bb3
^bb2:
  %from = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %value = llvm.load %from {alignment = 4 : i64} : !llvm.ptr -> f32
  %to = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %value, %to {alignment = 4 : i64} : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}
