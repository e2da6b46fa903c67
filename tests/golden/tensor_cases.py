"""Layer cases of what takes parts of tensors, reduces, resamples and attends. Each case has several layers of a family in one
DataParallel, so that a plan tests them all."""
from layer_cases import B, graph

LONG = "int64"


def named(name, type, *inputs, **arguments):
    return {"name": name, "type": type, **arguments, **({"inputs": list(inputs)} if inputs else {})}


def family(name, inputs, layers, outputs=None, **more):
    """`layers` in a module, whose inputs are those of the model; all their values are outputs unless said otherwise."""
    values = outputs or [layer["name"] for layer in layers]
    graph(name, inputs, [{"name": "net", "type": "DataParallel", "module": {"type": "Family"}}],
          ["net", *(f"net:{i}" for i in range(1, len(values)))],
          modules={"Family": {"inputs": list(inputs), "outputs": values, "layers": layers}}, **more)


family("slices", {"x": [B, 5, 9]}, [
    named("inner", "Slice", "x", dim=1, start=1, end=4), named("stepped", "Slice", "x", dim=2, step=3),
    named("from_end", "Slice", "x", dim=-1, start=-4, end=-1), named("clamped", "Slice", "x", dim=2, start=-40, end=40, step=2),
    named("all", "Slice", "x", dim=0), named("equal", "Split", "x", split_size_or_sections=2, dim=1),
    named("sections", "Split", "x", split_size_or_sections=[2, 3, 4], dim=-1), named("both", "Slice", "sections:2", dim=1, start=3)],
       ["inner", "stepped", "from_end", "clamped", "all", "equal", "equal:1", "equal:2", "sections", "sections:1", "both"])
family("turns", {"x": [B, 3, 4]}, [
    named("roll", "Roll", "x", shifts=[1, -2], dims=[1, 2]), named("one", "Roll", "x", shifts=5, dims=-1),
    named("flip", "Flip", "x", dims=[2, 1]), named("last", "Flip", "x", dims=-1), named("wide", "Unsqueeze", "x", dim=-2),
    named("front", "Unsqueeze", "x", dim=1), named("narrow", "Squeeze", "wide"), named("same", "Squeeze", "front", dim=[1, 3])])
family("pads", {"x": [B, 3, 5, 4]}, [
    named("constant", "Pad", "x", pad=[1, 2, -1, 0], value=1.5), named("channels", "Pad", "x", pad=[0, 0, 0, 0, 1, 2]),
    named("infinite", "Pad", "x", pad=[2, 0], value=-3e38), named("reflect", "Pad", "x", pad=[1, 2, 3, 0], mode="reflect"),
    named("replicate", "Pad", "x", pad=[1, 0, 0, 2], mode="replicate"), named("circular", "Pad", "x", pad=[2, 1, 0, 5], mode="circular")])
family("gather", {"x": [B, 3, 4], "i": ([B, 2, 4], LONG), "j": ([B, 3, 6], LONG)}, [
    named("middle", "Gather", "x", "i", dim=1), named("last", "Gather", "x", "j", dim=-1)])
graph("index_select", {"x": [B, 3, 4], "table": [5, 2, 3], "i": ([2, 3], LONG), "j": ([B], "int32")}, [
    named("middle", "IndexSelect", "x", "i", dim=1), named("last", "IndexSelect", "x", "i", dim=-1),
    named("rows", "IndexSelect", "table", "i", dim=0), named("by_batch", "IndexSelect", "table", "j", dim=2)],
      ["middle", "last", "rows", "by_batch"])
family("reductions", {"x": [B, 3, 4, 2]}, [
    named("sum", "Sum", "x", dim=1), named("apart", "Sum", "x", dim=[1, -1], keepdim=True), named("largest", "AMax", "x", dim=2),
    named("largest_apart", "AMax", "x", dim=[1, 3]), named("smallest", "AMin", "x", dim=-1, keepdim=True),
    named("smallest_two", "AMin", "x", dim=[1, 2]), named("variance", "Var", "x", dim=[1, 2]),
    named("biased", "Var", "x", dim=3, correction=0, keepdim=True), named("where", "ArgMax", "x", dim=1),
    named("where_least", "ArgMin", "x", dim=-1, keepdim=True), named("running", "CumSum", "x", dim=1), named("running_last", "CumSum", "x", dim=-1)])
