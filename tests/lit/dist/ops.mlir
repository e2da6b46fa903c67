// RUN: sheaf-opt %s | sheaf-opt | FileCheck %s

// A group has its layer's name; its devices and its output device may be absent.
// CHECK: dist.group @all {dim = 0 : i64, layer = "net"}
dist.group @all {dim = 0 : i64, layer = "net"}
// CHECK: dist.group @some {device_ids = array<i64: 2, 0, 0>, dim = -1 : i64, layer = "net.part", output_device = 1 : i64}
dist.group @some {device_ids = array<i64: 2, 0, 0>, dim = -1 : i64, layer = "net.part", output_device = 1 : i64}

// The four layouts: a placed tensor is the one that a device sees.
// CHECK-LABEL: func.func private @layouts
// CHECK-SAME: !dist.tensor<tensor<?x5xf32>, #dist.host>
// CHECK-SAME: !dist.tensor<tensor<?x5xf32>, #dist.device<3>>
// CHECK-SAME: !dist.tensor<tensor<?x5xf32>, #dist.split<@all, 0>>
// CHECK-SAME: !dist.tensor<tensor<2x5xf32>, #dist.replicated<@all>>
// CHECK-SAME: !dist.tensor<tensor<f32>, #dist.split<@all, 0>>
func.func private @layouts(!dist.tensor<tensor<?x5xf32>, #dist.host>, !dist.tensor<tensor<?x5xf32>, #dist.device<3>>, !dist.tensor<tensor<?x5xf32>, #dist.split<@all, 0>>, !dist.tensor<tensor<2x5xf32>, #dist.replicated<@all>>, !dist.tensor<tensor<f32>, #dist.split<@all, 0>>)

// A program in which every movement is an op with a reason, and every op runs in a region on its place.
// CHECK-LABEL: func.func @program(
func.func @program(%x: !dist.tensor<tensor<?x5xf32>, #dist.host>, %w: !dist.tensor<tensor<2x5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<?x2xf32>, #dist.host> {
  // CHECK: dist.scatter %{{.*}} {reason = "a chunk for each"} : <tensor<?x5xf32>, #dist.host> -> <tensor<?x5xf32>, #dist.split<@all, 0>>
  %0 = dist.scatter %x {reason = "a chunk for each"} : <tensor<?x5xf32>, #dist.host> -> <tensor<?x5xf32>, #dist.split<@all, 0>>
  // CHECK: dist.replicate %{{.*}} {reason = "a copy for each"} : <tensor<2x5xf32>, #dist.device<0>> -> <tensor<2x5xf32>, #dist.replicated<@all>>
  %1 = dist.replicate %w {reason = "a copy for each"} : <tensor<2x5xf32>, #dist.device<0>> -> <tensor<2x5xf32>, #dist.replicated<@all>>
  // CHECK: dist.parallel_apply @all(%{{.*}}, %{{.*}}) : (!dist.tensor<tensor<?x5xf32>, #dist.split<@all, 0>>, !dist.tensor<tensor<2x5xf32>, #dist.replicated<@all>>) -> !dist.tensor<tensor<?x2xf32>, #dist.split<@all, 0>> {
  %2 = dist.parallel_apply @all(%0, %1) : (!dist.tensor<tensor<?x5xf32>, #dist.split<@all, 0>>, !dist.tensor<tensor<2x5xf32>, #dist.replicated<@all>>) -> !dist.tensor<tensor<?x2xf32>, #dist.split<@all, 0>> {
  ^bb0(%a: tensor<?x5xf32>, %b: tensor<2x5xf32>):
  // CHECK: nn.linear %{{.*}}, %{{.*}} : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
    %5 = nn.linear %a, %b : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
  // CHECK: dist.yield %{{.*}} : tensor<?x2xf32>
    dist.yield %5 : tensor<?x2xf32>
  }
  // CHECK: dist.gather %{{.*}} {reason = "all rows on one"} : <tensor<?x2xf32>, #dist.split<@all, 0>> -> <tensor<?x2xf32>, #dist.device<1>>
  %3 = dist.gather %2 {reason = "all rows on one"} : <tensor<?x2xf32>, #dist.split<@all, 0>> -> <tensor<?x2xf32>, #dist.device<1>>
  // CHECK: dist.apply on #dist.device<1>(%{{.*}}) : (!dist.tensor<tensor<?x2xf32>, #dist.device<1>>) -> !dist.tensor<tensor<?x2xf32>, #dist.device<1>> {
  %4 = dist.apply on #dist.device<1>(%3) : (!dist.tensor<tensor<?x2xf32>, #dist.device<1>>) -> !dist.tensor<tensor<?x2xf32>, #dist.device<1>> {
  ^bb0(%a: tensor<?x2xf32>):
  // CHECK: nn.relu %{{.*}} : (tensor<?x2xf32>) -> tensor<?x2xf32>
    %5 = nn.relu %a : (tensor<?x2xf32>) -> tensor<?x2xf32>
  // CHECK: dist.yield %{{.*}} : tensor<?x2xf32>
    dist.yield %5 : tensor<?x2xf32>
  }
  // CHECK: dist.transfer %{{.*}} {reason = "the output is on the host"} : <tensor<?x2xf32>, #dist.device<1>> -> <tensor<?x2xf32>, #dist.host>
  %6 = dist.transfer %4 {reason = "the output is on the host"} : <tensor<?x2xf32>, #dist.device<1>> -> <tensor<?x2xf32>, #dist.host>
  return %6 : !dist.tensor<tensor<?x2xf32>, #dist.host>
}

