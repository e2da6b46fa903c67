// RUN: sheaf-opt %s --sheaf-gpu-schedule --canonicalize --cse | FileCheck %s

// One thread per element: the range becomes a loop over the grid's threads, behind the guard. K_many goes through a
// table.
// CHECK-LABEL: func.func @negate
// CHECK-SAME: (%[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>, %[[WORK:.*]]: index, %[[GUARD:.*]]: i64) attributes {gpu_block = 128 : i32, gpu_repeated, kernel}
// CHECK: %[[GIVEN:.*]] = arith.cmpi ne, %[[GUARD]], %c0_i64
// CHECK: %[[FLAG:.*]] = scf.if %[[GIVEN]]
// CHECK: llvm.inttoptr %[[GUARD]] : i64 to !llvm.ptr<1>
// CHECK: %[[FREE:.*]] = arith.cmpi eq, %[[FLAG]], %c0_i32
// CHECK: scf.if %[[FREE]]
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[WORK]] step %{{.*}} {
// CHECK-NEXT: %[[V:.*]] = memref.load %[[X]][%[[I]]]
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[V]]
// CHECK-NEXT: memref.store %[[N]], %[[Y]][%[[I]]]
// CHECK-LABEL: func.func @negate_many
// CHECK-SAME: (%[[TABLE:.*]]: i64, %[[COUNT:.*]]: index, %{{.*}}: i64) attributes {gpu_block = 128 : i32, gpu_repeated, kernel}
// CHECK: nvvm.read.ptx.sreg.ctaid.y
// CHECK: nvvm.read.ptx.sreg.nctaid.y
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[COUNT]]
// CHECK-COUNT-3: llvm.load
// CHECK: scf.for
// CHECK: memref.load %{{.*}} : memref<?xf32, 1>
func.func @negate(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index)
    attributes {kernel, many, gpu_schedule = {block = 128 : i32, lanes = 1 : i32}} {
  %one = arith.constant 1 : index
  scf.parallel (%i) = (%begin) to (%end) step (%one) {
    %v = memref.load %x[%i] : memref<?xf32>
    %n = arith.negf %v : f32
    memref.store %n, %y[%i] : memref<?xf32>
  }
  return
}

// Several elements per thread: for a whole block all loads precede the stores; the last block's elements go one by one.
// CHECK-LABEL: func.func @several
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} to %[[WORK:.*]] step
// CHECK: %[[ITEM:.*]] = arith.addi %[[FIRST]], %{{.*}}
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c1024
// CHECK: %[[WHOLE:.*]] = arith.cmpi ule, %[[END]], %[[WORK]]
// CHECK: scf.if %[[WHOLE]] {
// CHECK-NEXT: arith.addi %[[ITEM]], %c256
// CHECK-NEXT: arith.addi %[[ITEM]], %c512
// CHECK-NEXT: arith.addi %[[ITEM]], %c768
// CHECK-COUNT-4: memref.load
// CHECK-COUNT-4: arith.negf
// CHECK-COUNT-4: memref.store
// CHECK: } else {
// CHECK-NEXT: scf.for %{{.*}} = %[[ITEM]] to %[[WORK]] step %c256
func.func @several(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index)
    attributes {kernel, gpu_schedule = {block = 256 : i32, lanes = 1 : i32}} {
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  scf.parallel (%i) = (%begin) to (%end) step (%one) {
    %at = arith.muli %i, %three : index
    %v = memref.load %x[%at] : memref<?xf32>
    %n = arith.negf %v : f32
    memref.store %n, %y[%i] : memref<?xf32>
  }
  return
}

