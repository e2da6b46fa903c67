// RUN: sheaf-opt %s -verify-diagnostics -split-input-file

// A layout is one of four attributes.
// expected-error @+1 {{expects a layout (#dist.host, #dist.device, #dist.split, #dist.replicated, #dist.partial, #dist.local, #dist.sharded), but got 1}}
func.func private @layout(!dist.tensor<tensor<5xf32>, 1 : i64>)

// -----

// Devices are counted from 0.
// expected-error @+1 {{expects an entry of the device list, but got -1}}
func.func private @device(!dist.tensor<tensor<5xf32>, #dist.device<-1>>)

// -----

// A tensor is split along a dimension that it has.
// expected-error @+1 {{expects a dimension of 'tensor<5xf32>' to split along, but got 1}}
func.func private @split(!dist.tensor<tensor<5xf32>, #dist.split<@g, 1>>)

// -----

// A group is not empty,
// expected-error @+1 {{'dist.group' op expects at least one device}}
dist.group @g {device_ids = array<i64>, dim = 0 : i64, layer = "net"}

// -----

// and on the device list.
// expected-error @+1 {{'dist.group' op expects entries of the device list, but got -2}}
dist.group @g {device_ids = array<i64: 0, -2>, dim = 0 : i64, layer = "net"}

// -----

// A transfer is missing: an op on device 1 cannot take a value on device 0.
func.func @missing_transfer(%x: !dist.tensor<tensor<5xf32>, #dist.device<0>>) {
  // expected-error @+1 {{'dist.apply' op runs on device 1, but has an operand or result on device 0; a transfer is missing}}
  dist.apply on #dist.device<1>(%x) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>) -> () {
  ^bb0(%a: tensor<5xf32>):
  }
  return
}

// -----

// Nor can it return one on the host.
func.func @missing_transfer_back(%x: !dist.tensor<tensor<5xf32>, #dist.device<1>>) {
  // expected-error @+1 {{'dist.apply' op runs on device 1, but has an operand or result on the host; a transfer is missing}}
  %0 = dist.apply on #dist.device<1>(%x) : (!dist.tensor<tensor<5xf32>, #dist.device<1>>) -> !dist.tensor<tensor<5xf32>, #dist.host> {
  ^bb0(%a: tensor<5xf32>):
    dist.yield %a : tensor<5xf32>
  }
  return
}

// -----

// dist.apply runs in one place.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @apply_on_group() {
  // expected-error @+1 {{'dist.apply' op runs on #dist.host or #dist.device<k>, not on #dist.replicated<@g>}}
  dist.apply on #dist.replicated<@g>() : () -> () {
  }
  return
}

// -----

// A scatter or replicate is missing: replicas cannot take a value on one device.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @missing_scatter(%x: !dist.tensor<tensor<?x5xf32>, #dist.device<0>>) {
  // expected-error @+1 {{'dist.parallel_apply' op runs on @g, but has an input on device 0; a scatter or replicate is missing}}
  dist.parallel_apply @g(%x) : (!dist.tensor<tensor<?x5xf32>, #dist.device<0>>) -> () {
  ^bb0(%a: tensor<?x5xf32>):
  }
  return
}

// -----

// Nor one that is split over another group.
dist.group @g {dim = 0 : i64, layer = "net"}
dist.group @h {dim = 0 : i64, layer = "other"}
func.func @other_group(%x: !dist.tensor<tensor<?x5xf32>, #dist.split<@h, 0>>) {
  // expected-error @+1 {{'dist.parallel_apply' op runs on @g, but has an input on the replicas of h; a scatter or replicate is missing}}
  dist.parallel_apply @g(%x) : (!dist.tensor<tensor<?x5xf32>, #dist.split<@h, 0>>) -> () {
  ^bb0(%a: tensor<?x5xf32>):
  }
  return
}

// -----

// Results that replicas compute from different values differ between them.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @replicated_output(%x: !dist.tensor<tensor<5xf32>, #dist.replicated<@g>>, %y: !dist.tensor<tensor<5xf32>, #dist.local<@g>>) {
  // expected-error @+1 {{'dist.parallel_apply' op gives '!dist.tensor<tensor<5xf32>, #dist.replicated<@g>>', but computes it from values that differ between replicas}}
  %0:2 = dist.parallel_apply @g(%x, %y) : (!dist.tensor<tensor<5xf32>, #dist.replicated<@g>>, !dist.tensor<tensor<5xf32>, #dist.local<@g>>) -> (!dist.tensor<tensor<5xf32>, #dist.replicated<@g>>, !dist.tensor<tensor<5xf32>, #dist.replicated<@g>>) {
  ^bb0(%a: tensor<5xf32>, %b: tensor<5xf32>):
    %twice = nn.add %a, %a : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %sum = nn.add %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    dist.yield %twice, %sum : tensor<5xf32>, tensor<5xf32>
  }
  return
}