graph("reductions_of_all", {"x": [B, 3, 4]}, [
    named("sum", "Sum", "x"), named("largest", "AMax", "x"), named("smallest", "AMin", "x"), named("where", "ArgMax", "x"),
    named("rows", "Sum", "x", dim=0), named("row", "AMax", "x", dim=0)], ["sum", "largest", "smallest", "where", "rows", "row"])
family("upsample", {"x": [B, 3, 4, 5]}, [
    named("twice", "Upsample", "x", scale_factor=2), named("nearest", "Upsample", "x", size=[7, 3]),
    named("exact", "Upsample", "x", size=[7, 3], mode="nearest-exact"), named("bilinear", "Upsample", "x", scale_factor=2, mode="bilinear"),
    named("corners", "Upsample", "x", size=[6, 3], mode="bilinear", align_corners=True),
    named("factors", "Upsample", "x", scale_factor=[1.5, 0.7], mode="bilinear"), named("bicubic", "Upsample", "x", size=[9, 4], mode="bicubic"),
    named("bicubic_corners", "Upsample", "x", size=7, mode="bicubic", align_corners=True)])
family("upsample_lines", {"x": [B, 3, 6], "v": [B, 2, 3, 4, 2]}, [
    named("linear", "Upsample", "x", scale_factor=1.6, mode="linear"), named("near", "Upsample", "x", size=11),
    named("trilinear", "Upsample", "v", size=[4, 3, 5], mode="trilinear")])
family("upsampling", {"x": [B, 3, 4, 5]}, [
    named("nearest", "UpsamplingNearest2d", "x", scale_factor=2), named("sized", "UpsamplingNearest2d", "x", size=[7, 3]),
    named("bilinear", "UpsamplingBilinear2d", "x", scale_factor=1.6), named("corners", "UpsamplingBilinear2d", "x", size=[6, 9])])
family("unflatten", {"x": [B, 12, 4], "v": [B, 6]}, [
    named("middle", "Unflatten", "x", dim=1, unflattened_size=[2, -1, 3]), named("last", "Unflatten", "x", dim=-1, unflattened_size=[2, 2]),
    named("one", "Unflatten", "v", dim=1, unflattened_size=[6]), named("rows", "Unflatten", "x", dim=0, unflattened_size=[-1, 1])])
family("adaptive_max_pools", {"x": [B, 3, 7, 8], "row": [B, 4, 9], "block": [B, 2, 5, 6, 4]}, [
    named("image", "AdaptiveMaxPool2d", "x", output_size=[3, 5]), named("even", "AdaptiveMaxPool2d", "x", output_size=[7, 2]),
    named("kept", "AdaptiveMaxPool2d", "x", output_size=[None, 3]), named("one", "AdaptiveMaxPool2d", "x", output_size=1),
    named("larger", "AdaptiveMaxPool2d", "x", output_size=[14, 11]), named("line", "AdaptiveMaxPool1d", "row", output_size=4),
    named("volume", "AdaptiveMaxPool3d", "block", output_size=[2, 4, 2]), named("whole", "AdaptiveMaxPool3d", "block", output_size=1)])