// The backward pass: a gradient returns in the chunks that were gathered, partial sums are added up, and of the
// replicas' own values the first one's is kept.
// CHECK-LABEL: func.func @duals(
func.func @duals(%dy: !dist.tensor<tensor<?x2xf32>, #dist.device<0>>, %y: !dist.tensor<tensor<?x2xf32>, #dist.split<@all, 0>>,
                 %dw: !dist.tensor<tensor<2x5xf32>, #dist.partial<@all>>, %mean: !dist.tensor<tensor<2xf32>, #dist.local<@all>>) {
  // CHECK: dist.scatter %{{.*}} like %{{.*}} : !dist.tensor<tensor<?x2xf32>, #dist.split<@all, 0>> {reason = "its dual"} : <tensor<?x2xf32>, #dist.device<0>> -> <tensor<?x2xf32>, #dist.split<@all, 0>>
  %0 = dist.scatter %dy like %y : !dist.tensor<tensor<?x2xf32>, #dist.split<@all, 0>> {reason = "its dual"} : <tensor<?x2xf32>, #dist.device<0>> -> <tensor<?x2xf32>, #dist.split<@all, 0>>
  // CHECK: dist.reduce %{{.*}} {reason = "left to right"} : <tensor<2x5xf32>, #dist.partial<@all>> -> <tensor<2x5xf32>, #dist.device<0>>
  %1 = dist.reduce %dw {reason = "left to right"} : <tensor<2x5xf32>, #dist.partial<@all>> -> <tensor<2x5xf32>, #dist.device<0>>
  // CHECK: dist.first %{{.*}} {reason = "replica 0's"} : <tensor<2xf32>, #dist.local<@all>> -> <tensor<2xf32>, #dist.host>
  %2 = dist.first %mean {reason = "replica 0's"} : <tensor<2xf32>, #dist.local<@all>> -> <tensor<2xf32>, #dist.host>
  return
}

// Each replica keeps a parameter: all get the sum of the gradients, and compute the new value from values that all
// have.
// CHECK-LABEL: func.func @replicated_update(
func.func @replicated_update(%w: !dist.tensor<tensor<2x5xf32>, #dist.replicated<@all>>, %dw: !dist.tensor<tensor<2x5xf32>, #dist.partial<@all>>) -> !dist.tensor<tensor<2x5xf32>, #dist.host> {
  // CHECK: dist.all_reduce %{{.*}} {reason = "each updates its own"} : <tensor<2x5xf32>, #dist.partial<@all>> -> <tensor<2x5xf32>, #dist.replicated<@all>>
  %0 = dist.all_reduce %dw {reason = "each updates its own"} : <tensor<2x5xf32>, #dist.partial<@all>> -> <tensor<2x5xf32>, #dist.replicated<@all>>
  // CHECK: dist.parallel_apply @all(%{{.*}}, %{{.*}}) : ({{.*}}) -> !dist.tensor<tensor<2x5xf32>, #dist.replicated<@all>> {
  %1 = dist.parallel_apply @all(%w, %0) : (!dist.tensor<tensor<2x5xf32>, #dist.replicated<@all>>, !dist.tensor<tensor<2x5xf32>, #dist.replicated<@all>>) -> !dist.tensor<tensor<2x5xf32>, #dist.replicated<@all>> {
  ^bb0(%a: tensor<2x5xf32>, %b: tensor<2x5xf32>):
    %3 = nn.add %a, %b : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    dist.yield %3 : tensor<2x5xf32>
  }
  // CHECK: dist.first %{{.*}} {reason = "one of them"} : <tensor<2x5xf32>, #dist.replicated<@all>> -> <tensor<2x5xf32>, #dist.host>
  %2 = dist.first %1 {reason = "one of them"} : <tensor<2x5xf32>, #dist.replicated<@all>> -> <tensor<2x5xf32>, #dist.host>
  return %2 : !dist.tensor<tensor<2x5xf32>, #dist.host>
}