// -----

// Outputs stay with the replicas.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @output_elsewhere(%x: !dist.tensor<tensor<5xf32>, #dist.replicated<@g>>) {
  // expected-error @+1 {{'dist.parallel_apply' op expects outputs split over, partial, local, replicated or sharded on @g}}
  %0 = dist.parallel_apply @g(%x) : (!dist.tensor<tensor<5xf32>, #dist.replicated<@g>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<5xf32>):
    dist.yield %a : tensor<5xf32>
  }
  return
}

// -----

// Named groups must exist.
func.func @no_group() {
  // expected-error @+1 {{'dist.parallel_apply' op names group @g, which does not exist}}
  dist.parallel_apply @g() : () -> () {
  }
  return
}

// -----

// In movements too.
func.func @scatter_no_group(%x: !dist.tensor<tensor<?x5xf32>, #dist.host>) {
  // expected-error @+1 {{'dist.scatter' op names group @g, which does not exist}}
  %0 = dist.scatter %x {reason = "because"} : <tensor<?x5xf32>, #dist.host> -> <tensor<?x5xf32>, #dist.split<@g, 0>>
  return
}

// -----

// A body takes its op's inputs, each with the tensor that its place sees.
func.func @body_inputs(%x: !dist.tensor<tensor<5xf32>, #dist.host>) {
  // expected-error @+1 {{'dist.apply' op expects a body with 1 arguments that yields 0 values}}
  dist.apply on #dist.host(%x) : (!dist.tensor<tensor<5xf32>, #dist.host>) -> () {
  }
  return
}

// -----

// Not another one.
func.func @body_input_type(%x: !dist.tensor<tensor<5xf32>, #dist.host>) {
  // expected-error @+1 {{'dist.apply' op has an input '!dist.tensor<tensor<5xf32>, #dist.host>' that its body takes as 'tensor<6xf32>'}}
  dist.apply on #dist.host(%x) : (!dist.tensor<tensor<5xf32>, #dist.host>) -> () {
  ^bb0(%a: tensor<6xf32>):
  }
  return
}

// -----

// It yields its op's outputs.
func.func @body_output_type(%x: !dist.tensor<tensor<5xf32>, #dist.host>) {
  // expected-error @+1 {{'dist.apply' op has an output '!dist.tensor<tensor<6xf32>, #dist.host>' that its body yields as 'tensor<5xf32>'}}
  %0 = dist.apply on #dist.host(%x) : (!dist.tensor<tensor<5xf32>, #dist.host>) -> !dist.tensor<tensor<6xf32>, #dist.host> {
  ^bb0(%a: tensor<5xf32>):
    dist.yield %a : tensor<5xf32>
  }
  return
}

// -----

// It sees nothing else.
func.func @isolated(%x: tensor<5xf32>) {
  // expected-note @+1 {{required by region isolation constraints}}
  dist.apply on #dist.host() : () -> () {
    // expected-error @+1 {{using value defined outside the region}}
    %0 = nn.relu %x : (tensor<5xf32>) -> tensor<5xf32>
  }
  return
}

// -----

// A movement without a reason tells a dump's reader nothing.
func.func @reason(%x: !dist.tensor<tensor<5xf32>, #dist.host>) {
  // expected-error @+1 {{'dist.transfer' op expects a reason}}
  %0 = dist.transfer %x {reason = ""} : <tensor<5xf32>, #dist.host> -> <tensor<5xf32>, #dist.device<0>>
  return
}

// -----

// A transfer changes only the place.
func.func @transfer(%x: !dist.tensor<tensor<5xf32>, #dist.host>) {
  // expected-error @+1 {{'dist.transfer' op moves a tensor between the host and devices, not from '!dist.tensor<tensor<5xf32>, #dist.host>' to '!dist.tensor<tensor<5x1xf32>, #dist.device<0>>'}}
  %0 = dist.transfer %x {reason = "because"} : <tensor<5xf32>, #dist.host> -> <tensor<5x1xf32>, #dist.device<0>>
  return
}

// -----

// It doesn't go to groups.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @transfer_to_group(%x: !dist.tensor<tensor<5xf32>, #dist.host>) {
  // expected-error @+1 {{'dist.transfer' op moves a tensor between the host and devices}}
  %0 = dist.transfer %x {reason = "because"} : <tensor<5xf32>, #dist.host> -> <tensor<5xf32>, #dist.replicated<@g>>
  return
}