family("max_pool_positions", {"x": [B, 3, 7, 8], "row": [B, 4, 9], "block": [B, 2, 5, 6, 4]}, [
    named("positive", "ReLU", "x"), named("plain", "MaxPool2d", "positive", kernel_size=2, return_indices=True),
    named("overlapping", "MaxPool2d", "positive", kernel_size=3, stride=[1, 2], padding=1, return_indices=True),
    named("dilated", "MaxPool2d", "x", kernel_size=[3, 2], stride=2, padding=[1, 1], dilation=[2, 3], ceil_mode=True, return_indices=True),
    named("line", "MaxPool1d", "row", kernel_size=3, stride=2, padding=1, ceil_mode=True, return_indices=True),
    named("volume", "MaxPool3d", "block", kernel_size=[3, 2, 2], stride=[2, 2, 1], padding=[1, 0, 1], return_indices=True),
    named("adaptive", "AdaptiveMaxPool2d", "positive", output_size=[3, 5], return_indices=True),
    named("even", "AdaptiveMaxPool2d", "positive", output_size=[None, 4], return_indices=True),
    named("adaptive_line", "AdaptiveMaxPool1d", "row", output_size=4, return_indices=True),
    named("adaptive_volume", "AdaptiveMaxPool3d", "block", output_size=[2, 4, 2], return_indices=True)],
       [value for name in ("plain", "overlapping", "dilated", "line", "volume", "adaptive", "even", "adaptive_line", "adaptive_volume")
        for value in (name, f"{name}:1")])
family("max_unpools", {"x": [B, 3, 7, 8], "row": [B, 4, 9], "block": [B, 2, 5, 6, 4]}, [
    named("pool", "MaxPool2d", "x", kernel_size=2, return_indices=True), named("even", "MaxUnpool2d", "pool", "pool:1", kernel_size=2),
    named("sized", "MaxUnpool2d", "pool", "pool:1", kernel_size=2, output_size=[7, 8]),
    named("line", "MaxPool1d", "row", kernel_size=3, stride=2, padding=1, return_indices=True),
    named("longer", "MaxUnpool1d", "line", "line:1", kernel_size=3, stride=2, padding=1),
    named("volume", "MaxPool3d", "block", kernel_size=[3, 2, 2], stride=[2, 2, 2], padding=[1, 0, 1], return_indices=True),
    named("larger", "MaxUnpool3d", "volume", "volume:1", kernel_size=[3, 2, 2], stride=[2, 2, 2], padding=[1, 0, 1], output_size=[5, 6, 4])],
       ["even", "sized", "longer", "larger"])
family("bilinear", {"a": [B, 3, 5], "b": [B, 3, 4]}, [
    named("plain", "Bilinear", "a", "b", in1_features=5, in2_features=4, out_features=6),
    named("no_bias", "Bilinear", "b", "b", in1_features=4, in2_features=4, out_features=1, bias=False)])
family("shuffles", {"x": [B, 12, 4, 2]}, [
    named("pixels", "PixelShuffle", "x", upscale_factor=2), named("back", "PixelUnshuffle", "x", downscale_factor=2),
    named("channels", "ChannelShuffle", "x", groups=3)])
family("pools_1d", {"x": [B, 3, 9]}, [
    named("largest", "MaxPool1d", "x", kernel_size=3, stride=2, padding=1, ceil_mode=True), named("dilated", "MaxPool1d", "x", kernel_size=2, dilation=3),
    named("average", "AvgPool1d", "x", kernel_size=4, stride=3, padding=2, count_include_pad=False), named("adaptive", "AdaptiveAvgPool1d", "x", output_size=4)])
family("pools_3d", {"x": [B, 2, 5, 6, 4]}, [
    named("largest", "MaxPool3d", "x", kernel_size=[3, 2, 2], stride=[2, 2, 1], padding=[1, 0, 1], ceil_mode=True),
    named("average", "AvgPool3d", "x", kernel_size=3, stride=2, padding=1), named("valid", "AvgPool3d", "x", kernel_size=[3, 2, 3], padding=1, count_include_pad=False),
    named("divided", "AvgPool3d", "x", kernel_size=2, divisor_override=-5), named("adaptive", "AdaptiveAvgPool3d", "x", output_size=[2, 3, None])])
family("conv3d", {"x": [B, 4, 5, 6, 4]}, [
    named("plain", "Conv3d", "x", in_channels=4, out_channels=3, kernel_size=[3, 2, 3]),
    named("strided", "Conv3d", "x", in_channels=4, out_channels=6, kernel_size=3, stride=[2, 1, 2], padding=[1, 0, 1], groups=2, bias=False),
    named("dilated", "Conv3d", "x", in_channels=4, out_channels=2, kernel_size=2, dilation=[2, 1, 3], padding=1)])
