// RUN: sheaf-opt %s --dist-differentiate --dist-optimize --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Locations record which part of a training step an op belongs to; those of the forward pass record nothing. Each op
// keeps its layer.
// CHECK-LABEL: func.func @step(
// CHECK: nn.linear %{{.*}} loc("fc"({{.*}}))
// CHECK: nn.fill {{.*}} loc(fused<"backward">["loss"({{.*}})])
// CHECK: nn.linear_backward_weight {{.*}} loc(fused<"backward">["fc"({{.*}})])
// CHECK: dist.transfer {{.*}} loc(fused<"update">[{{.*}}])
// CHECK: nn.sgd_update {{.*}} loc(fused<"update">[fused<"backward">["fc"({{.*}})]])
func.func @step(%x: !dist.tensor<tensor<?x5xf32>, #dist.device<0>> {nn.role = "input", nn.name = "x"}, %w: !dist.tensor<tensor<2x5xf32>, #dist.device<0>> {nn.role = "parameter", nn.name = "w"}) -> !dist.tensor<tensor<f32>, #dist.device<0>>
    attributes {nn.outputs = ["loss"], nn.optimizer = {type = "SGD", lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.0, nesterov = false, maximize = false}} {
  %0 = dist.apply on #dist.device<0>(%x, %w) : (!dist.tensor<tensor<?x5xf32>, #dist.device<0>>, !dist.tensor<tensor<2x5xf32>, #dist.device<0>>) -> !dist.tensor<tensor<f32>, #dist.device<0>> {
  ^bb0(%a: tensor<?x5xf32>, %b: tensor<2x5xf32>):
    %y = nn.linear %a, %b : (tensor<?x5xf32>, tensor<2x5xf32>) -> tensor<?x2xf32> loc("fc"("m.json":7:3))
    %l = nn.sum %y {dims = array<i64: 0, 1>, keepdim = false} : (tensor<?x2xf32>) -> tensor<f32> loc("loss"("m.json":9:3))
    dist.yield %l : tensor<f32>
  } loc("loss"("m.json":9:3))
  return %0 : !dist.tensor<tensor<f32>, #dist.device<0>>
}
