// RUN: sheaf-opt %s -verify-diagnostics -split-input-file

func.func @scan(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{knows no scan 'sum'}}
  %0 = nn.scan %x {dim = 1 : i64, take = "sum"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @scan_of_integers(%x: tensor<?x4xi64>) {
  // expected-error @+1 {{computes with floating-point numbers, but an input is int64}}
  %0 = nn.scan %x {dim = 1 : i64, take = "log_sum_exp"} : (tensor<?x4xi64>) -> tensor<?x4xi64>
  return
}

// -----

func.func @scan_backward(%x: tensor<?x4xf32>, %y: tensor<?x5xf32>) {
  // expected-error @+1 {{a value}}
  %0 = nn.scan_backward %x, %y, %x {dim = 1 : i64, take = "product"} : (tensor<?x4xf32>, tensor<?x5xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @sort_of_no_dimension(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{expects a dimension between -2 and 1 for an input of shape [?, 4], but got 2}}
  %0 = nn.arg_sort %x {dim = 2 : i64, descending = false} : (tensor<?x4xf32>) -> tensor<?x4xi64>
  return
}

// -----

func.func @positions_of_floats(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{has a result of type 'tensor<?x4xf32>' where its operands give 'tensor<?x4xi64>'}}
  %0 = nn.arg_scan %x {dim = 1 : i64, minimum = true} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @scatter_of_another_length(%x: tensor<?x4xf32>, %i: tensor<?x2xi64>, %s: tensor<?x3xf32>) {
  // expected-error @+1 {{a source}}
  %0 = nn.scatter_elements %i, %x, %s {dim = 1 : i64} : (tensor<?x2xi64>, tensor<?x4xf32>, tensor<?x3xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @scatter_of_nothing(%x: tensor<?x4xf32>, %i: tensor<?x2xi64>) {
  // expected-error @+1 {{needs a source}}
  %0 = nn.scatter_elements %i, %x {dim = 1 : i64, add} : (tensor<?x2xi64>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @ctc_of_one_row(%x: tensor<9x5xf32>, %t: tensor<?x3xi64>, %n: tensor<?xi64>) {
  // expected-error @+1 {{takes log probabilities of shape [time, batch, classes], but they are [9, 5]}}
  %0, %1 = nn.ctc_loss %x, %t, %n, %n {blank = 0 : i64, zero_infinity = false, by_length = true} : (tensor<9x5xf32>, tensor<?x3xi64>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?xf32>, tensor<?x9x7xf32>)
  return
}

// -----

func.func @ctc_of_fractions(%x: tensor<9x?x5xf32>, %t: tensor<?x3xf32>, %n: tensor<?xi64>) {
  // expected-error @+1 {{takes targets of type int64 or int32, but they are float32}}
  %0, %1 = nn.ctc_loss %x, %t, %n, %n {blank = 0 : i64, zero_infinity = false, by_length = true} : (tensor<9x?x5xf32>, tensor<?x3xf32>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?xf32>, tensor<?x9x7xf32>)
  return
}

// -----

func.func @ctc_without_lengths(%x: tensor<9x?x5xf32>, %t: tensor<?x3xi64>, %n: tensor<?x1xi64>) {
  // expected-error @+1 {{takes a length for each row of log probabilities [9, ?, 5], but they are [?, 1]}}
  %0, %1 = nn.ctc_loss %x, %t, %n, %n {blank = 0 : i64, zero_infinity = false, by_length = true} : (tensor<9x?x5xf32>, tensor<?x3xi64>, tensor<?x1xi64>, tensor<?x1xi64>) -> (tensor<?xf32>, tensor<?x9x7xf32>)
  return
}

// -----

func.func @fold_of_other_windows(%x: tensor<?x18x13xf32>) {
  // expected-error @+1 {{has 14 windows, but the columns are [?, 18, 13]}}
  %0 = nn.fold %x {output_size = array<i64: 6, 8>, kernel_size = array<i64: 3, 2>, stride = array<i64: 3, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<?x18x13xf32>) -> tensor<?x3x6x8xf32>
  return
}

// -----

func.func @unfold_of_lines(%x: tensor<?x3x6xf32>) {
  // expected-error @+1 {{expects an input [N, C, H, W], but got [?, 3, 6]}}
  %0 = nn.unfold %x {kernel_size = array<i64: 3, 2>, stride = array<i64: 3, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<?x3x6xf32>) -> tensor<?x18x14xf32>
  return
}

// -----

func.func @gate_of_an_odd_size(%x: tensor<?x5xf32>) {
  // expected-error @+1 {{expects an even size along dimension 1 of its input [?, 5]}}
  %0 = nn.glu %x {dim = 1 : i64} : (tensor<?x5xf32>) -> tensor<?x2xf32>
  return
}