family("conv_transpose1d", {"x": [B, 4, 5]}, [
    named("plain", "ConvTranspose1d", "x", in_channels=4, out_channels=3, kernel_size=4, stride=2, padding=1),
    named("margin", "ConvTranspose1d", "x", in_channels=4, out_channels=6, kernel_size=3, stride=3, output_padding=2, dilation=2, groups=2, bias=False)])
family("further_norms", {"x": [B, 6, 4, 3, 2], "image": [B, 6, 4, 3], "line": [B, 6, 4]}, [
    named("batch", "BatchNorm3d", "x", num_features=6), named("instance", "InstanceNorm3d", "x", num_features=6),
    named("instance2", "InstanceNorm2d", "image", num_features=6, affine=True, eps=0.01), named("instance1", "InstanceNorm1d", "line", num_features=6, affine=True),
    named("rms", "RMSNorm", "line", normalized_shape=4), named("rms_two", "RMSNorm", "image", normalized_shape=[4, 3], eps=0.1, elementwise_affine=False)])
family("pad_modules", {"image": [B, 3, 5, 4], "line": [B, 3, 6], "volume": [B, 2, 3, 4, 3]}, [
    named("zero1", "ZeroPad1d", "line", padding=[1, 2]), named("zero2", "ZeroPad2d", "image", padding=[1, 0, 2, -1]), named("zero3", "ZeroPad3d", "volume", padding=1),
    named("constant1", "ConstantPad1d", "line", padding=[-1, 3], value=1.5), named("constant2", "ConstantPad2d", "image", padding=1, value=-0.5),
    named("constant3", "ConstantPad3d", "volume", padding=[1, 0, 0, 1, 2, 0], value=2.5), named("reflect1", "ReflectionPad1d", "line", padding=2),
    named("reflect2", "ReflectionPad2d", "image", padding=[1, 2, 3, 0]), named("reflect3", "ReflectionPad3d", "volume", padding=1),
    named("replicate1", "ReplicationPad1d", "line", padding=[3, 0]), named("replicate2", "ReplicationPad2d", "image", padding=[0, 1, 2, 3]),
    named("replicate3", "ReplicationPad3d", "volume", padding=2), named("circular1", "CircularPad1d", "line", padding=[4, 1]),
    named("circular2", "CircularPad2d", "image", padding=2), named("circular3", "CircularPad3d", "volume", padding=[1, 1, 2, 0, 0, 1])])
family("distances", {"a": [B, 3, 5], "b": [B, 3, 5], "image": [B, 3, 2, 4]}, [
    named("two", "PairwiseDistance", "a", "b"), named("one", "PairwiseDistance", "a", "b", p=1, keepdim=True), named("exact", "PairwiseDistance", "a", "b", p=3.5, eps=0),
    named("cosine", "CosineSimilarity", "a", "b"), named("cosine_last", "CosineSimilarity", "a", "b", dim=-1, eps=2.0),
    named("softmin", "Softmin", "a", dim=1), named("softmax2d", "Softmax2d", "image")])
tiles = {"kernel_size": [2, 3], "stride": [2, 3]}
windows = {"kernel_size": [2, 3], "dilation": [2, 1], "padding": [1, 2], "stride": [2, 1]}
family("columns", {"x": [B, 2, 6, 9]}, [
    named("plain", "Unfold", "x", kernel_size=3), named("windows", "Unfold", "x", **windows), named("tiles", "Unfold", "x", **tiles),
    named("back", "Fold", "plain", output_size=[6, 9], kernel_size=3), named("windows_back", "Fold", "windows", output_size=[6, 9], **windows),
    named("tiles_back", "Fold", "tiles", output_size=[6, 9], **tiles), named("far_apart", "Unfold", "x", kernel_size=2, stride=5),
    named("far_back", "Fold", "far_apart", output_size=[6, 8], kernel_size=2, stride=5)])