// Vectors of neighbouring elements, two side by side: what they read stands before what they write, and the second one is written only if it
// lies within the range. The elements beyond the last whole vector go one by one. The bias of a plane is one value for all of a vector, since
// planes of 64 are whole vectors, and the plane is found by a division in 32 bits.
// CHECK-LABEL: func.func @vectors
// CHECK-SAME: gpu_resident = 4 : i32
// CHECK: %[[OVER:.*]] = arith.remui %[[WORK:.*]], %c8
// CHECK: %[[WHOLE:.*]] = arith.subi %[[WORK]], %[[OVER]]
// CHECK: %[[FITS:.*]] = arith.cmpi ule, %[[WORK]], %c2147483647
// CHECK: %[[END:.*]] = arith.select %[[FITS]], %[[WHOLE]], %c0
// CHECK: scf.for %[[BASE:.*]] = %{{.*}} to %[[END]]
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: %[[NARROW:.*]] = arith.index_castui %[[BASE]] : index to i32
// CHECK: arith.divui %[[NARROW]], %c64_i32
// CHECK: memref.load
// CHECK: %[[NEXT:.*]] = arith.addi %[[BASE]], %c2048
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[NEXT]], %[[END]]
// CHECK: arith.select %[[INSIDE]], %[[NEXT]], %[[BASE]]
// CHECK: llvm.load
// CHECK-NOT: llvm.load
// CHECK-COUNT-16: arith.addi %{{.*}} : i16
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: scf.if %[[INSIDE]] {
// CHECK: llvm.store
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[WORK]]
// CHECK: memref.load %{{.*}}[%[[I]]]
func.func @vectors(%x: memref<?xi16>, %bias: memref<?xi16>, %y: memref<?xi16>, %begin: index, %end: index)
    attributes {kernel, gpu_schedule = {block = 256 : i32, lanes = 1 : i32}} {
  %one = arith.constant 1 : index
  %plane = arith.constant 64 : index
  scf.parallel (%i) = (%begin) to (%end) step (%one) {
    %v = memref.load %x[%i] : memref<?xi16>
    %channel = arith.divui %i, %plane : index
    %b = memref.load %bias[%channel] : memref<?xi16>
    %n = arith.addi %v, %b : i16
    memref.store %n, %y[%i] : memref<?xi16>
  }
  return
}

// One warp per row: every 32nd element for each lane, four at a time with sums of their own, then the last few; a
// butterfly of shuffles; one lane stores.
// CHECK-LABEL: func.func @row_sums
// CHECK-DAG: %[[ALL:.*]] = arith.constant -1 : i32
// CHECK-DAG: %[[LAST:.*]] = arith.constant 31 : i32
// CHECK-DAG: %[[WARP:.*]] = arith.constant 32 : index
// CHECK: %[[LANE:.*]] = arith.remui %{{.*}}, %[[WARP]]
// CHECK: scf.for
// CHECK: %[[LAST_FOUR:.*]] = arith.subi %[[N:.*]], %c96
// CHECK: %[[FOUR:.*]]:5 = scf.for %{{.*}} = %[[LANE]] to %[[LAST_FOUR]] step %c128 iter_args
// CHECK-COUNT-4: memref.load
// CHECK: %[[S01:.*]] = arith.addf %[[FOUR]]#1, %[[FOUR]]#2
// CHECK: %[[S012:.*]] = arith.addf %[[S01]], %[[FOUR]]#3
// CHECK: %[[S0123:.*]] = arith.addf %[[S012]], %[[FOUR]]#4
// CHECK: %[[PART:.*]] = scf.for %{{.*}} = %[[FOUR]]#0 to %[[N]] step %[[WARP]] iter_args(%{{.*}} = %[[S0123]])
// CHECK: %[[O1:.*]] = nvvm.shfl.sync bfly %[[ALL]], %[[PART]], %c16_i32, %[[LAST]] : f32 -> f32
// CHECK: %[[S1:.*]] = arith.addf %[[PART]], %[[O1]]
// CHECK: %[[O2:.*]] = nvvm.shfl.sync bfly %[[ALL]], %[[S1]], %c8_i32
// CHECK: nvvm.shfl.sync bfly {{.*}} %c4_i32
// CHECK: nvvm.shfl.sync bfly {{.*}} %c2_i32
// CHECK: %[[O5:.*]] = nvvm.shfl.sync bfly {{.*}} %c1_i32
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[O5]]
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[LANE]], %c0
// CHECK: scf.if %[[ONE]] {
// CHECK-NEXT: memref.store %[[SUM]]
// CHECK-NOT: func.func @row_sums_many
func.func @row_sums(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index, %n: index)
    attributes {kernel, gpu_schedule = {block = 128 : i32, lanes = 32 : i32}} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  scf.parallel (%row) = (%begin) to (%end) step (%one) {
    %base = arith.muli %row, %n : index
    %sum = scf.parallel (%i) = (%zero) to (%n) step (%one) init (%none) -> f32 {
      %at = arith.addi %base, %i : index
      %v = memref.load %x[%at] : memref<?xf32>
      scf.reduce(%v : f32) {
      ^bb0(%a: f32, %b: f32):
        %both = arith.addf %a, %b : f32
        scf.reduce.return %both : f32
      }
    }
    memref.store %sum, %y[%row] : memref<?xf32>
  }
  return
}

