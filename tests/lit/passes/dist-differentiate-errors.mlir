// RUN: sheaf-opt %s --dist-differentiate -verify-diagnostics -split-input-file

// Parameters that the loss doesn't depend on are named once.
// expected-warning @+1 {{the loss doesn't depend on y, z; training leaves them as they are}}
func.func @unreached(%x: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %y: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "y"}, %z: !dist.tensor<tensor<2xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "z"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %y, %z) : (!dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>, !dist.tensor<tensor<2xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<4xf32>, %y_: tensor<4xf32>, %z_: tensor<2xf32>):
    %loss = nn.sum %x_ {dims = array<i64: 0>, keepdim = false} : (tensor<4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// -----

// expected-error @+1 {{the loss depends on no parameter: there is nothing to train}}
func.func @nothing(%x: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.role = "input", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<4xf32>):
    %loss = nn.sum %x_ {dims = array<i64: 0>, keepdim = false} : (tensor<4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// -----

// A training program cannot contain a folded batch norm.
func.func @inference_only(%w: !dist.tensor<tensor<3x2xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %v: !dist.tensor<tensor<3xf32>, #dist.device<0>> {nn.role = "buffer", nn.name = "v"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%w, %v) : (!dist.tensor<tensor<3x2xf32>, #dist.device<0>>, !dist.tensor<tensor<3xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%w_: tensor<3x2xf32>, %v_: tensor<3xf32>):
    // expected-error @+1 {{has no gradient: the loss cannot be trained through it}}
    %y = nn.fold_weight %w_ var(%v_) {axis = 0 : i64, eps = 1.0e-5 : f64} : (tensor<3x2xf32>, tensor<3xf32>) -> tensor<3x2xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<3x2xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// -----

// The statistics of a batch go to the running ones, and not to the loss.
func.func @statistics(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    // expected-error @+1 {{has no gradient of the statistics themselves}}
    %all, %y, %v = nn.batch_norm_train %x_ {eps = 1.0e-5 : f64} : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %loss = nn.sum %y {dims = array<i64: 0>, keepdim = false} : (tensor<4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// -----

// Fusion comes after differentiation.
func.func @fused(%x: !dist.tensor<tensor<?x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %w: !dist.tensor<tensor<2x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %w) : (!dist.tensor<tensor<?x5xf32>, #dist.device<0>>, !dist.tensor<tensor<2x5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x5xf32>, %w_: tensor<2x5xf32>):
    // expected-error @+1 {{has no gradient once an activation or a residual is fused into it}}
    %y = nn.linear %x_, %w_ {activation = {kind = "relu"}} : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x2xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// -----

func.func @residual(%x: !dist.tensor<tensor<?x4x9xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %w: !dist.tensor<tensor<4x4x1xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %w) : (!dist.tensor<tensor<?x4x9xf32>, #dist.device<0>>, !dist.tensor<tensor<4x4x1xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4x9xf32>, %w_: tensor<4x4x1xf32>):
    // expected-error @+1 {{has no gradient once an activation or a residual is fused into it}}
    %y = nn.conv %x_, %w_ residual(%x_) {stride = array<i64: 1>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<?x4x9xf32>, tensor<4x4x1xf32>, tensor<?x4x9xf32>) -> tensor<?x4x9xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<?x4x9xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// -----

// nn-lower-layers gives convolutions a batch dimension.
func.func @conv(%x: !dist.tensor<tensor<4x9xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %w: !dist.tensor<tensor<4x4x1xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %w) : (!dist.tensor<tensor<4x9xf32>, #dist.device<0>>, !dist.tensor<tensor<4x4x1xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<4x9xf32>, %w_: tensor<4x4x1xf32>):
    // expected-error @+1 {{has no gradient without a batch dimension: nn-lower-layers adds it}}
    %y = nn.conv %x_, %w_ {stride = array<i64: 1>, padding_begin = array<i64: 0>, padding_end = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<4x9xf32>, tensor<4x4x1xf32>) -> tensor<4x9xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<4x9xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// -----

func.func @conv_transpose(%x: !dist.tensor<tensor<4x9xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}, %w: !dist.tensor<tensor<4x4x1xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x, %w) : (!dist.tensor<tensor<4x9xf32>, #dist.device<0>>, !dist.tensor<tensor<4x4x1xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<4x9xf32>, %w_: tensor<4x4x1xf32>):
    // expected-error @+1 {{has no gradient without a batch dimension: nn-lower-layers adds it}}
    %y = nn.conv_transpose %x_, %w_ {stride = array<i64: 1>, padding = array<i64: 0>, output_padding = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<4x9xf32>, tensor<4x4x1xf32>) -> tensor<4x9xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<4x9xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// -----

// The beginning of a part must be known.
func.func @concat(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    // expected-error @+1 {{has no gradient along dimension 0, which depends on the batch; a number in its place mends it}}
    %y = nn.concat %x_, %x_ {dim = 0 : i64} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// -----

func.func @slice(%x: !dist.tensor<tensor<?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x4xf32>):
    // expected-error @+1 {{has no gradient along a dimension that depends on the batch}}
    %y = nn.slice %x_ {dim = 0 : i64, begin = 0 : i64, size = 1 : i64} : (tensor<?x4xf32>) -> tensor<1x4xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<1x4xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// -----

func.func @reshape(%x: !dist.tensor<tensor<?x?x4xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<?x?x4xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<?x?x4xf32>):
    // expected-error @+1 {{has no gradient where several sizes depend on the batch}}
    %y = nn.flatten %x_ {start_dim = 1 : i64, end_dim = 2 : i64} : (tensor<?x?x4xf32>) -> tensor<?x?xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x?xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}

// -----

func.func @group_norm(%x: !dist.tensor<tensor<2x4x?xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<2x4x?xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%x_: tensor<2x4x?xf32>):
    // expected-error @+1 {{has no gradient where channels or space depend on the batch}}
    %y = nn.group_norm %x_ {num_groups = 2 : i64, eps = 1.0e-5 : f64} : (tensor<2x4x?xf32>) -> tensor<2x4x?xf32>
    %loss = nn.sum %y {dims = array<i64: 0, 1, 2>, keepdim = false} : (tensor<2x4x?xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}
