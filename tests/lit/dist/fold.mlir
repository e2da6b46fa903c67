// RUN: sheaf-opt %s --canonicalize | FileCheck %s

// A transfer to the place where the value already is disappears.
// CHECK-LABEL: func.func @nowhere(
// CHECK-SAME: %[[X:.*]]: !dist
// CHECK-NEXT: return %[[X]]
func.func @nowhere(%x: !dist.tensor<tensor<5xf32>, #dist.device<1>>) -> !dist.tensor<tensor<5xf32>, #dist.device<1>> {
  %0 = dist.transfer %x {reason = "because"} : <tensor<5xf32>, #dist.device<1>> -> <tensor<5xf32>, #dist.device<1>>
  return %0 : !dist.tensor<tensor<5xf32>, #dist.device<1>>
}

// There and back again gives the original value.
// CHECK-LABEL: func.func @back(
// CHECK-SAME: %[[X:.*]]: !dist
// CHECK-NEXT: return %[[X]]
func.func @back(%x: !dist.tensor<tensor<5xf32>, #dist.device<1>>) -> !dist.tensor<tensor<5xf32>, #dist.device<1>> {
  %0 = dist.transfer %x {reason = "there"} : <tensor<5xf32>, #dist.device<1>> -> <tensor<5xf32>, #dist.host>
  %1 = dist.transfer %0 {reason = "back"} : <tensor<5xf32>, #dist.host> -> <tensor<5xf32>, #dist.device<1>>
  return %1 : !dist.tensor<tensor<5xf32>, #dist.device<1>>
}

// The transfer there stays if it has another user.
// CHECK-LABEL: func.func @there(
// CHECK-SAME: %[[X:.*]]: !dist
// CHECK-NEXT: %[[Y:.*]] = dist.transfer %[[X]]
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func @there(%x: !dist.tensor<tensor<5xf32>, #dist.device<1>>) -> (!dist.tensor<tensor<5xf32>, #dist.device<1>>, !dist.tensor<tensor<5xf32>, #dist.host>) {
  %0 = dist.transfer %x {reason = "there"} : <tensor<5xf32>, #dist.device<1>> -> <tensor<5xf32>, #dist.host>
  %1 = dist.transfer %0 {reason = "back"} : <tensor<5xf32>, #dist.host> -> <tensor<5xf32>, #dist.device<1>>
  return %1, %0 : !dist.tensor<tensor<5xf32>, #dist.device<1>>, !dist.tensor<tensor<5xf32>, #dist.host>
}

// Going on to a third place is not going back.
// CHECK-LABEL: func.func @onwards(
// CHECK-COUNT-2: dist.transfer
func.func @onwards(%x: !dist.tensor<tensor<5xf32>, #dist.device<1>>) -> !dist.tensor<tensor<5xf32>, #dist.device<2>> {
  %0 = dist.transfer %x {reason = "there"} : <tensor<5xf32>, #dist.device<1>> -> <tensor<5xf32>, #dist.host>
  %1 = dist.transfer %0 {reason = "on"} : <tensor<5xf32>, #dist.host> -> <tensor<5xf32>, #dist.device<2>>
  return %1 : !dist.tensor<tensor<5xf32>, #dist.device<2>>
}

// Movements are pure: unused ones disappear.
dist.group @g {dim = 0 : i64, layer = "net"}
// CHECK-LABEL: func.func @unused(
// CHECK-NEXT: return
func.func @unused(%x: !dist.tensor<tensor<?x5xf32>, #dist.device<1>>) {
  %0 = dist.scatter %x {reason = "because"} : <tensor<?x5xf32>, #dist.device<1>> -> <tensor<?x5xf32>, #dist.split<@g, 0>>
  %1 = dist.gather %0 {reason = "because"} : <tensor<?x5xf32>, #dist.split<@g, 0>> -> <tensor<?x5xf32>, #dist.host>
  %2 = dist.replicate %x {reason = "because"} : <tensor<?x5xf32>, #dist.device<1>> -> <tensor<?x5xf32>, #dist.replicated<@g>>
  return
}
