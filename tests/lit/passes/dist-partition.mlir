// RUN: sheaf-opt %s --nn-infer-shapes --nn-place --dist-partition | FileCheck %s

// Inputs are cut, parameters copied, outputs put together; each movement has a reason. Parameters live where they are
// first used: with the replicas, on the first of their devices. The program's output stays where it was computed. Each
// region has a group of its own, named after its layer.
// CHECK: dist.group @net {dim = 0 : i64, layer = "net"}
// CHECK-LABEL: func.func @region(
// CHECK-SAME: %[[X:.*]]: !dist.tensor<tensor<?x5xf32>, #dist.host>
// CHECK-SAME: %[[W:.*]]: !dist.tensor<tensor<2x5xf32>, #dist.device<0>>
// CHECK-SAME: -> !dist.tensor<tensor<?x2xf32>, #dist.device<0>>
// CHECK: %[[CHUNK:.*]] = dist.scatter %[[X]] {reason = "DataParallel layer 'net' gives each replica a chunk of the input along dimension 0"}
// CHECK: %[[COPY:.*]] = dist.replicate %[[W]] {reason = "every replica of 'net' needs a copy of the module's parameters and buffers"}
// CHECK: %[[Y:.*]] = dist.parallel_apply @net(%[[CHUNK]], %[[COPY]])
// CHECK: dist.gather %[[Y]] {reason = "DataParallel layer 'net' concatenates its replicas' outputs on device 0, the first of its devices"}
func.func @region(%x: tensor<?x5xf32> {nn.role = "input"}, %w: tensor<2x5xf32> {nn.role = "parameter"}) -> tensor<?x2xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<?x2xf32> {
  ^bb0(%chunk: tensor<?x5xf32>):
    %1 = nn.linear %chunk, %w : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
    nn.yield %1 : tensor<?x2xf32>
  }
  return %0 : tensor<?x2xf32>
}

// Dimension 1, and an output device that isn't in the group.
// CHECK: dist.group @part {device_ids = array<i64: 2, 1>, dim = 1 : i64, layer = "part", output_device = 0 : i64}
// CHECK-LABEL: func.func @dim_one(
// CHECK: dist.scatter {{.*}} -> <tensor<?x?xf32>, #dist.split<@part, 1>>
// CHECK: dist.gather {{.*}}outputs on device 0, its output_device"} : <tensor<?x?xf32>, #dist.split<@part, 1>> -> <tensor<?x6xf32>, #dist.device<0>>
func.func @dim_one(%x: tensor<?x6xf32> {nn.role = "input"}) -> tensor<?x6xf32> {
  %0 = nn.data_parallel "part"(%x) {device_ids = array<i64: 2, 1>, dim = 1 : i64, output_device = 0 : i64} : (tensor<?x6xf32>) -> tensor<?x6xf32> {
  ^bb0(%chunk: tensor<?x?xf32>):
    %1 = nn.relu %chunk : (tensor<?x?xf32>) -> tensor<?x?xf32>
    nn.yield %1 : tensor<?x?xf32>
  }
  return %0 : tensor<?x6xf32>
}

