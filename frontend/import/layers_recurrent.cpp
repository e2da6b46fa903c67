// Builders of layers over sequences: recurrent ones, their cells, and attention.
#include "frontend/import/layer_context.h"
#include "ir/Nn/Dropout.h"

using namespace mlir;

namespace sheaf::import {
namespace {

/// The weights in PyTorch's order: by layer, direction, then weight_ih, weight_hh, bias_ih, bias_hh.
Values recurrent_weights(const Context& c) {
  Values weights;
  for (int64_t layer = 0; layer < c.argument("num_layers").get<int64_t>(); ++layer)
    for (int direction = 0; direction < (c.argument("bidirectional").get<bool>() ? 2 : 1); ++direction)
      for (const char* name : {"weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l"})
        if (mlir::Value weight = c.parameter(name + std::to_string(layer) + (direction ? "_reverse" : "")))
          weights.push_back(weight);
  return weights;
}
mlir::Value optional_input(const Context& c, size_t index) { return index < c.inputs.size() ? c.inputs[index] : mlir::Value(); }

/// Recurrent layers with dropout between them, in training: PyTorch's single module becomes one op per layer. `build` makes
/// layer i from its input, its states (null if none are given) and its weights.
template <typename Build>
Values build_layer_by_layer(const Context& c, unsigned states, Build build) {
  int64_t layers = c.argument("num_layers").get<int64_t>(), directions = c.argument("bidirectional").get<bool>() ? 2 : 1;
  Values weights = recurrent_weights(c), ends[2], results;
  size_t own = weights.size() / static_cast<size_t>(layers);
  mlir::Type element = cast<mlir::TensorType>(c.x().getType()).getElementType();
  mlir::Value x = c.x();
  for (int64_t i = 0; i < layers; ++i) {
    Values initial;
    for (unsigned s = 0; s < states; ++s) {
      mlir::Value all = optional_input(c, s + 1);
      initial.push_back(all ? c.importer
                                  .make<nn::SliceOp>(c.loc, element, 1u, all, c.attributes().getI64IntegerAttr(0),
                                                     c.attributes().getI64IntegerAttr(i * directions),
                                                     c.attributes().getI64IntegerAttr(directions), IntegerAttr())
                                  ->getResult(0)
                            : mlir::Value());
    }
    Values made = build(x, initial, ValueRange(weights).slice(static_cast<size_t>(i) * own, own));
    x = made[0];
    for (unsigned s = 0; s < states; ++s) ends[s].push_back(made[s + 1]);
    if (i + 1 == layers) break;
    // Each dropout has its own name, and so its own mask.
    mlir::Location loc = c.importer.location(c.layer, c.layer.path + ".dropout" + std::to_string(i));
    x = c.importer.make<nn::DropoutOp>(loc, element, 1u, x, c.number("dropout"), mlir::StringAttr(), IntegerAttr())
            ->getResult(0);
  }
  results.push_back(x);
  for (unsigned s = 0; s < states; ++s)
    results.push_back(
        c.importer.make<nn::ConcatOp>(c.loc, element, 1u, ValueRange(ends[s]), c.attributes().getI64IntegerAttr(0))
            ->getResult(0));
  return results;
}

bool drops_between_layers(const Context& c) {
  return c.importer.training() && c.argument("num_layers").get<int64_t>() > 1 && c.argument("dropout").get<double>() > 0;
}

Values build_lstm(const Context& c) {
  if (drops_between_layers(c))
    return build_layer_by_layer(c, 2, [&](mlir::Value x, const Values& initial, ValueRange weights) {
      return c.several<nn::LstmOp>(3, x, initial[0], initial[1], weights, c.integer("hidden_size"),
                                   c.attributes().getI64IntegerAttr(1), c.flag("bidirectional"), c.flag("batch_first"),
                                   c.flag("bias"));
    });
  Values results = c.several<nn::LstmOp>(3, c.x(), optional_input(c, 1), optional_input(c, 2), ValueRange(recurrent_weights(c)),
                                         c.integer("hidden_size"), c.integer("num_layers"), c.flag("bidirectional"),
                                         c.flag("batch_first"), c.flag("bias"));
  return results;
}
/// A layer with one state; `own` are its op's additional attributes.
template <typename Op, typename... Own>
Values build_one_state(const Context& c, Own... own) {
  if (drops_between_layers(c))
    return build_layer_by_layer(c, 1, [&](mlir::Value x, const Values& initial, ValueRange weights) {
      return c.several<Op>(2, x, initial[0], weights, c.integer("hidden_size"), c.attributes().getI64IntegerAttr(1),
                           c.flag("bidirectional"), c.flag("batch_first"), c.flag("bias"), own...);
    });
  return c.several<Op>(2, c.x(), optional_input(c, 1), ValueRange(recurrent_weights(c)), c.integer("hidden_size"),
                       c.integer("num_layers"), c.flag("bidirectional"), c.flag("batch_first"), c.flag("bias"), own...);
}
Values build_gru(const Context& c) { return build_one_state<nn::GruOp>(c); }
Values build_rnn(const Context& c) {
  return build_one_state<nn::RnnOp>(c, c.attributes().getBoolAttr(c.argument("nonlinearity") == "relu"));
}
/// A cell is a recurrent layer of one step: input and states get a leading dimension, which results lose again. The permutation
/// of x, which changes nothing, requires x to be [N, I].
template <typename Op, unsigned states, typename... Own>
Values build_cell(const Context& c, Own... own) {
  auto with_step = [&](mlir::Value x) {
    return x ? c.one<nn::UnsqueezeOp>(x, c.attributes().getI64IntegerAttr(0))[0] : mlir::Value();
  };
  Values weights;
  for (const char* name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
    if (mlir::Value weight = c.parameter(name)) weights.push_back(weight);
  mlir::Value x = with_step(c.one<nn::PermuteOp>(c.x(), c.attributes().getDenseI64ArrayAttr({0, 1}))[0]);
  mlir::Value h = with_step(optional_input(c, 1)), cell = with_step(optional_input(c, 2));
  BoolAttr no = c.attributes().getBoolAttr(false);
  IntegerAttr one = c.attributes().getI64IntegerAttr(1);
  Values made;
  if constexpr (states == 2)
    made = c.several<Op>(3, x, h, cell, ValueRange(weights), c.integer("hidden_size"), one, no, no, c.flag("bias"), own...);
  else made = c.several<Op>(2, x, h, ValueRange(weights), c.integer("hidden_size"), one, no, no, c.flag("bias"), own...);
  Values results;
  for (unsigned i = 1; i <= states; ++i)
    results.push_back(c.one<nn::SqueezeOp>(made[i], c.attributes().getDenseI64ArrayAttr({0}))[0]);
  return results;
}
Values build_rnn_cell(const Context& c) {
  return build_cell<nn::RnnOp, 1>(c, c.attributes().getBoolAttr(c.argument("nonlinearity") == "relu"));
}

/// The masks that are given are further inputs, in this order.
Values build_attention(const Context& c) {
  size_t next = 3;
  auto mask = [&](const char* name) { return c.argument(name).get<bool>() ? c.inputs[next++] : mlir::Value(); };
  mlir::Value attn_mask = mask("attn_mask"), key_padding_mask = mask("key_padding_mask");
  Values results = c.several<nn::MultiheadAttentionOp>(
      2, c.inputs[0], c.inputs[1], c.inputs[2], c.parameter("in_proj_weight"), c.parameter("in_proj_bias"),
      c.parameter("out_proj.weight"), c.parameter("out_proj.bias"), attn_mask, key_padding_mask, c.integer("num_heads"),
      c.flag("batch_first"), c.unit("is_causal"), c.flag("average_attn_weights"));
  if (c.importer.training() && c.argument("dropout").get<double>() > 0)
    results[0].getDefiningOp()->setAttr(nn::kDropout, c.number("dropout"));
  if (!c.argument("need_weights").get<bool>()) results.pop_back();
  return results;
}

Values build_scaled_dot_product_attention(const Context& c) {
  Values results = c.one<nn::AttentionOp>(c.inputs[0], c.inputs[1], c.inputs[2], optional_input(c, 3),
                                          c.optional_number("scale"), c.flag("is_causal"), c.flag("enable_gqa"));
  if (c.importer.training() && c.argument("dropout_p").get<double>() > 0)
    results[0].getDefiningOp()->setAttr(nn::kDropout, c.number("dropout_p"));
  return results;
}

}  // namespace

Builders recurrent_builders() {
  return {
      {"LSTM", build_lstm},
      {"GRU", build_gru},
      {"RNN", build_rnn},
      {"LSTMCell", [](const Context& c) { return build_cell<nn::LstmOp, 2>(c); }},
      {"GRUCell", [](const Context& c) { return build_cell<nn::GruOp, 1>(c); }},
      {"RNNCell", build_rnn_cell},
      {"MultiheadAttention", build_attention},
      {"ScaledDotProductAttention", build_scaled_dot_product_attention},
  };
}

}  // namespace sheaf::import
