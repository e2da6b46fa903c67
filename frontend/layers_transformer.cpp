// torch.nn's transformer layers, composed of other layers: each row gives the layers that PyTorch's module has, by their names.
#include "frontend/layer_table.h"

namespace sheaf::frontend {
namespace {

using Names = std::vector<std::string>;

/// Layers as a model file would have them, one after another.
class Body {
 public:
  explicit Body(Names inputs) : inputs_(std::move(inputs)) {}

  /// Returns the layer's name, which is also its value's.
  std::string add(const std::string& name, const std::string& type, const Names& inputs, Json arguments = Json::object()) {
    Json layer = {{"name", name}, {"type", type}, {"inputs", inputs}};
    layer.update(arguments);
    layers_.push_back(std::move(layer));
    return name;
  }
  /// A module whose output is the last layer's.
  Json done() const { return {{"inputs", inputs_}, {"layers", layers_}}; }

 private:
  Names inputs_;
  Json layers_ = Json::array();
};

/// Arguments of `a` under the names they have elsewhere.
Json with(const Json& a, const std::vector<std::pair<const char*, const char*>>& names) {
  Json taken = Json::object();
  for (const auto& [to, from] : names) taken[to] = a[from];
  return taken;
}

/// `always`, and those of `optional` that are true: the inputs in the order of PyTorch's forward().
Names inputs_of(const Json& a, Names always, const Names& optional) {
  for (const std::string& name : optional)
    if (a[name].get<bool>()) always.push_back(name);
  return always;
}

/// What encoder and decoder layers have in common.
class Block {
 public:
  Block(const Json& a, Names inputs) : a_(a), body_(std::move(inputs)) {}

  /// x + f(norm(x)), or norm(x + f(x)).
  std::string residual(const std::string& x, int number, const std::function<std::string(const std::string&)>& f) {
    const std::string digit = std::to_string(number);
    const bool first = a_["norm_first"].get<bool>();
    const auto norm = [&](const std::string& of) {
      return body_.add("norm" + digit, "LayerNorm", {of},
                       {{"normalized_shape", a_["d_model"]}, {"eps", a_["layer_norm_eps"]}, {"bias", a_["bias"]}});
    };
    const std::string y = dropout("dropout" + digit, f(first ? norm(x) : x));
    const std::string sum = body_.add("sum" + digit, "Add", {x, y});
    return first ? sum : norm(sum);
  }

  /// With the masks that `a` says are given.
  std::string attention(const std::string& name, const std::string& query, const std::string& key, const std::string& mask,
                        const std::string& padding, const std::string& causal) {
    Json arguments = with(a_, {{"embed_dim", "d_model"},
                               {"num_heads", "nhead"},
                               {"dropout", "dropout"},
                               {"bias", "bias"},
                               {"batch_first", "batch_first"},
                               {"attn_mask", mask.c_str()},
                               {"key_padding_mask", padding.c_str()},
                               {"is_causal", causal.c_str()}});
    arguments["need_weights"] = false;
    return body_.add(name, "MultiheadAttention", inputs_of(a_, {query, key, key}, {mask, padding}), arguments);
  }

  std::string feed_forward(const std::string& x) {
    const std::string activation = a_["activation"] == "gelu" ? "GELU" : "ReLU";
    std::string y = linear("linear1", x, "d_model", "dim_feedforward");
    y = dropout("dropout", body_.add("activation", activation, {y}));
    return linear("linear2", y, "dim_feedforward", "d_model");
  }

  Json done() const { return body_.done(); }

 private:
  std::string dropout(const std::string& name, const std::string& x) {
    return body_.add(name, "Dropout", {x}, {{"p", a_["dropout"]}});
  }
  std::string linear(const std::string& name, const std::string& x, const char* in, const char* out) {
    return body_.add(name, "Linear", {x}, with(a_, {{"in_features", in}, {"out_features", out}, {"bias", "bias"}}));
  }

