// RUN: sheaf-opt %s --dist-optimize --split-input-file --verify-diagnostics

// expected-error @+1 {{has gradients, but no nn.optimizer}}
func.func @train(%w: !dist.tensor<tensor<f32>, #dist.host> {nn.name = "w", nn.role = "parameter"}) -> (!dist.tensor<tensor<f32>, #dist.host>, !dist.tensor<tensor<f32>, #dist.host>)
    attributes {nn.outputs = ["loss"], nn.gradients = ["w"]} {
  return %w, %w : !dist.tensor<tensor<f32>, #dist.host>, !dist.tensor<tensor<f32>, #dist.host>
}

// -----

// expected-error @+1 {{nn.optimizer must be a dictionary with the optimiser's type}}
func.func @no_type() attributes {nn.optimizer = {lr = 0.1}} {
  return
}
