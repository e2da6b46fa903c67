// RUN: sheaf-opt %s --dist-replicate-state --verify-diagnostics

// Without replicas nothing can live on them.
// expected-warning @+1 {{no parameter is used only by the replicas of one DataParallel layer: with strategy 'replicated' the step is that of 'data_parallel'}}
func.func @alone(%w: !dist.tensor<tensor<4xf32>, #dist.device<0>> {nn.name = "w", nn.role = "parameter"}, %l: !dist.tensor<tensor<f32>, #dist.device<0>> {nn.name = "l", nn.role = "input"})
    -> (!dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>)
    attributes {nn.outputs = ["loss"], nn.gradients = ["w"]} {
  return %l, %w : !dist.tensor<tensor<f32>, #dist.device<0>>, !dist.tensor<tensor<4xf32>, #dist.device<0>>
}