// Eight lanes per row: only they are waited for, whatever the warp's other rows do.
// CHECK-LABEL: func.func @short_rows
// CHECK: %[[FIRST:.*]] = arith.andi %{{.*}}, %c24_i32
// CHECK: %[[MEMBERS:.*]] = arith.shli %c255_i32, %[[FIRST]]
// CHECK: nvvm.shfl.sync bfly %[[MEMBERS]], %{{.*}}, %c4_i32
// CHECK: arith.maximumf
// CHECK: nvvm.shfl.sync bfly %[[MEMBERS]], %{{.*}}, %c2_i32
// CHECK: nvvm.shfl.sync bfly %[[MEMBERS]], %{{.*}}, %c1_i32
// Each lane does the stores inside the row's loop itself.
// CHECK: scf.for
// CHECK: memref.store
func.func @short_rows(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index)
    attributes {kernel, gpu_schedule = {block = 128 : i32, lanes = 8 : i32}} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 7 : index
  %least = arith.constant 0xFF800000 : f32
  scf.parallel (%row) = (%begin) to (%end) step (%one) {
    %base = arith.muli %row, %n : index
    %most = scf.parallel (%i) = (%zero) to (%n) step (%one) init (%least) -> f32 {
      %at = arith.addi %base, %i : index
      %v = memref.load %x[%at] : memref<?xf32>
      scf.reduce(%v : f32) {
      ^bb0(%a: f32, %b: f32):
        %both = arith.maximumf %a, %b : f32
        scf.reduce.return %both : f32
      }
    }
    scf.parallel (%i) = (%zero) to (%n) step (%one) {
      %at = arith.addi %base, %i : index
      %v = memref.load %x[%at] : memref<?xf32>
      %d = arith.subf %v, %most : f32
      memref.store %d, %y[%at] : memref<?xf32>
    }
  }
  return
}

// One block per row: warps' sums meet in shared memory, which is free again after a second barrier. f64 goes in halves.
// CHECK: memref.global "private" @long_rows_shared_8_f64 : memref<8xf64, 3> = uninitialized
// CHECK-LABEL: func.func @long_rows
// CHECK: scf.for %{{.*}} step %c1024
// CHECK: scf.for %{{.*}} step %c256
// CHECK: arith.bitcast %{{.*}} : f64 to i64
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %c16_i32, %{{.*}} : i32 -> i32
// CHECK: %[[SHARED:.*]] = memref.get_global @long_rows_shared_8_f64
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[SHARED]]
// CHECK: nvvm.barrier0
// CHECK: memref.load %[[SHARED]]
// CHECK: nvvm.barrier0
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %c4_i32
func.func @long_rows(%x: memref<?xf64>, %y: memref<?xf64>, %begin: index, %end: index, %n: index)
    attributes {kernel, gpu_schedule = {block = 256 : i32, lanes = 256 : i32}} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f64
  scf.parallel (%row) = (%begin) to (%end) step (%one) {
    %base = arith.muli %row, %n : index
    %sum = scf.parallel (%i) = (%zero) to (%n) step (%one) init (%none) -> f64 {
      %at = arith.addi %base, %i : index
      %v = memref.load %x[%at] : memref<?xf64>
      scf.reduce(%v : f64) {
      ^bb0(%a: f64, %b: f64):
        %both = arith.addf %a, %b : f64
        scf.reduce.return %both : f64
      }
    }
    memref.store %sum, %y[%row] : memref<?xf64>
  }
  return
}

