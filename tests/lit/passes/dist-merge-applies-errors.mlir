// RUN: sheaf-opt %s --dist-merge-applies -verify-diagnostics -split-input-file

// Regions on different places cannot be chained without a transfer, so there is nothing wrong to merge.
func.func @places(%x: !dist.tensor<tensor<5xf32>, #dist.device<0>>) {
  %0 = dist.apply on #dist.device<0>(%x) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<5xf32>, #dist.device<0>> {
  ^bb0(%a: tensor<5xf32>):
    dist.yield %a : tensor<5xf32>
  }
  // expected-error @+1 {{'dist.apply' op runs on the host, but has an operand or result on device 0; a transfer is missing}}
  dist.apply on #dist.host(%0) : (!dist.tensor<tensor<5xf32>, #dist.device<0>>) -> () {
  ^bb0(%a: tensor<5xf32>):
  }
  return
}