family("lp_pools", {"x": [B, 3, 7, 6], "row": [B, 3, 9], "block": [B, 2, 4, 5, 3]}, [
    named("image", "LPPool2d", "x", norm_type=2, kernel_size=3), named("steps", "LPPool2d", "x", norm_type=4, kernel_size=[2, 3], stride=[1, 2], ceil_mode=True),
    named("line", "LPPool1d", "row", norm_type=2.0, kernel_size=4, stride=2), named("volume", "LPPool3d", "block", norm_type=2, kernel_size=2)])
cell = {"input_size": 5, "hidden_size": 4}
family("cells", {"x": [B, 5], "h": [B, 4], "c": [B, 4]}, [
    named("lstm", "LSTMCell", "x", "h", "c", **cell), named("lstm0", "LSTMCell", "x", bias=False, **cell), named("gru", "GRUCell", "x", "h", **cell),
    named("gru0", "GRUCell", "x", **cell), named("rnn", "RNNCell", "x", "h", **cell), named("rnn0", "RNNCell", "x", nonlinearity="relu", bias=False, **cell)],
       ["lstm", "lstm:1", "lstm0", "lstm0:1", "gru", "gru0", "rnn", "rnn0"])
heads = [B, 4, 3, 5]
family("attention_scores", {"q": heads, "k": [B, 4, 6, 5], "v": [B, 4, 6, 2], "mask_b": ([B, 1, 3, 6], LONG), "bias": [B, 4, 3, 6], "kk": [B, 2, 6, 5], "vv": [B, 2, 6, 2]}, [
    named("plain", "ScaledDotProductAttention", "q", "k", "v"), named("scaled", "ScaledDotProductAttention", "q", "k", "v", scale=0.7, dropout_p=0.3),
    named("causal", "ScaledDotProductAttention", "q", "k", "v", is_causal=True), named("masked", "ScaledDotProductAttention", "q", "k", "v", "mask_b"),
    named("biased", "ScaledDotProductAttention", "q", "k", "v", "bias"), named("groups", "ScaledDotProductAttention", "q", "kk", "vv", enable_gqa=True, is_causal=True)])
mha = {"embed_dim": 8, "num_heads": 2, "batch_first": True}
family("attention_masks", {"x": [B, 5, 8], "mask_keys": ([B, 5], LONG)}, [
    named("padded", "MultiheadAttention", "x", "x", "x", "mask_keys", key_padding_mask=True, **mha),
    named("causal", "MultiheadAttention", "x", "x", "x", is_causal=True, average_attn_weights=False, **mha),
    named("alone", "MultiheadAttention", "x", "x", "x", need_weights=False, **mha)], ["padded", "padded:1", "causal", "causal:1", "alone"])
graph("attention_mask_of_all", {"x": [5, B, 8], "mask_pairs": ([5, 5], LONG)}, [
    named("net", "MultiheadAttention", "x", "x", "x", "mask_pairs", embed_dim=8, num_heads=4, attn_mask=True)], ["net", "net:1"])
block = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "batch_first": True}
family("transformer_layers", {"x": [B, 5, 8], "memory": [B, 4, 8], "mask_keys": ([B, 5], LONG), "mask_memory": ([B, 4], LONG)}, [
    named("after", "TransformerEncoderLayer", "x", **block), named("first", "TransformerEncoderLayer", "x", norm_first=True, activation="gelu", is_causal=True, **block),
    named("padded", "TransformerEncoderLayer", "x", "mask_keys", src_key_padding_mask=True, layer_norm_eps=0.1, **block),
    named("plain", "TransformerDecoderLayer", "x", "memory", **block),
    named("decoded", "TransformerDecoderLayer", "x", "memory", "mask_keys", "mask_memory", tgt_key_padding_mask=True, memory_key_padding_mask=True, norm_first=True, bias=False, **block)])