// -----

// A scatter gives chunks, whose size depends on the devices.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @chunk(%x: !dist.tensor<tensor<8x5xf32>, #dist.host>) {
  // expected-error @+1 {{'dist.scatter' op expects a chunk of 'tensor<8x5xf32>' along dimension 0, but got 'tensor<8x5xf32>'}}
  %0 = dist.scatter %x {reason = "because"} : <tensor<8x5xf32>, #dist.host> -> <tensor<8x5xf32>, #dist.split<@g, 0>>
  return
}

// -----

// Along one dimension.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @chunk_elsewhere(%x: !dist.tensor<tensor<?x5xf32>, #dist.host>) {
  // expected-error @+1 {{'dist.scatter' op expects a chunk of 'tensor<?x5xf32>' along dimension 0, but got 'tensor<?x?xf32>'}}
  %0 = dist.scatter %x {reason = "because"} : <tensor<?x5xf32>, #dist.host> -> <tensor<?x?xf32>, #dist.split<@g, 0>>
  return
}

// -----

// A number has no chunks.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @scatter_number(%x: !dist.tensor<tensor<f32>, #dist.host>) {
  // expected-error @+1 {{'dist.scatter' op expects a chunk of 'tensor<f32>' along dimension 0, but got 'tensor<f32>'}}
  %0 = dist.scatter %x {reason = "because"} : <tensor<f32>, #dist.host> -> <tensor<f32>, #dist.split<@g, 0>>
  return
}

// -----

// A value that is split already cannot be scattered: it must be gathered first.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @scatter_split(%x: !dist.tensor<tensor<?x5xf32>, #dist.split<@g, 0>>) {
  // expected-error @+1 {{'dist.scatter' op goes from the host or a device to a split layout}}
  %0 = dist.scatter %x {reason = "because"} : <tensor<?x5xf32>, #dist.split<@g, 0>> -> <tensor<?x5xf32>, #dist.split<@g, 0>>
  return
}

// -----

// Copies are whole.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @replicate(%x: !dist.tensor<tensor<8x5xf32>, #dist.device<0>>) {
  // expected-error @+1 {{'dist.replicate' op goes from the host or a device to the same tensor on each replica}}
  %0 = dist.replicate %x {reason = "because"} : <tensor<8x5xf32>, #dist.device<0>> -> <tensor<?x5xf32>, #dist.replicated<@g>>
  return
}

// -----

// A replicated value need not be gathered.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @gather_replicated(%x: !dist.tensor<tensor<5xf32>, #dist.replicated<@g>>) {
  // expected-error @+1 {{'dist.gather' op goes from a split layout to the host or a device}}
  %0 = dist.gather %x {reason = "because"} : <tensor<5xf32>, #dist.replicated<@g>> -> <tensor<5xf32>, #dist.host>
  return
}

// -----

// A gather changes only the dimension that was split.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @gather(%x: !dist.tensor<tensor<?x5xf32>, #dist.split<@g, 0>>) {
  // expected-error @+1 {{'dist.gather' op concatenates 'tensor<?x5xf32>' along dimension 0, but gives 'tensor<?x6xf32>'}}
  %0 = dist.gather %x {reason = "because"} : <tensor<?x5xf32>, #dist.split<@g, 0>> -> <tensor<?x6xf32>, #dist.host>
  return
}

// -----

// Numbers gather to a vector.
dist.group @g {dim = 0 : i64, layer = "net"}
func.func @gather_numbers(%x: !dist.tensor<tensor<f32>, #dist.split<@g, 0>>) {
  // expected-error @+1 {{'dist.gather' op concatenates 'tensor<f32>' along dimension 0, but gives 'tensor<f32>'}}
  %0 = dist.gather %x {reason = "because"} : <tensor<f32>, #dist.split<@g, 0>> -> <tensor<f32>, #dist.host>
  return
}

// -----

// yield ends a body of this dialect.
func.func @yield(%x: tensor<5xf32>) {
  // expected-error @+1 {{'dist.yield' op expects parent op to be one of 'dist.apply, dist.parallel_apply'}}
  dist.yield %x : tensor<5xf32>
}

// -----

dist.group @g {dim = 0 : i64, layer = "net"}
func.func @no_sum(%x: !dist.tensor<tensor<5xf32>, #dist.local<@g>>) {
  // expected-error @+1 {{'dist.reduce' op goes from partial sums to the same tensor on the host or a device}}
  %0 = dist.reduce %x {reason = "r"} : <tensor<5xf32>, #dist.local<@g>> -> <tensor<5xf32>, #dist.device<0>>
  return
}

