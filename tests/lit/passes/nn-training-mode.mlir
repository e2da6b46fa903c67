// RUN: sheaf-opt %s --nn-training-mode | FileCheck %s

// A batch norm uses its batch's statistics; the running ones, and the count of batches, are assigned.
// CHECK-LABEL: func.func @batch_norm(
func.func @batch_norm(%x: tensor<?x4x8x8xf32> {nn.name = "x", nn.role = "input"}, %m: tensor<4xf32> {nn.name = "bn.running_mean", nn.role = "buffer"},
                      %v: tensor<4xf32> {nn.name = "bn.running_var", nn.role = "buffer"}, %n: tensor<i64> {nn.name = "bn.num_batches_tracked", nn.role = "buffer"}) -> tensor<?x4x8x8xf32> {
  // CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[VAR:.*]] = nn.batch_norm_train
  // CHECK: %[[N:.*]] = nn.increment %arg3
  // CHECK: nn.assign %arg3, %[[N]]
  // CHECK: %[[INVERSE:.*]] = nn.inverse_count %arg0 {dims = array<i64: 0, 2, 3>}
  // CHECK: %[[RM:.*]] = nn.running_average %arg1, %[[MEAN]] {momentum = 1.000000e-01 : f64}
  // CHECK: nn.assign %arg1, %[[RM]]
  // CHECK: %[[RV:.*]] = nn.running_average %arg2, %[[VAR]] inverse_count(%[[INVERSE]]) {momentum = 1.000000e-01 : f64}
  // CHECK: nn.assign %arg2, %[[RV]]
  %y = nn.batch_norm %x mean(%m) var(%v) {eps = 1.0e-5 : f64, nn.momentum = 0.1 : f64} : (tensor<?x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x8x8xf32>
  // CHECK: return %[[Y]]
  return %y : tensor<?x4x8x8xf32>
}

// Without a momentum the running statistics are averages over all batches so far.
// CHECK-LABEL: func.func @average(
func.func @average(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}, %m: tensor<4xf32> {nn.name = "bn.running_mean", nn.role = "buffer"},
                   %v: tensor<4xf32> {nn.name = "bn.running_var", nn.role = "buffer"}, %n: tensor<i64> {nn.name = "bn.num_batches_tracked", nn.role = "buffer"}) -> tensor<?x4xf32> {
  // CHECK: %[[N:.*]] = nn.increment
  // CHECK: nn.running_average %arg1, %{{.*}} num_batches(%[[N]])
  %y = nn.batch_norm %x mean(%m) var(%v) {eps = 1.0e-5 : f64} : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// A dropout's mask comes from two settings, which become arguments; without a probability it disappears.
// CHECK-LABEL: func.func @dropout(
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: tensor<i64> {nn.name = "step", nn.role = "setting"}, %[[SEED:[a-z0-9]+]]: tensor<i64> {nn.name = "seed", nn.role = "setting"}
func.func @dropout(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}) -> tensor<?x4xf32> {
  // CHECK: %[[Y:.*]] = nn.dropout_train %{{.*}} step(%[[STEP]]) seed(%[[SEED]]) {layer = {{.*}}, p = 5.000000e-01 : f64}
  %y = nn.dropout %x {p = 0.5 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %z = nn.dropout %y {p = 0.0 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: return %[[Y]]
  return %z : tensor<?x4xf32>
}

// An RReLU's slopes come from the same settings; a leaky ReLU has none to draw.
// CHECK-LABEL: func.func @rrelu(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x4xf32> {{{.*}}}, %[[STEP:[a-z0-9]+]]: tensor<i64> {nn.name = "step", nn.role = "setting"}, %[[SEED:[a-z0-9]+]]: tensor<i64> {nn.name = "seed", nn.role = "setting"}
func.func @rrelu(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}) -> tensor<?x4xf32> {
  // CHECK: %[[Y:.*]] = nn.rrelu_train %[[X]], %[[X]] step(%[[STEP]]) seed(%[[SEED]]) {layer = {{.*}}, lower = 1.000000e-01 : f64, upper = 3.000000e-01 : f64}
  %y = nn.leaky_relu %x {negative_slope = 0.2 : f64, nn.slopes = array<f64: 0.1, 0.3>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.leaky_relu %[[Y]]
  %z = nn.leaky_relu %y {negative_slope = 0.2 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %z : tensor<?x4xf32>
}

// With a length, too.
// CHECK-LABEL: func.func @rrelu_of_a_length(
func.func @rrelu_of_a_length(%x: tensor<?x?x4xf32> {nn.name = "x", nn.role = "input", nn.extents = ["batch", "seq", "4"]}) -> tensor<?x?x4xf32>
    attributes {nn.lengths = {seq = 0 : i64}} {
  // CHECK: nn.rrelu_train %arg0, %arg0 step(%arg1) seed(%arg2) {{.*}} : (tensor<?x?x4xf32>, tensor<?x?x4xf32>, tensor<i64>, tensor<i64>) -> tensor<?x?x4xf32>
  %y = nn.leaky_relu %x {negative_slope = 0.2 : f64, nn.slopes = array<f64: 0.1, 0.3>} : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  return %y : tensor<?x?x4xf32>
}

// Cross entropy: the weighted mean of -q·log p, with the weights of the rows that count.
// CHECK-LABEL: func.func @cross_entropy(
func.func @cross_entropy(%x: tensor<?x10xf32> {nn.name = "x", nn.role = "input"}, %t: tensor<?xi64> {nn.name = "y", nn.role = "target"}) -> tensor<f32> {
  // CHECK: %[[LOG:.*]] = nn.softmax %arg0 {dim = 1 : i64, log = true}
  // CHECK: %[[Q:.*]] = nn.target_weights %arg1 {classes = 10 : i64, ignore_index = -100 : i64, label_smoothing = 1.000000e-01 : f64}
  // CHECK: %[[EACH:.*]] = nn.weighted %[[Q]], %[[LOG]]
  // CHECK: %[[SUM:.*]] = nn.sum %[[EACH]] {dims = array<i64: 0, 1>, keepdim = false}
  // CHECK: %[[TOTAL:.*]] = nn.scale %[[SUM]] {value = -1.000000e+00 : f64}
  // CHECK: %[[ONES:.*]] = nn.target_weights %arg1 {classes = 10 : i64, ignore_index = -100 : i64, label_smoothing = 0.000000e+00 : f64}
  // CHECK: %[[COUNT:.*]] = nn.sum %[[ONES]]
  // CHECK: nn.div %[[TOTAL]], %[[COUNT]]
  %l = nn.loss "CrossEntropyLoss" %x, %t {arguments = {ignore_index = -100 : i64, label_smoothing = 0.1 : f64, reduction = "mean"}} : (tensor<?x10xf32>, tensor<?xi64>) -> tensor<f32>
  return %l : tensor<f32>
}

// CHECK-LABEL: func.func @sum_of_squares(
func.func @sum_of_squares(%x: tensor<?x2xf32> {nn.name = "x", nn.role = "input"}, %t: tensor<?x2xf32> {nn.name = "y", nn.role = "target"}) -> tensor<f32> {
  // CHECK: %[[EACH:.*]] = nn.map "mse_loss" %arg0, %arg1
  // CHECK: nn.sum %[[EACH]]
  %l = nn.loss "MSELoss" %x, %t {arguments = {reduction = "sum"}} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// CHECK-LABEL: func.func @by_the_batch(
func.func @by_the_batch(%x: tensor<?x2xf32> {nn.name = "x", nn.role = "input"}, %t: tensor<?x2xf32> {nn.name = "y", nn.role = "target"}) -> tensor<f32> {
  // CHECK: %[[EACH:.*]] = nn.map "kl_div" %arg0, %arg1 {numbers = array<f64: 1.000000e+00>}
  // CHECK: %[[SUM:.*]] = nn.sum %[[EACH]]
  // CHECK: %[[ROWS:.*]] = nn.inverse_count %arg1 {dims = array<i64: 0>}
  // CHECK: nn.mul %[[SUM]], %[[ROWS]]
  %l = nn.loss "KLDivLoss" %x, %t {arguments = {reduction = "batchmean", log_target = true}} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// A triplet's distances are norms along the last dimension; none of its inputs is a target.
// CHECK-LABEL: func.func @triplet(
func.func @triplet(%a: tensor<?x2xf32> {nn.name = "a", nn.role = "input"}, %p: tensor<?x2xf32> {nn.name = "p", nn.role = "input"},
                   %n: tensor<?x2xf32> {nn.name = "n", nn.role = "input"}) -> tensor<f32> {
  // CHECK: nn.map "sub" %arg0, %arg2
  // CHECK: nn.map "power_of_size"
  // CHECK: nn.sum {{.*}} -> tensor<?xf32>
  // CHECK: %[[NEGATIVE:.*]] = nn.map "norm_root"
  // CHECK: nn.map "sub" %arg0, %arg1
  // CHECK: %[[POSITIVE:.*]] = nn.map "norm_root"
  // CHECK: %[[EACH:.*]] = nn.map "triplet_margin_loss" %[[POSITIVE]], %[[NEGATIVE]] {numbers = array<f64: 1.000000e+00>}
  // CHECK: nn.mean %[[EACH]]
  %l = nn.loss "TripletMarginLoss" %a, %p, %n {arguments = {margin = 1.0, p = 2.0, eps = 1.0e-6, swap = false, reduction = "mean"}} : (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// Margins to one class: its own score is picked out by its weight, and counts for no margin.
// CHECK-LABEL: func.func @multi_margin(
func.func @multi_margin(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}, %t: tensor<?xi64> {nn.name = "y", nn.role = "target"}) -> tensor<f32> {
  // CHECK: %[[Q:.*]] = nn.target_weights %arg1
  // CHECK: %[[OWN:.*]] = nn.weighted %[[Q]], %arg0
  // CHECK: %[[SCORE:.*]] = nn.sum %[[OWN]] {{.*}} -> tensor<?x1xf32>
  // CHECK: %[[D:.*]] = nn.sub %arg0, %[[SCORE]]
  // CHECK: %[[M:.*]] = nn.map "add" %[[D]] {numbers = array<f64: 5.000000e-01>}
  // CHECK: %[[H:.*]] = nn.relu %[[M]]
  // CHECK: %[[SQUARE:.*]] = nn.mul %[[H]], %[[H]]
  // CHECK: %[[MINUS:.*]] = nn.map "neg" %[[Q]]
  // CHECK: %[[OTHERS:.*]] = nn.map "add" %[[MINUS]] {numbers = array<f64: 1.000000e+00>}
  // CHECK: %[[EACH:.*]] = nn.weighted %[[OTHERS]], %[[SQUARE]]
  // CHECK: %[[ROWS:.*]] = nn.sum %[[EACH]] {{.*}} -> tensor<?xf32>
  // CHECK: %[[SHARE:.*]] = nn.map "mul" %[[ROWS]] {numbers = array<f64: 2.500000e-01>}
  // CHECK: nn.mean %[[SHARE]]
  %l = nn.loss "MultiMarginLoss" %x, %t {arguments = {margin = 0.5, p = 2 : i64, reduction = "mean"}} : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<f32>
  return %l : tensor<f32>
}

// Margins to several classes: of all pairs of a target and a class that is none.
// CHECK-LABEL: func.func @multi_label_margin(
func.func @multi_label_margin(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}, %t: tensor<?x4xi64> {nn.name = "y", nn.role = "target"}) -> tensor<f32> {
  // CHECK: %[[ENDS:.*]] = nn.cum_sum
  // CHECK: %[[SOME:.*]] = nn.map "clamp" %[[ENDS]]
  // CHECK: %[[INDEX:.*]] = nn.map "clamp" %arg1
  // CHECK: nn.scatter_elements %[[INDEX]], {{.*}} {add
  // CHECK: nn.gather_elements %[[INDEX]], %arg0
  // CHECK: nn.weighted {{.*}} -> tensor<?x4x4xf32>
  %l = nn.loss "MultiLabelMarginLoss" %x, %t {arguments = {reduction = "sum"}} : (tensor<?x4xf32>, tensor<?x4xi64>) -> tensor<f32>
  return %l : tensor<f32>
}

// A CTC loss keeps 2S + 1 states for each row and time, as many as there are labels; how many isn't known here.
// CHECK-LABEL: func.func @sequences(
func.func @sequences(%x: tensor<?x?x5xf32> {nn.name = "x", nn.role = "input"}, %t: tensor<?x3xi64> {nn.name = "y", nn.role = "target"},
                     %u: tensor<?x?xi64> {nn.name = "z", nn.role = "target"}, %n: tensor<?xi64> {nn.name = "n", nn.role = "input"}) -> (tensor<f32>, tensor<f32>) {
  // CHECK: nn.ctc_loss %arg0, %arg1, {{.*}} -> (tensor<?xf32>, tensor<?x?x7xf32>)
  %l = nn.loss "CTCLoss" %x, %t, %n, %n {arguments = {blank = 0 : i64, reduction = "sum", zero_infinity = false}} : (tensor<?x?x5xf32>, tensor<?x3xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<f32>
  // CHECK: nn.ctc_loss %arg0, %arg2, {{.*}} -> (tensor<?xf32>, tensor<?x?x?xf32>)
  %m = nn.loss "CTCLoss" %x, %u, %n, %n {arguments = {blank = 0 : i64, reduction = "sum", zero_infinity = false}} : (tensor<?x?x5xf32>, tensor<?x?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<f32>
  return %l, %m : tensor<f32>, tensor<f32>
}

// An attention that drops some of its weights is lowered, with a dropout between softmax and the second product.
// CHECK-LABEL: func.func @attention(
func.func @attention(%x: tensor<?x3x8xf32> {nn.name = "x", nn.role = "input"}, %wi: tensor<24x8xf32> {nn.name = "wi", nn.role = "parameter"},
                     %wo: tensor<8x8xf32> {nn.name = "wo", nn.role = "parameter"}) -> tensor<?x3x8xf32> {
  // CHECK: %[[SOFTMAX:.*]] = nn.softmax
  // CHECK: %[[DROPPED:.*]] = nn.dropout_train %[[SOFTMAX]] {{.*}}p = 1.000000e-01
  // CHECK: nn.matmul %[[DROPPED]],
  // CHECK-NOT: nn.multihead_attention
  %y, %weights = nn.multihead_attention %x, %x, %x in_proj(%wi) out_proj(%wo) {num_heads = 2 : i64, batch_first = true, nn.dropout = 0.1 : f64} : (tensor<?x3x8xf32>, tensor<?x3x8xf32>, tensor<?x3x8xf32>, tensor<24x8xf32>, tensor<8x8xf32>) -> (tensor<?x3x8xf32>, tensor<?x3x3xf32>)
  return %y : tensor<?x3x8xf32>
}

// Class weights are a constant along the classes; the mean is over the weights of the targets.
// CHECK-LABEL: func.func @class_weights(
func.func @class_weights(%x: tensor<?x3x5xf32> {nn.name = "x", nn.role = "input"}, %t: tensor<?x5xi64> {nn.name = "y", nn.role = "target"}) -> tensor<f32> {
  // CHECK: %[[W:.*]] = nn.constant [5.000000e-01, 2.000000e+00, 0.000000e+00] like %arg1 {shape = array<i64: 3, 1>}
  // CHECK: %[[Q:.*]] = nn.target_weights
  // CHECK: %[[QW:.*]] = nn.mul %[[Q]], %[[W]]
  // CHECK: nn.weighted %[[QW]], %arg0
  // CHECK: %[[ONES:.*]] = nn.target_weights
  // CHECK: %[[WEIGHTS:.*]] = nn.mul %[[ONES]], %[[W]]
  // CHECK: %[[SUM:.*]] = nn.sum %[[WEIGHTS]]
  // CHECK: nn.div %{{.*}}, %[[SUM]]
  %l = nn.loss "NLLLoss" %x, %t {arguments = {reduction = "mean", weight = [0.5, 2.0, 0.0]}} : (tensor<?x3x5xf32>, tensor<?x5xi64>) -> tensor<f32>
  return %l : tensor<f32>
}

// Weights of binary cross entropy run along the last dimension; the mean is over the elements, whatever their weights.
// CHECK-LABEL: func.func @pos_weight(
func.func @pos_weight(%x: tensor<?x2xf32> {nn.name = "x", nn.role = "input"}, %t: tensor<?x2xf32> {nn.name = "y", nn.role = "target"}) -> tensor<f32> {
  // CHECK: %[[P:.*]] = nn.constant [3.000000e+00] like %arg1 {shape = array<i64: 1>}
  // CHECK: %[[EACH:.*]] = nn.map "binary_cross_entropy_with_logits_of_pos_weight" %arg0, %arg1, %[[P]]
  // CHECK: %[[W:.*]] = nn.constant [1.000000e+00, 2.000000e+00]
  // CHECK: %[[WEIGHTED:.*]] = nn.mul %[[EACH]], %[[W]]
  // CHECK: nn.mean %[[WEIGHTED]]
  %l = nn.loss "BCEWithLogitsLoss" %x, %t {arguments = {reduction = "mean", weight = [1.0, 2.0], pos_weight = [3.0]}} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// A batch norm that is called twice: the second call continues from the first one's values, and each buffer is assigned
// once.
// CHECK-LABEL: func.func @twice(
// CHECK: %[[FIRST:.+]] = nn.running_average %arg1
// CHECK: %[[FIRST_VAR:.+]] = nn.running_average %arg2
// CHECK: %[[SECOND:.+]] = nn.running_average %[[FIRST]]
// CHECK-NEXT: nn.assign %arg1, %[[SECOND]]
// CHECK: %[[SECOND_VAR:.+]] = nn.running_average %[[FIRST_VAR]]
// CHECK-NEXT: nn.assign %arg2, %[[SECOND_VAR]]
// CHECK-NOT: nn.assign
// CHECK: return
func.func @twice(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}, %m: tensor<4xf32> {nn.name = "bn.running_mean", nn.role = "buffer"}, %v: tensor<4xf32> {nn.name = "bn.running_var", nn.role = "buffer"}) -> tensor<?x4xf32> {
  %a = nn.batch_norm %x mean(%m) var(%v) {eps = 1.0e-5 : f64, nn.momentum = 0.1 : f64} : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %y = nn.batch_norm %a mean(%m) var(%v) {eps = 1.0e-5 : f64, nn.momentum = 0.1 : f64} : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// A SyncBatchNorm in a parallel region stays marked, and its running variance is of all replicas' elements; outside of regions it is a
// batch norm like any other.
// CHECK-LABEL: func.func @synchronized(
// CHECK: nn.batch_norm_train %{{.+}} {eps = 1.000000e-05 : f64, nn.synchronized}
// CHECK: nn.inverse_count %{{.+}} {dims = array<i64: 0>, whole}
// CHECK: nn.batch_norm_train
// CHECK-NOT: nn.synchronized
// CHECK: nn.inverse_count %{{.+}} {dims = array<i64: 0>} :
func.func @synchronized(%x: tensor<?x4xf32> {nn.name = "x", nn.role = "input"}, %m: tensor<4xf32> {nn.name = "a.running_mean", nn.role = "buffer"}, %v: tensor<4xf32> {nn.name = "a.running_var", nn.role = "buffer"},
                        %n: tensor<4xf32> {nn.name = "b.running_mean", nn.role = "buffer"}, %w: tensor<4xf32> {nn.name = "b.running_var", nn.role = "buffer"}) -> tensor<?x4xf32> {
  %a = nn.data_parallel "net"(%x) {dim = 0 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%chunk: tensor<?x4xf32>):
    %0 = nn.batch_norm %chunk mean(%m) var(%v) {eps = 1.0e-5 : f64, nn.momentum = 0.1 : f64, nn.synchronized} : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    nn.yield %0 : tensor<?x4xf32>
  }
  %y = nn.batch_norm %a mean(%n) var(%w) {eps = 1.0e-5 : f64, nn.momentum = 0.1 : f64, nn.synchronized} : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