// Each replica keeps a share of the state: it gets the sum of its share and updates that share of the parameter; all
// shares together are the new value.
// CHECK-LABEL: func.func @sharded_update(
func.func @sharded_update(%w: !dist.tensor<tensor<2x5xf32>, #dist.replicated<@all>>, %dw: !dist.tensor<tensor<2x5xf32>, #dist.partial<@all>>, %m: !dist.tensor<tensor<2x5xf32>, #dist.sharded<@all>>, %lr: !dist.tensor<tensor<f32>, #dist.replicated<@all>>) -> !dist.tensor<tensor<2x5xf32>, #dist.replicated<@all>> {
  // CHECK: dist.reduce_scatter %{{.*}} {reason = "each updates a share"} : <tensor<2x5xf32>, #dist.partial<@all>> -> <tensor<2x5xf32>, #dist.sharded<@all>>
  %0 = dist.reduce_scatter %dw {reason = "each updates a share"} : <tensor<2x5xf32>, #dist.partial<@all>> -> <tensor<2x5xf32>, #dist.sharded<@all>>
  // CHECK: dist.shard %{{.*}} {reason = "of what it has"} : <tensor<2x5xf32>, #dist.replicated<@all>> -> <tensor<2x5xf32>, #dist.sharded<@all>>
  %1 = dist.shard %w {reason = "of what it has"} : <tensor<2x5xf32>, #dist.replicated<@all>> -> <tensor<2x5xf32>, #dist.sharded<@all>>
  %2 = dist.parallel_apply @all(%1, %0, %m, %lr) : (!dist.tensor<tensor<2x5xf32>, #dist.sharded<@all>>, !dist.tensor<tensor<2x5xf32>, #dist.sharded<@all>>, !dist.tensor<tensor<2x5xf32>, #dist.sharded<@all>>, !dist.tensor<tensor<f32>, #dist.replicated<@all>>) -> !dist.tensor<tensor<2x5xf32>, #dist.sharded<@all>> {
  ^bb0(%a: tensor<2x5xf32>, %b: tensor<2x5xf32>, %c: tensor<2x5xf32>, %d: tensor<f32>):
    %4 = nn.add %a, %b : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %5 = nn.add %4, %c : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %6 = nn.mul %5, %d : (tensor<2x5xf32>, tensor<f32>) -> tensor<2x5xf32>
    dist.yield %6 : tensor<2x5xf32>
  }
  // CHECK: dist.all_gather %{{.*}} {reason = "all of it again"} : <tensor<2x5xf32>, #dist.sharded<@all>> -> <tensor<2x5xf32>, #dist.replicated<@all>>
  %3 = dist.all_gather %2 {reason = "all of it again"} : <tensor<2x5xf32>, #dist.sharded<@all>> -> <tensor<2x5xf32>, #dist.replicated<@all>>
  return %3 : !dist.tensor<tensor<2x5xf32>, #dist.replicated<@all>>
}

// One number from each replica: gathered, they are a vector.
// CHECK-LABEL: func.func @scalars(
func.func @scalars(%x: !dist.tensor<tensor<f32>, #dist.split<@all, 0>>) {
  // CHECK: dist.gather %{{.*}} {reason = "a mean of each"} : <tensor<f32>, #dist.split<@all, 0>> -> <tensor<?xf32>, #dist.host>
  %0 = dist.gather %x {reason = "a mean of each"} : <tensor<f32>, #dist.split<@all, 0>> -> <tensor<?xf32>, #dist.host>
  return
}

// Regions without inputs and outputs run for their prints.
// CHECK-LABEL: func.func @empty(
func.func @empty() {
  // CHECK: dist.apply on #dist.host() : () -> () {
  dist.apply on #dist.host() : () -> () {
  }
  // CHECK: dist.parallel_apply @some() : () -> () {
  dist.parallel_apply @some() : () -> () {
  }
  return
}
