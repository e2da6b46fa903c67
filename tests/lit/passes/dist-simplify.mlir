// RUN: sheaf-opt %s --dist-simplify -split-input-file | FileCheck %s

// CHECK: dist.group @g
// CHECK-NOT: dist.group @h
dist.group @g {dim = 0 : i64, layer = "g"}
dist.group @h {dim = 0 : i64, layer = "h"}

// A value that is gathered and scattered again, in the same chunks over the same devices, stays where it is; the second
// group is the first.
// CHECK-LABEL: func.func @cancel(
// CHECK: %[[C:.*]] = dist.scatter
// CHECK: %[[A:.*]] = dist.parallel_apply @g(%[[C]])
// CHECK-NOT: dist.gather
// CHECK-NOT: dist.scatter
// CHECK: %[[B:.*]] = dist.parallel_apply @g(%[[A]]) {{.*}}#dist.split<@g, 0>>
// CHECK: dist.gather %[[B]] {reason = "together again"}
func.func @cancel(%x: !dist.tensor<tensor<?x6xf32>, #dist.host>) -> !dist.tensor<tensor<?x6xf32>, #dist.device<0>> {
  %0 = dist.scatter %x {reason = "first"} : <tensor<?x6xf32>, #dist.host> -> <tensor<?x6xf32>, #dist.split<@g, 0>>
  %1 = dist.parallel_apply @g(%0) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>> {
  ^bb0(%a: tensor<?x6xf32>):
    %6 = nn.relu %a : (tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %2 = dist.gather %1 {reason = "together"} : <tensor<?x6xf32>, #dist.split<@g, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  %3 = dist.scatter %2 {reason = "second"} : <tensor<?x6xf32>, #dist.device<0>> -> <tensor<?x6xf32>, #dist.split<@h, 0>>
  %4 = dist.parallel_apply @h(%3) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>> {
  ^bb0(%a: tensor<?x6xf32>):
    %6 = nn.tanh %a : (tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %5 = dist.gather %4 {reason = "together again"} : <tensor<?x6xf32>, #dist.split<@h, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  return %5 : !dist.tensor<tensor<?x6xf32>, #dist.device<0>>
}

// -----

dist.group @g {device_ids = array<i64: 1, 0>, dim = 0 : i64, layer = "g"}
dist.group @h {device_ids = array<i64: 1, 0>, dim = 0 : i64, layer = "h"}

// The same if both name the same devices.
// CHECK-LABEL: func.func @same_devices(
// CHECK: dist.parallel_apply @g
// CHECK-NOT: dist.gather
// CHECK: dist.parallel_apply @g
func.func @same_devices(%x: !dist.tensor<tensor<?x6xf32>, #dist.host>) -> !dist.tensor<tensor<?x6xf32>, #dist.device<0>> {
  %0 = dist.scatter %x {reason = "first"} : <tensor<?x6xf32>, #dist.host> -> <tensor<?x6xf32>, #dist.split<@g, 0>>
  %1 = dist.parallel_apply @g(%0) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>> {
  ^bb0(%a: tensor<?x6xf32>):
    %6 = nn.relu %a : (tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %2 = dist.gather %1 {reason = "together"} : <tensor<?x6xf32>, #dist.split<@g, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  %3 = dist.scatter %2 {reason = "second"} : <tensor<?x6xf32>, #dist.device<0>> -> <tensor<?x6xf32>, #dist.split<@h, 0>>
  %4 = dist.parallel_apply @h(%3) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>> {
  ^bb0(%a: tensor<?x6xf32>):
    %6 = nn.tanh %a : (tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %5 = dist.gather %4 {reason = "together again"} : <tensor<?x6xf32>, #dist.split<@h, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  return %5 : !dist.tensor<tensor<?x6xf32>, #dist.device<0>>
}

// -----

dist.group @g {device_ids = array<i64: 0, 1>, dim = 0 : i64, layer = "g"}
dist.group @h {device_ids = array<i64: 1, 0>, dim = 0 : i64, layer = "h"}

// The order of devices determines which has which chunk: in another order everything moves.
// CHECK-LABEL: func.func @other_devices(
// CHECK: dist.parallel_apply @g
// CHECK: dist.gather
// CHECK: dist.scatter
// CHECK: dist.parallel_apply @h
func.func @other_devices(%x: !dist.tensor<tensor<?x6xf32>, #dist.host>) -> !dist.tensor<tensor<?x6xf32>, #dist.device<0>> {
  %0 = dist.scatter %x {reason = "first"} : <tensor<?x6xf32>, #dist.host> -> <tensor<?x6xf32>, #dist.split<@g, 0>>
  %1 = dist.parallel_apply @g(%0) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>> {
  ^bb0(%a: tensor<?x6xf32>):
    %6 = nn.relu %a : (tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %2 = dist.gather %1 {reason = "together"} : <tensor<?x6xf32>, #dist.split<@g, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  %3 = dist.scatter %2 {reason = "second"} : <tensor<?x6xf32>, #dist.device<0>> -> <tensor<?x6xf32>, #dist.split<@h, 0>>
  %4 = dist.parallel_apply @h(%3) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>> {
  ^bb0(%a: tensor<?x6xf32>):
    %6 = nn.tanh %a : (tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %5 = dist.gather %4 {reason = "together again"} : <tensor<?x6xf32>, #dist.split<@h, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  return %5 : !dist.tensor<tensor<?x6xf32>, #dist.device<0>>
}

// -----

dist.group @g {dim = 0 : i64, layer = "g"}
dist.group @h {dim = 1 : i64, layer = "h"}

// Chunks along another dimension are other chunks.
// CHECK-LABEL: func.func @other_dim(
// CHECK: dist.parallel_apply @g
// CHECK: dist.gather
// CHECK: dist.scatter {{.*}}#dist.split<@h, 1>>
// CHECK: dist.parallel_apply @h
func.func @other_dim(%x: !dist.tensor<tensor<?x6xf32>, #dist.host>) -> !dist.tensor<tensor<?x6xf32>, #dist.device<0>> {
  %0 = dist.scatter %x {reason = "first"} : <tensor<?x6xf32>, #dist.host> -> <tensor<?x6xf32>, #dist.split<@g, 0>>
  %1 = dist.parallel_apply @g(%0) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>> {
  ^bb0(%a: tensor<?x6xf32>):
    %6 = nn.relu %a : (tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %2 = dist.gather %1 {reason = "together"} : <tensor<?x6xf32>, #dist.split<@g, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  %3 = dist.scatter %2 {reason = "second"} : <tensor<?x6xf32>, #dist.device<0>> -> <tensor<?x?xf32>, #dist.split<@h, 1>>
  %4 = dist.parallel_apply @h(%3) : (!dist.tensor<tensor<?x?xf32>, #dist.split<@h, 1>>) -> !dist.tensor<tensor<?x?xf32>, #dist.split<@h, 1>> {
  ^bb0(%a: tensor<?x?xf32>):
    %6 = nn.tanh %a : (tensor<?x?xf32>) -> tensor<?x?xf32>
    dist.yield %6 : tensor<?x?xf32>
  }
  %5 = dist.gather %4 {reason = "together again"} : <tensor<?x?xf32>, #dist.split<@h, 1>> -> <tensor<?x6xf32>, #dist.device<0>>
  return %5 : !dist.tensor<tensor<?x6xf32>, #dist.device<0>>
}

// -----

dist.group @g {dim = 0 : i64, layer = "g"}
dist.group @h {dim = 0 : i64, layer = "h"}

// If another op needs the whole, the gather stays; the scatter goes nonetheless.
// CHECK-LABEL: func.func @other_user(
// CHECK: %[[A:.*]] = dist.parallel_apply @g
// CHECK: %[[WHOLE:.*]] = dist.gather %[[A]] {reason = "together"}
// CHECK-NOT: dist.scatter
// CHECK: %[[B:.*]] = dist.parallel_apply @g(%[[A]])
// CHECK: %[[END:.*]] = dist.gather %[[B]]
// CHECK: return %[[END]], %[[WHOLE]]
func.func @other_user(%x: !dist.tensor<tensor<?x6xf32>, #dist.host>) -> (!dist.tensor<tensor<?x6xf32>, #dist.device<0>>, !dist.tensor<tensor<?x6xf32>, #dist.device<0>>) {
  %0 = dist.scatter %x {reason = "first"} : <tensor<?x6xf32>, #dist.host> -> <tensor<?x6xf32>, #dist.split<@g, 0>>
  %1 = dist.parallel_apply @g(%0) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>> {
  ^bb0(%a: tensor<?x6xf32>):
    %6 = nn.relu %a : (tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %2 = dist.gather %1 {reason = "together"} : <tensor<?x6xf32>, #dist.split<@g, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  %3 = dist.scatter %2 {reason = "second"} : <tensor<?x6xf32>, #dist.device<0>> -> <tensor<?x6xf32>, #dist.split<@h, 0>>
  %4 = dist.parallel_apply @h(%3) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>> {
  ^bb0(%a: tensor<?x6xf32>):
    %6 = nn.tanh %a : (tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %5 = dist.gather %4 {reason = "together again"} : <tensor<?x6xf32>, #dist.split<@h, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  return %5, %2 : !dist.tensor<tensor<?x6xf32>, #dist.device<0>>, !dist.tensor<tensor<?x6xf32>, #dist.device<0>>
}

// -----

dist.group @g {dim = 0 : i64, layer = "g"}
dist.group @h {dim = 0 : i64, layer = "h"}

// Replicas that return two rows for each of theirs: 2·B rows in chunks are not twice the chunks of B rows, so replica i
// doesn't have what it needs.
// CHECK-LABEL: func.func @other_total(
// CHECK: dist.parallel_apply @g
// CHECK: dist.gather
// CHECK: dist.scatter
// CHECK: dist.parallel_apply @h
func.func @other_total(%x: !dist.tensor<tensor<?x6xf32>, #dist.host>) -> !dist.tensor<tensor<?x6xf32>, #dist.device<0>> {
  %0 = dist.scatter %x {reason = "first"} : <tensor<?x6xf32>, #dist.host> -> <tensor<?x6xf32>, #dist.split<@g, 0>>
  %1 = dist.parallel_apply @g(%0) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>> {
  ^bb0(%a: tensor<?x6xf32>):
    %6 = nn.concat %a, %a {dim = 0 : i64} : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %2 = dist.gather %1 {reason = "together"} : <tensor<?x6xf32>, #dist.split<@g, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  %3 = dist.scatter %2 {reason = "second"} : <tensor<?x6xf32>, #dist.device<0>> -> <tensor<?x6xf32>, #dist.split<@h, 0>>
  %4 = dist.parallel_apply @h(%3) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>> {
  ^bb0(%a: tensor<?x6xf32>):
    %6 = nn.tanh %a : (tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %5 = dist.gather %4 {reason = "together again"} : <tensor<?x6xf32>, #dist.split<@h, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  return %5 : !dist.tensor<tensor<?x6xf32>, #dist.device<0>>
}

// -----

dist.group @g {dim = 0 : i64, layer = "g"}
dist.group @h {dim = 0 : i64, layer = "h"}

// The second group has another input, of another size, and so perhaps another number of replicas.
// CHECK-LABEL: func.func @other_input(
// CHECK: dist.parallel_apply @g
// CHECK: dist.gather
// CHECK: dist.scatter {{.*}} -> <tensor<?x6xf32>, #dist.split<@h, 0>>
// CHECK: dist.parallel_apply @h
func.func @other_input(%x: !dist.tensor<tensor<?x6xf32>, #dist.host>, %y: !dist.tensor<tensor<7x6xf32>, #dist.host>) -> !dist.tensor<tensor<?x6xf32>, #dist.device<0>> {
  %0 = dist.scatter %x {reason = "first"} : <tensor<?x6xf32>, #dist.host> -> <tensor<?x6xf32>, #dist.split<@g, 0>>
  %1 = dist.parallel_apply @g(%0) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@g, 0>> {
  ^bb0(%a: tensor<?x6xf32>):
    %6 = nn.relu %a : (tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %2 = dist.gather %1 {reason = "together"} : <tensor<?x6xf32>, #dist.split<@g, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  %3 = dist.scatter %2 {reason = "second"} : <tensor<?x6xf32>, #dist.device<0>> -> <tensor<?x6xf32>, #dist.split<@h, 0>>
  %y0 = dist.scatter %y {reason = "another"} : <tensor<7x6xf32>, #dist.host> -> <tensor<?x6xf32>, #dist.split<@h, 0>>
  %4 = dist.parallel_apply @h(%3, %y0) : (!dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>>, !dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>>) -> !dist.tensor<tensor<?x6xf32>, #dist.split<@h, 0>> {
  ^bb0(%a: tensor<?x6xf32>, %b: tensor<?x6xf32>):
    %6 = nn.print %a, %b text "{0} {1}" : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
    dist.yield %6 : tensor<?x6xf32>
  }
  %5 = dist.gather %4 {reason = "together again"} : <tensor<?x6xf32>, #dist.split<@h, 0>> -> <tensor<?x6xf32>, #dist.device<0>>
  return %5 : !dist.tensor<tensor<?x6xf32>, #dist.device<0>>
}

// -----

// Layers with unused values go, and the movements made for them too. Prints stay.
// CHECK-LABEL: func.func @dead(
// CHECK-NOT: dist.transfer
// CHECK-NOT: nn.relu
// CHECK: nn.print
// CHECK-NOT: nn.tanh
// CHECK: return
func.func @dead(%x: !dist.tensor<tensor<5xf32>, #dist.device<0>>) {
  %0 = dist.transfer %x {reason = "for the dead layer"} : <tensor<5xf32>, #dist.device<0>> -> <tensor<5xf32>, #dist.device<1>>
  %1 = dist.apply on #dist.device<1>(%0) : (!dist.tensor<tensor<5xf32>, #dist.device<1>>) -> !dist.tensor<tensor<5xf32>, #dist.device<1>> {
  ^bb0(%a: tensor<5xf32>):
    %3 = nn.relu %a : (tensor<5xf32>) -> tensor<5xf32>
    dist.yield %3 : tensor<5xf32>
  }
  %2 = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<5xf32>):
    %3 = nn.print %a text "{0}" : (tensor<5xf32>) -> tensor<5xf32>
    %4 = nn.tanh %a : (tensor<5xf32>) -> tensor<5xf32>
    dist.yield %4 : tensor<5xf32>
  }
  return
}

// Inputs that a body doesn't use are not brought to it.
// CHECK-LABEL: func.func @unused_input(
// CHECK-SAME: %[[X:.*]]: !dist.tensor<tensor<5xf32>, #dist.device<0>>, %
// CHECK-NEXT: dist.apply on #dist.device<0>(%[[X]])
func.func @unused_input(%x: !dist.tensor<tensor<5xf32>, #dist.device<0>>, %y: !dist.tensor<tensor<5xf32>, #dist.host>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  %0 = dist.transfer %y {reason = "for nothing"} : <tensor<5xf32>, #dist.host> -> <tensor<5xf32>, #dist.device<0>>
  %1 = dist.apply on #dist.device<0>(%x, %0) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>, !dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<5xf32>, %b: tensor<5xf32>):
    %3 = nn.relu %a : (tensor<5xf32>) -> tensor<5xf32>
    dist.yield %3 : tensor<5xf32>
  }
  return %1 : !dist.tensor<tensor<5xf32>, #dist.device<0>>
}

// Equal movements become one.
// CHECK-LABEL: func.func @equal(
// CHECK-SAME: %[[X:.*]]: !dist
// CHECK-NEXT: %[[Y:.*]] = dist.transfer %[[X]]
// CHECK-NEXT: return %[[Y]], %[[Y]]
func.func @equal(%x: !dist.tensor<tensor<5xf32>, #dist.device<0>>) -> (!dist.tensor<tensor<5xf32>, #dist.host>, !dist.tensor<tensor<5xf32>, #dist.host>) {
  %0 = dist.transfer %x {reason = "because"} : <tensor<5xf32>, #dist.device<0>> -> <tensor<5xf32>, #dist.host>
  %1 = dist.transfer %x {reason = "because"} : <tensor<5xf32>, #dist.device<0>> -> <tensor<5xf32>, #dist.host>
  return %0, %1 : !dist.tensor<tensor<5xf32>, #dist.host>, !dist.tensor<tensor<5xf32>, #dist.host>
}