// Columns: neighbouring threads have neighbouring columns, the rows are shared by 4 threads 32 apart. Those beyond the
// last column take part in the barriers, with nothing to add and nothing to store.
// CHECK: memref.global "private" @column_sums_shared_128_f32 : memref<128xf32, 3> = uninitialized
// CHECK-LABEL: func.func @column_sums
// CHECK-SAME: %[[WORK:[^ ]*]]: index, %{{[^ ]*}}: i64)
// CHECK: %[[ITEM:.*]] = arith.remui %[[THREAD:.*]], %c32
// CHECK: %[[LANE:.*]] = arith.divui %[[THREAD]], %c32
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} to %[[WORK]]
// CHECK: %[[INDEX:.*]] = arith.addi %[[FIRST]], %[[ITEM]]
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[INDEX]], %[[WORK]]
// CHECK: arith.minui %[[INDEX]]
// CHECK: %[[HIGH:.*]] = arith.select %[[EXISTS]], %{{.*}}, %[[LANE]]
// CHECK: %[[FOUR:.*]]:5 = scf.for %{{.*}} = %[[LANE]] to %{{.*}} step %c16
// CHECK: scf.for %{{.*}} = %[[FOUR]]#0 to %[[HIGH]] step %c4
// CHECK: memref.store %{{.*}}[%[[THREAD]]]
// CHECK: nvvm.barrier0
// CHECK: arith.cmpi ult, %[[LANE]], %c2
// CHECK: arith.addi %[[THREAD]], %c64
// CHECK: nvvm.barrier0
// CHECK: arith.cmpi ult, %[[LANE]], %c1
// CHECK: nvvm.barrier0
// CHECK: memref.load %{{.*}}[%[[ITEM]]]
// CHECK: nvvm.barrier0
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[LANE]], %c0
// CHECK: %[[STORES:.*]] = arith.andi %[[ONE]], %[[EXISTS]]
// CHECK: scf.if %[[STORES]]
func.func @column_sums(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index, %rows: index, %columns: index)
    attributes {kernel, gpu_schedule = {block = 128 : i32, lanes = 4 : i32, columns}} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  scf.parallel (%column) = (%begin) to (%end) step (%one) {
    %sum = scf.parallel (%row) = (%zero) to (%rows) step (%one) init (%none) -> f32 {
      %base = arith.muli %row, %columns : index
      %at = arith.addi %base, %column : index
      %v = memref.load %x[%at] : memref<?xf32>
      scf.reduce(%v : f32) {
      ^bb0(%a: f32, %b: f32):
        %both = arith.addf %a, %b : f32
        scf.reduce.return %both : f32
      }
    }
    memref.store %sum, %y[%column] : memref<?xf32>
  }
  return
}

// Lookups: one lane does a row's atomic operation. Sequential loops and branches around shared loops stay.
// CHECK-LABEL: func.func @lookup
// CHECK: %[[BAD:.*]] = arith.cmpi uge
// CHECK: scf.if %[[BAD]] {
// CHECK: scf.if
// CHECK-NEXT: memref.atomic_rmw maxu
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1 {
// CHECK: scf.for %{{.*}} = %{{.*}} to %c64 step %c32
func.func @lookup(%index: memref<?xi64>, %y: memref<?xf32>, %status: memref<?xi64>, %begin: index, %end: index)
    attributes {kernel, gpu_schedule = {block = 128 : i32, lanes = 32 : i32}} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %width = arith.constant 64 : index
  %entries = arith.constant 10 : i64
  %value = arith.constant 1.0 : f32
  scf.parallel (%row) = (%begin) to (%end) step (%one) {
    %found = memref.load %index[%row] : memref<?xi64>
    %bad = arith.cmpi uge, %found, %entries : i64
    scf.if %bad {
      %old = memref.atomic_rmw maxu %found, %status[%zero] : (i64, memref<?xi64>) -> i64
    }
    scf.for %k = %zero to %three step %one {
      scf.parallel (%i) = (%zero) to (%width) step (%one) {
        %at = arith.addi %k, %i : index
        memref.store %value, %y[%at] : memref<?xf32>
      }
    }
  }
  return
}