// A value is transferred to a place once, whoever needs it there.
// CHECK-LABEL: func.func @once(
// CHECK-SAME: %[[X:.*]]: !dist.tensor<tensor<?x5xf32>, #dist.host>
// CHECK: %[[ONE:.*]] = dist.transfer %[[X]] {reason = "layer '' runs on device 1, but this value is on the host"}
// CHECK: dist.apply on #dist.device<1>(%[[ONE]])
// CHECK: dist.apply on #dist.device<1>(%[[ONE]])
// CHECK: %[[TWO:.*]] = dist.transfer %[[X]] {{.*}} -> <tensor<?x5xf32>, #dist.device<2>>
// CHECK: dist.apply on #dist.device<2>(%[[TWO]])
// CHECK-NOT: dist.transfer
// CHECK: return
func.func @once(%x: tensor<?x5xf32> {nn.role = "input"}) -> (tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>) {
  %0 = nn.relu %x {nn.device = 1 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %1 = nn.tanh %x {nn.device = 1 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = nn.silu %x {nn.device = 2 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  return %0, %1, %2 : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>
}

// The reason names the layer, as does the location.
// CHECK-LABEL: func.func @named(
// CHECK: dist.transfer {{.*}} {reason = "layer 'head' runs on device 1, but this value is on device 0"}
func.func @named(%x: tensor<?x5xf32> {nn.role = "input"}) -> tensor<?x5xf32> {
  %0 = nn.relu %x {nn.device = 0 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32> loc("body")
  %1 = nn.tanh %0 {nn.device = 1 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32> loc("head")
  return %1 : tensor<?x5xf32>
}

// A tied parameter, used by two layers of a region, is copied to the replicas once; used again outside, it is there
// already or needs one transfer.
// CHECK-LABEL: func.func @tied(
// CHECK-SAME: %[[W:[^:]*]]: !dist.tensor<tensor<5x5xf32>, #dist.device<0>>
// CHECK: dist.replicate %[[W]]
// CHECK-NOT: = dist.replicate
// CHECK: dist.parallel_apply @net_0
// CHECK: nn.linear
// CHECK: nn.linear
// CHECK: dist.gather
// CHECK: %[[THERE:.*]] = dist.transfer %[[W]] {{.*}}#dist.device<1>>
// CHECK: dist.apply on #dist.device<1>(%{{.*}}, %[[THERE]])
func.func @tied(%x: tensor<?x5xf32> {nn.role = "input"}, %w: tensor<5x5xf32> {nn.role = "parameter"}) -> tensor<?x5xf32> {
  %0 = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x5xf32>) -> tensor<?x5xf32> {
  ^bb0(%chunk: tensor<?x5xf32>):
    %2 = nn.linear %chunk, %w : (tensor<?x5xf32>, tensor<5x5xf32>) -> tensor<?x5xf32>
    %3 = nn.linear %2, %w : (tensor<?x5xf32>, tensor<5x5xf32>) -> tensor<?x5xf32>
    nn.yield %3 : tensor<?x5xf32>
  }
  %1 = nn.linear %0, %w {nn.device = 1 : i64} : (tensor<?x5xf32>, tensor<5x5xf32>) -> tensor<?x5xf32>
  return %1 : tensor<?x5xf32>
}

// Each of several inputs is cut; of several outputs the used ones are gathered.
// CHECK-LABEL: func.func @several(
// CHECK-COUNT-2: dist.scatter
// CHECK: dist.parallel_apply {{.*}} -> (!dist.tensor<tensor<?x5xf32>, #dist.split<@net_1, 0>>, !dist.tensor<tensor<?x5xf32>, #dist.split<@net_1, 0>>)
// CHECK-COUNT-2: dist.gather
// CHECK-NOT: dist.gather
// CHECK: return
func.func @several(%x: tensor<?x5xf32> {nn.role = "input"}, %y: tensor<?x5xf32> {nn.role = "input"}) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %0:3 = nn.data_parallel "net"(%x, %y) {dim = 0 : i64} : (tensor<?x5xf32>, tensor<?x5xf32>) -> (tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>) {
  ^bb0(%a: tensor<?x5xf32>, %b: tensor<?x5xf32>):
    %1 = nn.add %a, %b : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
    %2 = nn.sub %a, %b : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
    %3 = nn.mul %a, %b : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
    nn.yield %1, %2, %3 : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>
  }
  return %0#0, %0#2 : tensor<?x5xf32>, tensor<?x5xf32>
}

// A region without inputs runs on each replica, only on parameters.
// CHECK-LABEL: func.func @no_inputs(
// CHECK-NOT: dist.scatter
// CHECK: %[[W:.*]] = dist.replicate
// CHECK: dist.parallel_apply @net_2(%[[W]])
func.func @no_inputs(%w: tensor<2x5xf32> {nn.role = "parameter"}) {
  nn.data_parallel "net"() {dim = 0 : i64} : () -> () {
    %0 = nn.print %w text "{0}" : (tensor<2x5xf32>) -> tensor<2x5xf32>
  }
  return
}
