// RUN: sheaf-opt %s --dist-differentiate | FileCheck %s

// A cast's dual is a cast, but a value that a cast narrowed has a wide gradient: a weight's comes out of the library as
// f32 and goes to the f32 parameter unchanged; a tied weight's two are added as f32. The bias's is f32 too.
// CHECK-LABEL: func.func @linear(
// CHECK: dist.apply on #dist.device<0>
// CHECK: dist.apply on #dist.device<0>
// CHECK: %[[DY:.+]] = nn.cast %{{.*}} {to = "bfloat16"} : (tensor<?x5xf32>) -> tensor<?x5xbf16>
// CHECK: %[[DX:.+]] = nn.linear_backward_data %[[DY]], {{.*}} -> tensor<?x5xbf16>
// CHECK: %[[W1:.+]], %[[B:.+]] = nn.linear_backward_weight {{.*}} : (tensor<?x5xbf16>, tensor<?x5xbf16>) -> (tensor<5x5xf32>, tensor<5xf32>)
// CHECK: %[[W0:.+]] = nn.linear_backward_weight {{.*}}, %[[DX]] {{.*}} -> tensor<5x5xf32>
// CHECK: %[[W:.+]] = nn.add %[[W1]], %[[W0]] : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
// CHECK-NOT: nn.cast
// CHECK: dist.yield %[[W]], %[[B]] : tensor<5x5xf32>, tensor<5xf32>
func.func @linear(%w: !dist.tensor<tensor<5x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}, %b: !dist.tensor<tensor<5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "b"}, %x: !dist.tensor<tensor<?x5xbf16>, #dist.device<0>> {nn.role = "input", nn.name = "x"}) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  %l = dist.apply on #dist.device<0>(%w, %b, %x) : (!dist.tensor<tensor<5x5xf32>, #dist.device<0>>, !dist.tensor<tensor<5xf32>, #dist.device<0>>, !dist.tensor<tensor<?x5xbf16>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%w_: tensor<5x5xf32>, %b_: tensor<5xf32>, %x_: tensor<?x5xbf16>):
    %n = nn.cast %w_ {to = "bfloat16"} : (tensor<5x5xf32>) -> tensor<5x5xbf16>
    %h = nn.linear %x_, %n : (tensor<?x5xbf16>, tensor<5x5xbf16>) -> tensor<?x5xbf16>
    %y = nn.linear %h, %n bias(%b_) : (tensor<?x5xbf16>, tensor<5x5xbf16>, tensor<5xf32>) -> tensor<?x5xbf16>
    %z = nn.cast %y {to = "float32"} : (tensor<?x5xbf16>) -> tensor<?x5xf32>
    %loss = nn.sum %z {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x5xf32>) -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %l : !dist.tensor<tensor<f32>, #dist.device<0>>
}