// -----

dist.group @g {dim = 0 : i64, layer = "net"}
func.func @sum_of_first(%x: !dist.tensor<tensor<5xf32>, #dist.partial<@g>>) {
  // expected-error @+1 {{'dist.first' op goes from the replicas' values to the same tensor on the host or a device}}
  %0 = dist.first %x {reason = "r"} : <tensor<5xf32>, #dist.partial<@g>> -> <tensor<5xf32>, #dist.host>
  return
}

// -----

dist.group @g {dim = 0 : i64, layer = "net"}
func.func @unlike(%x: !dist.tensor<tensor<?x5xf32>, #dist.host>, %y: !dist.tensor<tensor<?x4xf32>, #dist.split<@g, 0>>) {
  // expected-error @+1 {{'dist.scatter' op expects a result like}}
  %0 = dist.scatter %x like %y : !dist.tensor<tensor<?x4xf32>, #dist.split<@g, 0>> {reason = "r"} : <tensor<?x5xf32>, #dist.host> -> <tensor<?x5xf32>, #dist.split<@g, 0>>
  return
}

// -----

dist.group @g {dim = 0 : i64, layer = "net"}
dist.group @h {dim = 0 : i64, layer = "other"}
func.func @sums_elsewhere(%x: !dist.tensor<tensor<5xf32>, #dist.partial<@g>>) {
  // expected-error @+1 {{'dist.all_reduce' op goes from partial sums to the same tensor on each of the replicas}}
  %0 = dist.all_reduce %x {reason = "r"} : <tensor<5xf32>, #dist.partial<@g>> -> <tensor<5xf32>, #dist.replicated<@h>>
  return
}

// -----

dist.group @g {dim = 0 : i64, layer = "net"}
func.func @share_of_what_differs(%x: !dist.tensor<tensor<5xf32>, #dist.partial<@g>>) {
  // expected-error @+1 {{'dist.shard' op goes from what each replica has to its share of the same tensor}}
  %0 = dist.shard %x {reason = "r"} : <tensor<5xf32>, #dist.partial<@g>> -> <tensor<5xf32>, #dist.sharded<@g>>
  return
}

// -----

dist.group @g {dim = 0 : i64, layer = "net"}
func.func @gathers_a_copy(%x: !dist.tensor<tensor<5xf32>, #dist.replicated<@g>>) {
  // expected-error @+1 {{'dist.all_gather' op goes from the replicas' shares to the same tensor on each of them}}
  %0 = dist.all_gather %x {reason = "r"} : <tensor<5xf32>, #dist.replicated<@g>> -> <tensor<5xf32>, #dist.replicated<@g>>
  return
}

// -----

dist.group @g {dim = 0 : i64, layer = "net"}
func.func @scatters_elsewhere(%x: !dist.tensor<tensor<5xf32>, #dist.partial<@g>>) {
  // expected-error @+1 {{'dist.reduce_scatter' op goes from partial sums to the replicas' shares of the same tensor}}
  %0 = dist.reduce_scatter %x {reason = "r"} : <tensor<5xf32>, #dist.partial<@g>> -> <tensor<4xf32>, #dist.sharded<@g>>
  return
}

// -----

// A share of a size known only during the run.
// expected-error @+1 {{expects a tensor of known size to keep in shares}}
func.func private @unknown(!dist.tensor<tensor<?xf32>, #dist.sharded<@g>>)

// -----

dist.group @g {dim = 0 : i64, layer = "net"}
func.func @whole_of_shares(%x: !dist.tensor<tensor<5xf32>, #dist.sharded<@g>>) {
  // expected-error @+1 {{but computes it from shares; an all_gather is missing}}
  %0 = dist.parallel_apply @g(%x) : (!dist.tensor<tensor<5xf32>, #dist.sharded<@g>>) -> !dist.tensor<tensor<5xf32>, #dist.local<@g>> {
  ^bb0(%a: tensor<5xf32>):
    dist.yield %a : tensor<5xf32>
  }
  return
}

// -----

dist.group @g {dim = 0 : i64, layer = "net"}
func.func @share_of_nothing(%x: !dist.tensor<tensor<5xf32>, #dist.replicated<@g>>) {
  // expected-error @+1 {{but doesn't compute it only from shares and values that all replicas have}}
  %0 = dist.parallel_apply @g(%x) : (!dist.tensor<tensor<5xf32>, #dist.replicated<@g>>) -> !dist.tensor<tensor<5xf32>, #dist.sharded<@g>> {
  ^bb0(%a: tensor<5xf32>):
    dist.yield %a : tensor<5xf32>
  }
  return
}
