// RUN: sheaf-opt %s --dist-merge-applies | FileCheck %s

// Ops that one device runs without interruption become one region; values of the first that only the second needed stay
// inside.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: dist.apply on #dist.device<0>(%arg0)
// CHECK: nn.relu
// CHECK-NEXT: nn.tanh
// CHECK-NOT: dist.apply
// CHECK: return
func.func @chain(%x: !dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  %0 = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<5xf32>):
    %2 = nn.relu %a : (tensor<5xf32>) -> tensor<5xf32>
    dist.yield %2 : tensor<5xf32>
  }
  %1 = dist.apply on #dist.device<0>(%0) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<5xf32>):
    %2 = nn.tanh %a : (tensor<5xf32>) -> tensor<5xf32>
    dist.yield %2 : tensor<5xf32>
  }
  return %1 : !dist.tensor<tensor<5xf32>, #dist.device<0>>
}

// Regions on other devices stay separate.
// CHECK-LABEL: func.func @other_device(
// CHECK: dist.apply on #dist.device<0>
// CHECK: dist.apply on #dist.device<1>
func.func @other_device(%x: !dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<1>> {
  %0 = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<5xf32>):
    %3 = nn.relu %a : (tensor<5xf32>) -> tensor<5xf32>
    dist.yield %3 : tensor<5xf32>
  }
  %1 = dist.transfer %0 {reason = "because"} : <tensor<5xf32>, #dist.device<0>> -> <tensor<5xf32>, #dist.device<1>>
  %2 = dist.apply on #dist.device<1>(%1) : (!dist.tensor<tensor<5xf32>, #dist.device<1>>) -> !dist.tensor<tensor<5xf32>, #dist.device<1>> {
  ^bb0(%a: tensor<5xf32>):
    %3 = nn.tanh %a : (tensor<5xf32>) -> tensor<5xf32>
    dist.yield %3 : tensor<5xf32>
  }
  return %2 : !dist.tensor<tensor<5xf32>, #dist.device<1>>
}

// If the value goes elsewhere in between, the first cannot wait for the second.
// CHECK-LABEL: func.func @interrupted(
// CHECK: dist.apply on #dist.device<0>
// CHECK: dist.transfer
// CHECK: dist.transfer
// CHECK: dist.apply on #dist.device<0>
func.func @interrupted(%x: !dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  %0 = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<5xf32>):
    %4 = nn.relu %a : (tensor<5xf32>) -> tensor<5xf32>
    dist.yield %4 : tensor<5xf32>
  }
  %1 = dist.transfer %0 {reason = "there"} : <tensor<5xf32>, #dist.device<0>> -> <tensor<5xf32>, #dist.device<1>>
  %2 = dist.transfer %1 {reason = "back"} : <tensor<5xf32>, #dist.device<1>> -> <tensor<5xf32>, #dist.device<0>>
  %3 = dist.apply on #dist.device<0>(%2) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<5xf32>):
    %4 = nn.tanh %a : (tensor<5xf32>) -> tensor<5xf32>
    dist.yield %4 : tensor<5xf32>
  }
  return %3 : !dist.tensor<tensor<5xf32>, #dist.device<0>>
}

// An input that the first region has twice appears once in the merged one.
// CHECK-LABEL: func.func @given_twice(
// CHECK: dist.apply on #dist.device<0>(%arg0)
// CHECK-NEXT: ^bb0(%[[A:[a-z0-9]+]]: tensor<5xf32>):
// CHECK-NEXT: %[[SQUARE:.*]] = nn.mul %[[A]], %[[A]]
// CHECK-NEXT: nn.tanh %[[SQUARE]]
func.func @given_twice(%x: !dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  %0 = dist.apply on #dist.device<0>(%x, %x) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>, !dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<5xf32>, %b: tensor<5xf32>):
    %2 = nn.mul %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    dist.yield %2 : tensor<5xf32>
  }
  %1 = dist.apply on #dist.device<0>(%0) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<5xf32>):
    %2 = nn.tanh %a : (tensor<5xf32>) -> tensor<5xf32>
    dist.yield %2 : tensor<5xf32>
  }
  return %1 : !dist.tensor<tensor<5xf32>, #dist.device<0>>
}
