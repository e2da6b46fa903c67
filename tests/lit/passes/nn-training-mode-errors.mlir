// RUN: sheaf-opt %s --nn-training-mode --split-input-file --verify-diagnostics

func.func @no_buffer(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}, %m: tensor<4xf32> {nn.name = "m", nn.role = "buffer"}) -> tensor<?x4xf32> {
  %half = nn.scale %m {value = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{has running statistics that are no buffer}}
  %y = nn.batch_norm %x mean(%half) var(%m) {eps = 1.0e-5 : f64} : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @real_classes(%x: tensor<?x10xf32>, %t: tensor<?xf32>) {
  // expected-error @+1 {{takes class indices of type int64 or int32 as its target; its target is float32}}
  %l = nn.loss "NLLLoss" %x, %t {arguments = {}} : (tensor<?x10xf32>, tensor<?xf32>) -> tensor<f32>
  return
}

// -----

func.func @probabilities_of_other_classes(%x: tensor<?x10xf32>, %t: tensor<?xf32>) {
  // expected-error @+1 {{takes scores and a target of probabilities of one shape, but they are [?, 10] and [?]; class numbers are an int64 target}}
  %l = nn.loss "CrossEntropyLoss" %x, %t {arguments = {}} : (tensor<?x10xf32>, tensor<?xf32>) -> tensor<f32>
  return
}

// -----

func.func @probabilities_ignored(%x: tensor<?x10xf32>, %t: tensor<?x10xf32>) {
  // expected-error @+1 {{has no 'ignore_index' if the target is probabilities}}
  %l = nn.loss "CrossEntropyLoss" %x, %t {arguments = {ignore_index = 3 : i64}} : (tensor<?x10xf32>, tensor<?x10xf32>) -> tensor<f32>
  return
}

// -----

func.func @other_shape(%x: tensor<?x2xf32>, %t: tensor<?x3xf32>) {
  // expected-error @+1 {{takes a value and a target of one shape}}
  %l = nn.loss "MSELoss" %x, %t {arguments = {}} : (tensor<?x2xf32>, tensor<?x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @number_of_inputs(%x: tensor<?x2xf32>, %t: tensor<?x2xf32>) {
  // expected-error @+1 {{takes 3 inputs, but has 2}}
  %l = nn.loss "MarginRankingLoss" %x, %t {arguments = {}} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
  return
}

// -----

func.func @a_target_for_each_vector(%x: tensor<?x2xf32>, %t: tensor<?x2xf32>) {
  // expected-error @+1 {{takes a target of shape}}
  %l = nn.loss "CosineEmbeddingLoss" %x, %x, %t {arguments = {}} : (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
  return
}

// -----

func.func @images(%x: tensor<?x10x4xf32>, %t: tensor<?x5xi64>) {
  // expected-error @+1 {{takes scores of shape}}
  %l = nn.loss "NLLLoss" %x, %t {arguments = {}} : (tensor<?x10x4xf32>, tensor<?x5xi64>) -> tensor<f32>
  return
}

// -----

func.func @other_classes(%x: tensor<?x3xf32>, %t: tensor<?xi64>) {
  // expected-error @+1 {{has 2 numbers in 'weight', but the dimension of the classes has 3}}
  %l = nn.loss "CrossEntropyLoss" %x, %t {arguments = {weight = [1.0, 2.0]}} : (tensor<?x3xf32>, tensor<?xi64>) -> tensor<f32>
  return
}

// -----

func.func @other_features(%x: tensor<?x3xf32>, %t: tensor<?x3xf32>) {
  // expected-error @+1 {{has 2 numbers in 'pos_weight', but the last dimension has 3}}
  %l = nn.loss "BCEWithLogitsLoss" %x, %t {arguments = {pos_weight = [1.0, 2.0]}} : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<f32>
  return
}
