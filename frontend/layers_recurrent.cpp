// LSTM, GRU, RNN, MultiheadAttention, ScaledDotProductAttention.
#include "frontend/layer_table.h"

namespace sheaf::frontend {
namespace {

// PyTorch's names: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, the same with _reverse, then l1, …
std::vector<LayerParameter> recurrent_parameters(const Json& a, int64_t gates) {
  int64_t hidden = a["hidden_size"].get<int64_t>(), layers = a["num_layers"].get<int64_t>();
  int64_t directions = a["bidirectional"].get<bool>() ? 2 : 1;
  std::vector<LayerParameter> p;
  for (int64_t layer = 0; layer < layers; ++layer) {
    int64_t width = layer == 0 ? a["input_size"].get<int64_t>() : hidden * directions;
    for (int64_t direction = 0; direction < directions; ++direction) {
      std::string suffix = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
      p.push_back({"weight_ih" + suffix, {gates * hidden, width}});
      p.push_back({"weight_hh" + suffix, {gates * hidden, hidden}});
      if (!a["bias"].get<bool>()) continue;
      p.push_back({"bias_ih" + suffix, {gates * hidden}});
      p.push_back({"bias_hh" + suffix, {gates * hidden}});
    }
  }
  return p;
}

std::vector<Argument> recurrent_arguments() {
  Argument num_layers = positive("num_layers", Json(1));
  num_layers.type.maximum = 1024;
  return {positive("input_size"),         positive("hidden_size"),       num_layers,
          boolean("bias", true),          boolean("batch_first", false), probability("dropout", Json(0.0)),
          boolean("bidirectional", false)};
}

/// One step of a recurrent layer.
LayerType cell(std::string name, std::string summary, int64_t gates, bool two_states = false) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .arguments = {positive("input_size"), positive("hidden_size"), boolean("bias", true)},
          .most_inputs = two_states ? 3 : 2,
          .inputs_step = two_states ? 2 : 1,
          .outputs = two_states ? 2 : 1,
          .parameters =
              [gates](const Json& a) {
                const int64_t rows = gates * a["hidden_size"].get<int64_t>();
                std::vector<LayerParameter> p = {{"weight_ih", {rows, a["input_size"].get<int64_t>()}},
                                                 {"weight_hh", {rows, a["hidden_size"].get<int64_t>()}}};
                if (a["bias"].get<bool>()) {
                  p.push_back({"bias_ih", {rows}});
                  p.push_back({"bias_hh", {rows}});
                }
                return p;
              },
          .parameter_names = "(weight|bias)_(ih|hh)"};
}

void check_attention(LayerCheck& layer) {
  int64_t heads = layer.integer("num_heads"), width = layer.integer("embed_dim");
  if (width % heads != 0) {
    layer.refuse("num_heads", "must divide embed_dim = " + std::to_string(width) + ", found " + std::to_string(heads));
  }
  const int wanted = 3 + (layer.flag("attn_mask") ? 1 : 0) + (layer.flag("key_padding_mask") ? 1 : 0);
  if (layer.inputs != any_number && layer.inputs != wanted) {
    layer.refuse(layer.inputs > 3 ? "attn_mask" : "inputs",
                 "and 'key_padding_mask' say which masks come after query, key and value: that makes " +
                     std::to_string(wanted) + " inputs, found " + std::to_string(layer.inputs));
  }
}

std::vector<LayerParameter> attention_parameters(const Json& a) {
  int64_t width = a["embed_dim"].get<int64_t>();
  std::vector<LayerParameter> p = {{"in_proj_weight", {3 * width, width}}, {"out_proj.weight", {width, width}}};
  if (a["bias"].get<bool>()) {
    p.push_back({"in_proj_bias", {3 * width}});
    p.push_back({"out_proj.bias", {width}});
  }
  return p;
}

}  // namespace

std::vector<LayerType> recurrent_layers() {
  std::string names = "(weight|bias)_(ih|hh)_l[0-9]+(_reverse)?";
  std::vector<Argument> lstm = recurrent_arguments();
  lstm.push_back(fixed("proj_size", 0));
  std::vector<Argument> rnn = recurrent_arguments();
  rnn.insert(rnn.begin() + 3, choice("nonlinearity", {"tanh", "relu"}, "tanh"));
  LayerType rnn_cell = cell("RNNCell", "one step of an RNN: input, or input, h → h", 1);
  rnn_cell.arguments.push_back(choice("nonlinearity", {"tanh", "relu"}, "tanh"));
  return {
      {.name = "LSTM",
       .summary = "input, or input, h0, c0 → output, h, c",
       .arguments = lstm,
       .most_inputs = 3,
       .inputs_step = 2,
       .outputs = 3,
       .parameters = [](const Json& a) { return recurrent_parameters(a, 4); },
       .parameter_names = names},
      {.name = "GRU",
       .summary = "input, or input, h0 → output, h",
       .arguments = recurrent_arguments(),
       .most_inputs = 2,
       .outputs = 2,
       .parameters = [](const Json& a) { return recurrent_parameters(a, 3); },
       .parameter_names = names},
      {.name = "RNN",
       .summary = "input, or input, h0 → output, h: h = tanh(W·x + U·h + biases), or max(…, 0)",
       .arguments = rnn,
       .most_inputs = 2,
       .outputs = 2,
       .parameters = [](const Json& a) { return recurrent_parameters(a, 1); },
       .parameter_names = names},
      cell("LSTMCell", "one step of an LSTM: input `[N, I]`, or input, h, c `[N, H]` → h, c", 4, true),
      cell("GRUCell", "one step of a GRU: input, or input, h → h", 3),
      rnn_cell,
      {.name = "MultiheadAttention",
       .summary = "query, key, value, and the masks that are true → output, and if `need_weights` the weights, of the heads in "
                  "mean or each",
       .arguments = {positive("embed_dim"), positive("num_heads"), probability("dropout", Json(0.0)), boolean("bias", true),
                     fixed("add_bias_kv", false), fixed("add_zero_attn", false), fixed("kdim", nullptr), fixed("vdim", nullptr),
                     boolean("batch_first", false), boolean("attn_mask", false), boolean("key_padding_mask", false),
                     boolean("is_causal", false), boolean("need_weights", true), boolean("average_attn_weights", true)},
       .least_inputs = 3,
       .most_inputs = 5,
       .outputs = 2,
       .outputs_by_arguments = [](const Json& a) { return a["need_weights"].get<bool>() ? 2 : 1; },
       .check = check_attention,
       .parameters = attention_parameters,
       .parameter_names = "in_proj_weight|in_proj_bias|out_proj\\.weight|out_proj\\.bias"},
      {.name = "ScaledDotProductAttention",
       .summary = "query, key, value `[…, L, E]`, and a mask: numbers that are added, or integers, which hide where they are 0",
       .arguments = {probability("dropout_p", Json(0.0)), boolean("is_causal", false), nullable(number("scale", Json(nullptr))),
                     boolean("enable_gqa", false)},
       .least_inputs = 3,
       .most_inputs = 4},
  };
}

}  // namespace sheaf::frontend