graph("transformer", {"source": [4, B, 8], "target": [3, B, 8], "mask_pairs": ([4, 4], LONG)}, [
    named("encoded", "TransformerEncoder", "source", "mask_pairs", num_layers=2, norm=True, mask=True, **{**block, "batch_first": False}),
    named("decoded", "TransformerDecoder", "target", "encoded", num_layers=1, tgt_is_causal=True, **{**block, "batch_first": False}),
    named("net", "DataParallel", "source", "target", dim=1, module={"type": "Transformer", "num_encoder_layers": 2, "num_decoder_layers": 1, "tgt_is_causal": True, "activation": "gelu",
                                                                  **{**block, "batch_first": False}})], ["encoded", "decoded", "net"])
# Swin's and MaxViT's windows: each row becomes four, a layer sees these, and they become one again.
WINDOWS = [
    named("apart", "Reshape", "x", shape=[-1, 2, 4, 2, 3, 5]), named("turned", "Permute", dims=[0, 1, 3, 2, 4, 5]), named("windows", "Reshape", shape=[-1, 12, 5])]
JOINED = [
    named("grid", "Reshape", shape=[-1, 2, 2, 4, 3, 5]), named("back", "Permute", dims=[0, 1, 3, 2, 4, 5]), named("out", "Reshape", shape=[-1, 8, 6, 5])]
family("windows", {"x": [B, 8, 6, 5]}, [*WINDOWS, named("fc", "Linear", in_features=5, out_features=5), named("pooled", "AMax", dim=1, keepdim=True),
                                        named("both", "Add", "fc", "pooled"), *JOINED], ["out", "windows"])
# More queries than are taken at once.
family("long_attention", {"q": [B, 1030, 2], "k": [B, 5, 2], "bias": [B, 1030, 5], "mask": ([B, 1, 5], LONG)}, [
    named("causal", "ScaledDotProductAttention", "q", "k", "k", is_causal=True), named("biased", "ScaledDotProductAttention", "q", "k", "k", "bias"),
    named("masked", "ScaledDotProductAttention", "q", "k", "k", "mask"),
    named("module", "MultiheadAttention", "q", "k", "k", embed_dim=2, num_heads=2, batch_first=True, need_weights=False, is_causal=True)], batch=3)
bag = {"num_embeddings": 7, "embedding_dim": 3}
family("embedding_bag", {"i": ([B, 4], LONG)}, [
    named("mean", "EmbeddingBag", "i", **bag), named("total", "EmbeddingBag", "i", mode="sum", **bag), named("largest", "EmbeddingBag", "i", mode="max", **bag)])
family("orders", {"x": [B, 5, 9], "number": ([B, 12], LONG), "p": [B, 4, 6]}, [
    named("sorted", "Sort", "x"), named("down", "Sort", "x", dim=1, descending=True), named("positions", "ArgSort", "x", dim=1), named("ties", "ArgSort", "number", descending=True),
    named("numbers", "Sort", "number"), named("top", "TopK", "x", k=3), named("least", "TopK", "x", k=2, dim=1, largest=False), named("highest", "CumMax", "x", dim=2),
    named("lowest", "CumMin", "x", dim=1), named("last_lowest", "CumMin", "number", dim=-1), named("product", "CumProd", "p", dim=1), named("product_last", "CumProd", "p", dim=-1),
    named("logs", "LogCumSumExp", "x", dim=2)],
       ["sorted", "sorted:1", "down", "down:1", "positions", "ties", "numbers", "numbers:1", "top", "top:1", "least", "least:1", "highest", "highest:1", "lowest", "lowest:1",
        "last_lowest", "last_lowest:1", "product", "product_last", "logs"])
family("scatter", {"x": [B, 4, 5], "i": ([B, 4, 3], LONG), "j": ([B, 7, 5], "int32"), "number": ([B, 4, 5], LONG), "s": [B, 4, 3], "t": [B, 7, 5]}, [
    named("last", "Scatter", "x", "i", "s", dim=2), named("middle", "ScatterAdd", "x", "j", "t", dim=1), named("several", "ScatterAdd", "x", "i", "s", dim=-1),
    named("ones", "Constant", value=1, dtype="int64"), named("all", "Expand", "ones", "i", shape=["batch", 4, 3]), named("counts", "ScatterAdd", "number", "i", "all", dim=2)],
       ["last", "middle", "several", "counts"])