// Rows of whole vectors: a lane has every eighth of four elements, two at a time, which it adds to four sums in their order; these are added
// up, then the lanes'. What is written goes the same way.
// CHECK-LABEL: func.func @row_vectors
// CHECK-SAME: gpu_block = 128 : i32, gpu_repeated, gpu_resident = 8 : i32
// CHECK: %[[LANE:.*]] = arith.remui %{{.*}}, %c8
// CHECK: %[[MINE:.*]] = arith.muli %[[LANE]], %c4
// CHECK: %[[TWO:.*]]:5 = scf.for %{{.*}} = %[[MINE]] to %c32 step %c64 iter_args
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-COUNT-8: arith.addf
// CHECK: %[[PARTS:.*]]:4 = scf.for %{{.*}} = %[[TWO]]#0 to %c64 step %c32 iter_args
// CHECK: arith.addf %[[PARTS]]#0, %[[PARTS]]#1
// CHECK: nvvm.shfl.sync bfly {{.*}} %c4_i32
// CHECK: nvvm.shfl.sync bfly {{.*}} %c1_i32
// CHECK: scf.for
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
func.func @row_vectors(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index)
    attributes {kernel, gpu_schedule = {block = 128 : i32, lanes = 32 : i32, size = 64 : i64}} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 64 : index
  %none = arith.constant 0.0 : f32
  scf.parallel (%row) = (%begin) to (%end) step (%one) {
    %base = arith.muli %row, %n : index
    %sum = scf.parallel (%i) = (%zero) to (%n) step (%one) init (%none) -> f32 {
      %at = arith.addi %base, %i : index
      %v = memref.load %x[%at] : memref<?xf32>
      scf.reduce(%v : f32) {
      ^bb0(%a: f32, %b: f32):
        %both = arith.addf %a, %b : f32
        scf.reduce.return %both : f32
      }
    }
    scf.parallel (%i) = (%zero) to (%n) step (%one) {
      %at = arith.addi %base, %i : index
      %v = memref.load %x[%at] : memref<?xf32>
      %d = arith.subf %v, %sum : f32
      memref.store %d, %y[%at] : memref<?xf32>
    }
  }
  return
}

// Columns by vectors of four: a thread adds those of every 128th row, four rows at a time; a tree in shared memory adds the four sums of all
// threads side by side; one of them writes a vector. The range is whole vectors, by what is known of its end.
// CHECK: memref.global "private" @column_vectors_shared_2048_f32 : memref<2048xf32, 3> = uninitialized
// CHECK-LABEL: func.func @column_vectors
// CHECK-SAME: gpu_block = 512 : i32, gpu_repeated, kernel
// CHECK: arith.subi %{{.*}}, %c4
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load
// CHECK-COUNT-16: arith.addf
// CHECK: scf.for
// CHECK: llvm.load
// CHECK-COUNT-4: memref.store
// CHECK: nvvm.barrier0
// CHECK: arith.cmpi ult, %{{.*}}, %c64
// CHECK: llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<1>
func.func @column_vectors(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index {sheaf.multiple = 16 : i64}, %rows: index)
    attributes {kernel, gpu_schedule = {block = 1024 : i32, lanes = 32 : i32, columns, size = 8192 : i64, across = 512 : i64}} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %columns = arith.constant 512 : index
  %none = arith.constant 0.0 : f32
  scf.parallel (%column) = (%begin) to (%end) step (%one) {
    %sum = scf.parallel (%row) = (%zero) to (%rows) step (%one) init (%none) -> f32 {
      %base = arith.muli %row, %columns : index
      %at = arith.addi %base, %column : index
      %v = memref.load %x[%at] : memref<?xf32>
      scf.reduce(%v : f32) {
      ^bb0(%a: f32, %b: f32):
        %both = arith.addf %a, %b : f32
        scf.reduce.return %both : f32
      }
    }
    memref.store %sum, %y[%column] : memref<?xf32>
  }
  return
}