  const Json& a_;
  Body body_;
};

const Names kEncoderLayerMasks = {"src_mask", "src_key_padding_mask"};
const Names kEncoderMasks = {"mask", "src_key_padding_mask"};
const Names kDecoderMasks = {"tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask"};
const Names kTransformerMasks = {
    "src_mask", "tgt_mask", "memory_mask", "src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask"};

Json encoder_layer(const Json& a) {
  Block block(a, inputs_of(a, {"src"}, kEncoderLayerMasks));
  const std::string x = block.residual("src", 1, [&](const std::string& y) {
    return block.attention("self_attn", y, y, "src_mask", "src_key_padding_mask", "is_causal");
  });
  block.residual(x, 2, [&](const std::string& y) { return block.feed_forward(y); });
  return block.done();
}

Json decoder_layer(const Json& a) {
  Block block(a, inputs_of(a, {"tgt", "memory"}, kDecoderMasks));
  std::string x = block.residual("tgt", 1, [&](const std::string& y) {
    return block.attention("self_attn", y, y, "tgt_mask", "tgt_key_padding_mask", "tgt_is_causal");
  });
  x = block.residual(x, 2, [&](const std::string& y) {
    return block.attention("multihead_attn", y, "memory", "memory_mask", "memory_key_padding_mask", "memory_is_causal");
  });
  block.residual(x, 3, [&](const std::string& y) { return block.feed_forward(y); });
  return block.done();
}

const std::vector<std::pair<const char*, const char*>> kOfEachLayer = {
    {"d_model", "d_model"},         {"nhead", "nhead"},           {"dim_feedforward", "dim_feedforward"},
    {"dropout", "dropout"},         {"activation", "activation"}, {"layer_norm_eps", "layer_norm_eps"},
    {"batch_first", "batch_first"}, {"norm_first", "norm_first"}, {"bias", "bias"}};

/// `masks` pairs the masks of a layer with those of the stack.
Json stack(const Json& a, const char* type, const Names& inputs,
           const std::vector<std::pair<const char*, const char*>>& flags) {
  Body body(inputs);
  Json arguments = with(a, kOfEachLayer);
  arguments.update(with(a, flags));
  Names given = inputs;
  for (int64_t i = 0; i < a["num_layers"].get<int64_t>(); ++i)
    given[0] = body.add("layers." + std::to_string(i), type, given, arguments);
  if (a["norm"].get<bool>())
    body.add("norm", "LayerNorm", {given[0]},
             {{"normalized_shape", a["d_model"]}, {"eps", a["layer_norm_eps"]}, {"bias", a["bias"]}});
  return body.done();
}

Json encoder(const Json& a) {
  return stack(a, "TransformerEncoderLayer", inputs_of(a, {"src"}, kEncoderMasks),
               {{"src_mask", "mask"}, {"src_key_padding_mask", "src_key_padding_mask"}, {"is_causal", "is_causal"}});
}

const std::vector<std::pair<const char*, const char*>> kDecoderFlags = {{"tgt_mask", "tgt_mask"},
                                                                        {"memory_mask", "memory_mask"},
                                                                        {"tgt_key_padding_mask", "tgt_key_padding_mask"},
                                                                        {"memory_key_padding_mask", "memory_key_padding_mask"},
                                                                        {"tgt_is_causal", "tgt_is_causal"},
                                                                        {"memory_is_causal", "memory_is_causal"}};

Json decoder(const Json& a) {
  return stack(a, "TransformerDecoderLayer", inputs_of(a, {"tgt", "memory"}, kDecoderMasks), kDecoderFlags);
}

Json transformer(const Json& a) {
  Body body(inputs_of(a, {"src", "tgt"}, kTransformerMasks));
  Json encodes = with(a, kOfEachLayer), decodes = encodes;
  encodes.update(with(a, {{"num_layers", "num_encoder_layers"},
                          {"mask", "src_mask"},
                          {"src_key_padding_mask", "src_key_padding_mask"},
                          {"is_causal", "src_is_causal"}}));
  decodes.update(with(a, kDecoderFlags));
  decodes["num_layers"] = a["num_decoder_layers"];
  encodes["norm"] = decodes["norm"] = true;
  body.add("encoder", "TransformerEncoder", inputs_of(a, {"src"}, kEncoderLayerMasks), encodes);
  body.add("decoder", "TransformerDecoder", inputs_of(a, {"tgt", "encoder"}, kDecoderMasks), decodes);
  return body.done();
}

std::vector<Argument> arguments(std::vector<Argument> sizes, const Names& flags, const Names& causal) {
  sizes.insert(sizes.end(), {positive("dim_feedforward", Json(2048)), probability("dropout", Json(0.1)),
                             choice("activation", {"relu", "gelu"}, "relu"), above_zero("layer_norm_eps", Json(1e-5)),
                             boolean("batch_first", false), boolean("norm_first", false), boolean("bias", true)});
  for (const Names& names : {flags, causal})
    for (const std::string& name : names) sizes.push_back(boolean(name, false));
  return sizes;
}

Argument count(std::string name, Json fallback = {}) {
  Argument argument = fallback.is_null() ? positive(std::move(name)) : positive(std::move(name), std::move(fallback));
  argument.type.maximum = 1024;
  return argument;
}

LayerType row(std::string name, std::string summary, std::vector<Argument> arguments, int inputs, const Names& masks,
              Json (*composed)(const Json&)) {
  return {.name = std::move(name),
          .summary = std::move(summary) + ", and the masks that are true",
          .arguments = std::move(arguments),
          .least_inputs = inputs,
          .most_inputs = inputs + static_cast<int>(masks.size()),
          .check =
              [inputs, masks](LayerCheck& layer) {
                const int64_t heads = layer.integer("nhead"), width = layer.integer("d_model");
                if (width % heads != 0)
                  layer.refuse("nhead", "must divide d_model = " + std::to_string(width) + ", found " + std::to_string(heads));
                const int wanted =
                    static_cast<int>(inputs_of(layer.arguments, Names(static_cast<size_t>(inputs)), masks).size());
                if (layer.inputs != any_number && layer.inputs != wanted)
                  layer.refuse("inputs", "are " + std::to_string(layer.inputs) +
                                             ", but with the masks that are true there must be " + std::to_string(wanted));
              },
          .composed = composed};
}

}  // namespace

std::vector<LayerType> transformer_layers() {
  const std::vector<Argument> width = {positive("d_model"), positive("nhead")};
  std::vector<Argument> stacked = width;
  stacked.insert(stacked.end(), {count("num_layers"), boolean("norm", false)});
  const Names causal = {"is_causal"}, both_causal = {"tgt_is_causal", "memory_is_causal"};
  LayerType whole =
      row("Transformer", "source, target → output of an encoder and a decoder",
          arguments({positive("d_model", Json(512)), positive("nhead", Json(8)), count("num_encoder_layers", Json(6)),
                     count("num_decoder_layers", Json(6)), fixed("custom_encoder", nullptr), fixed("custom_decoder", nullptr)},
                    kTransformerMasks, {"src_is_causal", "tgt_is_causal", "memory_is_causal"}),
          2, kTransformerMasks, transformer);
  whole.xavier = true;
  return {
      row("TransformerEncoderLayer", "source → output of self-attention and a feed-forward network",
          arguments(width, kEncoderLayerMasks, causal), 1, kEncoderLayerMasks, encoder_layer),
      row("TransformerDecoderLayer",
          "target, memory → output of self-attention, attention to memory and a feed-forward network",
          arguments(width, kDecoderMasks, both_causal), 2, kDecoderMasks, decoder_layer),
      row("TransformerEncoder",
          "source → output of `num_layers` encoder layers with these arguments, and with `norm` a LayerNorm",
          arguments(stacked, kEncoderMasks, causal), 1, kEncoderMasks, encoder),
      row("TransformerDecoder",
          "target, memory → output of `num_layers` decoder layers with these arguments, and with `norm` a LayerNorm",
          arguments(stacked, kDecoderMasks, both_causal), 2, kDecoderMasks, decoder),
      whole,
  };
}

}  // namespace sheaf::frontend
