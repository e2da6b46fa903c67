// RUN: sheaf-opt %s -verify-diagnostics -split-input-file

func.func @sum_of_integers(%x: tensor<?x4xi64>) {
  // expected-error @+1 {{computes with floating-point numbers, but an input is int64; declare the model's input as float32}}
  %0 = nn.sum %x {dims = array<i64: 1>, keepdim = false} : (tensor<?x4xi64>) -> tensor<?xi64>
  return
}

// -----

func.func @sum_twice(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{names dimension 1 twice}}
  %0 = nn.sum %x {dims = array<i64: 1, -1>, keepdim = false} : (tensor<?x4xf32>) -> tensor<?xf32>
  return
}

// -----

// Dimensions ascend, and sizes fit.
func.func @descending(%x: tensor<4x6xf32>, %like: tensor<6x4xf32>) {
  // expected-error @+1 {{cannot stretch an input of shape [4, 6] along dimensions [1, 0] of [6, 4]}}
  %0 = nn.broadcast %x like %like {dims = array<i64: 1, 0>} : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @stretch(%x: tensor<3xf32>, %like: tensor<6x4xf32>) {
  // expected-error @+1 {{cannot stretch an input of shape [3] along dimensions [1] of [6, 4]}}
  %0 = nn.broadcast %x like %like {dims = array<i64: 1>} : (tensor<3xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @count(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{expects a dimension between -2 and 1 for an input of shape [?, 4], but got 2}}
  %0 = nn.inverse_count %x {dims = array<i64: 2>} : (tensor<?x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @pad(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{expects a range inside 5 entries, but dimension 1 of [?, 4] begins at 2}}
  %0 = nn.pad %x {dim = 1 : i64, begin = 2 : i64, size = 5 : i64} : (tensor<?x4xf32>) -> tensor<?x5xf32>
  return
}

// -----

func.func @padding_row(%i: tensor<?xi64>, %dy: tensor<?x3xf32>) {
  // expected-error @+1 {{expects a table that holds padding_idx 10, but it has 10 rows}}
  %0 = nn.embedding_backward %i, %dy {num_embeddings = 10 : i64, padding_idx = 10 : i64} : (tensor<?xi64>, tensor<?x3xf32>) -> tensor<10x3xf32>
  return
}

// -----

func.func @padding_of_table(%i: tensor<?xi64>, %w: tensor<10x3xf32>) {
  // expected-error @+1 {{expects a padding_idx inside the table [10, 3], but got 10}}
  %0 = nn.embedding %i, %w {padding_idx = 10 : i64} : (tensor<?xi64>, tensor<10x3xf32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @rows(%i: tensor<?x2xi64>, %dy: tensor<?x3xf32>) {
  // expected-error @+1 {{expects a gradient of shape [?, 2, 3], but got [?, 3]}}
  %0 = nn.embedding_backward %i, %dy {num_embeddings = 10 : i64, padding_idx = -1 : i64} : (tensor<?x2xi64>, tensor<?x3xf32>) -> tensor<10x3xf32>
  return
}

// -----

func.func @no_kind(%x: tensor<?x3xf32>) {
  // expected-error @+1 {{expects an activation with a kind}}
  %0 = nn.activation_backward %x, %x {activation = {}} : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @probability(%x: tensor<?x3xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{expects a probability, but got 1.5}}
  %0 = nn.dropout_train %x step(%s) seed(%s) {p = 1.5 : f64, layer = 7 : i64} : (tensor<?x3xf32>, tensor<i64>, tensor<i64>) -> tensor<?x3xf32>
  return
}

// -----

func.func @seed(%x: tensor<?x3xf32>, %s: tensor<i32>) {
  // expected-error @+1 {{expects a step, a seed and a first row of one int64 each, but got [] of 'i32'}}
  %0 = nn.dropout_train %x step(%s) seed(%s) {p = 0.5 : f64, layer = 7 : i64} : (tensor<?x3xf32>, tensor<i32>, tensor<i32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @slopes(%x: tensor<?x3xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{expects slopes from a lower to an upper one, but got 5.000000e-01 and 2.500000e-01}}
  %0 = nn.rrelu_train %x, %x step(%s) seed(%s) {lower = 0.5 : f64, upper = 0.25 : f64, layer = 7 : i64} : (tensor<?x3xf32>, tensor<?x3xf32>, tensor<i64>, tensor<i64>) -> tensor<?x3xf32>
  return
}

// -----

func.func @other_value(%x: tensor<?x3xf32>, %v: tensor<?x4xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{a value}}
  %0 = nn.rrelu_train %x, %v step(%s) seed(%s) {lower = 0.5 : f64, upper = 0.5 : f64, layer = 7 : i64} : (tensor<?x3xf32>, tensor<?x4xf32>, tensor<i64>, tensor<i64>) -> tensor<?x3xf32>
  return
}

// -----

func.func @real_classes(%t: tensor<?xf32>) {
  // expected-error @+1 {{expects class indices of type int64 or int32, but got 'f32'}}
  %0 = nn.target_weights %t {classes = 3 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?xf32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @counts_of_real_classes(%t: tensor<?xf32>) {
  // expected-error @+1 {{expects class indices of type int64 or int32, but got 'f32'}}
  %0 = nn.target_counts %t {classes = 3 : i64, ignore_index = -100 : i64} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @no_classes(%t: tensor<?xi64>) {
  // expected-error @+1 {{expects at least one class}}
  %0 = nn.target_counts %t {classes = 0 : i64, ignore_index = -100 : i64} : (tensor<?xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @values_of_real_classes(%t: tensor<?xf32>, %x: tensor<?x3xf32>) {
  // expected-error @+1 {{expects class indices of type int64 or int32, but got 'f32'}}
  %0 = nn.target_values %t, %x {ignore_index = -100 : i64} : (tensor<?xf32>, tensor<?x3xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @values_of_unknown_classes(%t: tensor<?xi64>, %x: tensor<?x?xf32>) {
  // expected-error @+1 {{expects float32 values of classes whose number is known}}
  %0 = nn.target_values %t, %x {ignore_index = -100 : i64} : (tensor<?xi64>, tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @values_of_other_targets(%t: tensor<4xi64>, %x: tensor<5x3xf32>) {
  // expected-error @+1 {{expects values of shape [4, 3], but got [5, 3]}}
  %0 = nn.target_values %t, %x {ignore_index = -100 : i64} : (tensor<4xi64>, tensor<5x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @assign(%buffer: tensor<4xf32>, %value: tensor<3xf32>) {
  // expected-error @+1 {{expects a value of shape [4], but got [3]}}
  nn.assign %buffer, %value : tensor<4xf32>, tensor<3xf32>
  return
}

// -----

func.func @momentum(%running: tensor<4xf32>) {
  // expected-error @+1 {{expects a momentum or a number of batches, and not both}}
  %0 = nn.running_average %running, %running : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @increment(%x: tensor<f32>) {
  // expected-error @+1 {{expects an int64, but got 'f32'}}
  %0 = nn.increment %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @norm(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects a sum without dimensions, but got [4]}}
  %0 = nn.clip_coefficient %x {max_norm = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @steps(%step: tensor<f32>) {
  // expected-error @+1 {{expects a number of steps of type int64, but got 'f32'}}
  %0 = nn.bias_correction %step {beta = 0.9 : f64} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @many_steps(%step: tensor<2xi64>) {
  // expected-error @+1 {{expects a number of steps without dimensions, but got [2]}}
  %0 = nn.bias_correction %step {beta = 0.9 : f64} : (tensor<2xi64>) -> tensor<f32>
  return
}

// -----

func.func @beta(%step: tensor<i64>) {
  // expected-error @+1 {{expects a beta of at least 0 and below 1, but got 1}}
  %0 = nn.bias_correction %step {beta = 1.0 : f64} : (tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @moments(%p: tensor<2x3xf32>, %m: tensor<3xf32>) {
  // expected-error @+1 {{expects tensors of shape [3], but got [2, 3]}}
  %0 = nn.adam_first_moment %m, %p, %p {beta = 0.9 : f64, weight_decay = 0.0 : f64, maximize = false} : (tensor<3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @learning_rate(%p: tensor<3xf32>) {
  // expected-error @+1 {{expects a learning rate without dimensions, but got [3]}}
  %0 = nn.sgd_update %p, %p, %p {momentum = 0.0 : f64, weight_decay = 0.0 : f64, maximize = false} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @constant(%n: tensor<i64>) {
  // expected-error @+1 {{expects 3 numbers}}
  %0 = nn.constant [1.0, 2.5] like %n {shape = array<i64: 3>} : (tensor<i64>) -> tensor<3xf32>
  return
}

// -----

func.func @weighted(%x: tensor<?x4xf32>, %q: tensor<?x5xf32>) {
  // expected-error @+1 {{expects a value}}
  %0 = nn.weighted %q, %x : (tensor<?x5xf32>, tensor<?x4xf32>) -> tensor<?x5xf32>
  return
}

// -----

func.func @accumulate(%w: tensor<4xf32>, %n: tensor<i32>) {
  // expected-error @+1 {{expects a number of the micro-batch of type int64}}
  %0 = nn.accumulate %w, %w micro_batch(%n) : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return
}
