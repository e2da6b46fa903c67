"""Training cases of what takes parts of tensors, reduces, resamples and attends: their gradients."""
from layer_cases import B
from tensor_cases import JOINED, WINDOWS
from train_cases import FEW, INT, case, conv, linear, named, of, parallel

SGD = {"type": "SGD", "lr": 0.5}


def family(name, inputs, layers, target, outputs=("sum",), optimizer=SGD, devices=FEW, **more):
    """`layers` in a module in a DataParallel; the last one's value, or `outputs`, leave it."""
    case(name, inputs, [parallel("net", of("Family"))], target, "MSELoss", optimizer, devices=devices,
         modules={"Family": {"inputs": list(inputs), "outputs": list(outputs), "layers": layers}}, **more)


family("slices", {"x": [B, 4, 6]}, [
    named("fc", linear(6, 9), "x"), named("tanh", of("Tanh")), named("inner", of("Slice", dim=1, start=1, end=3), "tanh"),
    named("stepped", of("Slice", dim=2, start=1, step=3), "inner"), named("parts", of("Split", split_size_or_sections=[2, 4, 3], dim=2), "inner"),
    named("equal", of("Split", split_size_or_sections=4, dim=-1), "tanh"), named("rows", of("Slice", dim=1, step=2), "equal:1"),
    named("flipped", of("Flip", dims=[1, 2]), "parts:2"), named("rolled", of("Roll", shifts=[1, 2], dims=[1, 2]), "parts:1"),
    named("wide", of("Unsqueeze", dim=1), "parts"), named("narrow", of("Squeeze", dim=1)),
    named("sum", of("Concat", dim=2), "stepped", "flipped", "rolled", "narrow", "rows")], [B, 2, 16], batch=7)
family("pads", {"x": [B, 3, 4]}, [
    named("fc", linear(4, 5), "x"), named("image", of("Reshape", shape=[-1, 1, 3, 5])), named("constant", of("Pad", pad=[1, 2, -1, 0], value=0.5), "image"),
    named("reflect", of("Pad", pad=[2, 1, 0, 0], mode="reflect"), "image"), named("replicate", of("Pad", pad=[0, 3, 0, 0], mode="replicate"), "image"),
    named("circular", of("Pad", pad=[1, 2, 0, 0], mode="circular"), "image"), named("all", of("Concat", dim=2), "constant", "reflect", "replicate", "circular"),
    named("sum", of("Tanh"))], [B, 1, 11, 8], batch=7)
family("columns", {"x": [B, 2, 5, 6]}, [
    named("conv", conv(2, 2, 1), "x"), named("seen", of("Unfold", kernel_size=[2, 3], dilation=[2, 1], padding=[1, 0], stride=[1, 2])), named("tanh", of("Tanh")),
    named("back", of("Fold", output_size=[8, 6], kernel_size=[2, 3], padding=[1, 0], stride=[2, 2])), named("sum", of("ZeroPad2d", padding=[0, -2, 1, 0]))], [B, 2, 9, 4],
       batch=7)
family("distances", {"x": [B, 3, 4]}, [
    named("fa", linear(4, 5), "x"), named("fb", linear(4, 5), "x"), named("two", of("PairwiseDistance"), "fa", "fb"), named("one", of("PairwiseDistance", p=1.5), "fa", "fb"),
    named("cosine", of("CosineSimilarity", dim=-1), "fa", "fb"), named("softmin", of("Softmin", dim=-1), "fa"), named("first", of("Select", dim=2, index=0), "softmin"),
    named("rest", of("Remainder", other=0.7), "fb"), named("third", of("Select", dim=2, index=2), "rest"), named("sum", of("Concat", dim=1), "two", "one", "cosine", "first", "third")],
       [B, 15], batch=7)
family("lp_pools", {"x": [B, 2, 5, 6]}, [
    named("conv", conv(2, 3, 1), "x"), named("positive", of("Softplus")), named("pool", of("LPPool2d", norm_type=3.0, kernel_size=2, ceil_mode=True), "positive"), named("sum", of("Tanh"))], [B, 3, 3, 3],
       batch=7)
family("cells", {"x": [B, 5], "h": [B, 4], "c": [B, 4]}, [
    named("tanh", linear(5, 5), "x"), named("lstm", of("LSTMCell", input_size=5, hidden_size=4), "tanh", "h", "c"),
    named("gru", of("GRUCell", input_size=4, hidden_size=4), "lstm:1", "lstm"), named("rnn", of("RNNCell", input_size=4, hidden_size=4), "lstm", "gru"),
    named("detached", of("Detach"), "lstm"), named("sum", of("Add"), "rnn", "detached")], [B, 4], batch=7)
family("gather", {"x": [B, 3, 4], "i": ([B, 2, 5], INT)}, [
    named("fc", linear(4, 5), "x"), named("tanh", of("Tanh")), named("found", of("Gather", dim=1), "tanh", "i"), named("sum", linear(5, 2))], [B, 2, 2], batch=7)
family("reductions", {"x": [B, 3, 4]}, [
    named("fc", linear(4, 6), "x"), named("tanh", of("Tanh")), named("total", of("Sum", dim=1), "tanh"), named("largest", of("AMax", dim=1), "tanh"),
    named("smallest", of("AMin", dim=[1]), "tanh"), named("variance", of("Var", dim=1), "tanh"), named("running", of("CumSum", dim=2), "tanh"),
    named("ends", of("AMax", dim=[1, 2]), "running"), named("column", of("Reshape", shape=[-1, 1])),
    named("last", of("Select", dim=1, index=1), "running"), named("sum", of("Concat", dim=1), "total", "largest", "smallest", "variance", "column", "last")],
       [B, 31], optimizer={"type": "SGD", "lr": 0.2}, batch=7)
family("upsample", {"x": [B, 2, 3, 4]}, [
    named("conv", conv(2, 3, 1), "x"), named("tanh", of("Tanh")), named("nearest", of("Upsample", size=[5, 6]), "tanh"),
    named("bilinear", of("Upsample", size=[5, 6], mode="bilinear"), "tanh"), named("corners", of("Upsample", size=[5, 6], mode="bilinear", align_corners=True), "tanh"),
    named("bicubic", of("Upsample", size=[5, 6], mode="bicubic"), "tanh"), named("channels", of("Concat", dim=1), "nearest", "bilinear", "corners", "bicubic"),
    named("shuffled", of("ChannelShuffle", groups=4)), named("mixed", conv(12, 4, 1)), named("smaller", of("Upsample", size=[2, 6], mode="bilinear")),
    named("pixels", of("PixelShuffle", upscale_factor=2)), named("bent", of("Tanh")), named("sum", of("PixelUnshuffle", downscale_factor=2))],
       [B, 4, 2, 6], batch=7)
family("adaptive_max_pools", {"x": [B, 2, 7, 8]}, [
    named("conv", conv(2, 4, 3), "x"), named("image", of("AdaptiveMaxPool2d", output_size=[3, 4])), named("line", of("Flatten", start_dim=2)),
    named("fewer", of("AdaptiveMaxPool1d", output_size=8)), named("volume", of("Unflatten", dim=2, unflattened_size=[2, 2, 2])),
    named("more", of("AdaptiveMaxPool3d", output_size=[3, 2, 1])), named("flat", of("Flatten")), named("sum", linear(24, 2))], [B, 2],
       optimizer={"type": "SGD", "lr": 0.002})
family("max_unpools", {"x": [B, 2, 6, 8]}, [
    named("conv", conv(2, 3, 3, padding=1), "x"), named("tanh", of("Tanh")), named("pool", of("MaxPool2d", kernel_size=2, return_indices=True)),
    named("inner", conv(3, 3, 3, padding=1), "pool"), named("image", of("MaxUnpool2d", kernel_size=2), "inner", "pool:1"),
    named("line", of("Flatten", start_dim=2), "image"), named("fewer", of("AdaptiveMaxPool1d", output_size=20, return_indices=True)),
    named("sum", of("MaxUnpool1d", kernel_size=10, stride=2), "fewer", "fewer:1")], [B, 3, 48], optimizer={"type": "SGD", "lr": 0.2}, batch=7)
family("bilinear", {"x": [B, 3, 4]}, [
    named("fa", linear(4, 5), "x"), named("fb", linear(4, 3), "x"), named("net", of("Bilinear", in1_features=5, in2_features=3, out_features=4), "fa", "fb"),
    named("sum", of("Bilinear", in1_features=4, in2_features=5, out_features=2, bias=False), "net", "fa")], [B, 3, 2],
       optimizer={"type": "SGD", "lr": 0.005}, batch=7)
family("upsampling", {"x": [B, 2, 3, 4]}, [
    named("conv", conv(2, 3, 1), "x"), named("tanh", of("Tanh")), named("nearest", of("UpsamplingNearest2d", size=[5, 6]), "tanh"),
    named("bilinear", of("UpsamplingBilinear2d", size=[5, 6]), "tanh"), named("sum", of("Concat", dim=1), "nearest", "bilinear")], [B, 6, 5, 6], batch=7)
family("line_and_volume", {"x": [B, 2, 4, 6, 4]}, [
    named("conv", conv(2, 4, [3, 2, 3], "Conv3d", padding=[1, 0, 1], stride=[1, 1, 2], bias=False), "x"), named("norm", of("BatchNorm3d", num_features=4)), named("tanh", of("Tanh")),
    named("largest", of("MaxPool3d", kernel_size=2, stride=[2, 2, 1])), named("line", of("Flatten", start_dim=2)),
    named("transposed", conv(4, 2, 3, "ConvTranspose1d", stride=2, padding=1)), named("bent", of("Tanh")), named("pooled", of("AvgPool1d", kernel_size=3, stride=2)),
    named("sum", of("AdaptiveAvgPool1d", output_size=2))], [B, 2, 2], batch=12)
family("further_norms", {"x": [B, 4, 6]}, [
    named("conv", conv(4, 6, 3, "Conv1d", bias=False), "x"), named("instance", of("InstanceNorm1d", num_features=6, affine=True)), named("tanh", of("Tanh")),
    named("fc", linear(4, 5)), named("rms", of("RMSNorm", normalized_shape=5)), named("sum", linear(5, 3))], [B, 6, 3], batch=7)
family("attention_scores", {"q": [B, 3, 4], "k": [B, 5, 4], "mask": ([B, 1, 3, 5], INT)}, [
    named("fq", linear(4, 8), "q"), named("q4", of("Reshape", shape=[-1, 3, 2, 4])), named("query", of("Permute", dims=[0, 2, 1, 3])),
    named("fk", linear(4, 8), "k"), named("k4", of("Reshape", shape=[-1, 5, 2, 4])), named("key", of("Permute", dims=[0, 2, 1, 3])),
    named("fv", linear(4, 4), "k"), named("value", of("Reshape", shape=[-1, 1, 5, 4])), named("causal", of("ScaledDotProductAttention", is_causal=True), "query", "key", "key"),
    named("masked", of("ScaledDotProductAttention"), "query", "key", "key", "mask"), named("grouped", of("ScaledDotProductAttention", enable_gqa=True), "query", "value", "value"),
    named("sum", of("Concat", dim=1), "causal", "masked", "grouped")], [B, 6, 3, 4], optimizer={"type": "SGD", "lr": 2.0})
family("attention_masks", {"x": [B, 4, 8], "bias": [B, 4]}, [
    named("causal", of("MultiheadAttention", embed_dim=8, num_heads=2, batch_first=True, is_causal=True, need_weights=False), "x", "x", "x"),
    named("sum", of("MultiheadAttention", embed_dim=8, num_heads=2, batch_first=True, key_padding_mask=True), "causal", "x", "x", "bias")],
       [B, 4, 8], optimizer={"type": "SGD", "lr": 1.0})
family("windows", {"x": [B, 8, 6, 5]}, [
    *WINDOWS, named("fc", linear(5, 5)), named("attended", of("ScaledDotProductAttention"), "fc", "windows", "fc"), *JOINED], [B, 8, 6, 5],
       optimizer={"type": "SGD", "lr": 5.0}, outputs=["out"], batch=7)
family("long_attention", {"q": [B, 1030, 2], "k": [B, 5, 2], "b": [B, 1030, 3], "c": [B, 1, 3]}, [
    named("query", linear(2, 2), "q"), named("key", linear(2, 2, bias=False), "k"), named("value", linear(2, 3), "k"), named("rows", linear(3, 5), "b"), named("row", linear(3, 5), "c"),
    named("causal", of("ScaledDotProductAttention", is_causal=True), "query", "key", "value"), named("biased", of("ScaledDotProductAttention"), "query", "key", "value", "rows"),
    named("same", of("ScaledDotProductAttention", scale=1.5), "query", "key", "value", "row"), named("two", of("Add"), "biased", "same"), named("all", of("Add"), "two", "causal"),
    named("one", of("Flatten", start_dim=1)), named("sum", linear(3090, 2))], [B, 2], optimizer={"type": "SGD", "lr": 0.3}, batch=7)
family("embedding_bag", {"i": ([B, 4], INT)}, [
    named("mean", of("EmbeddingBag", num_embeddings=7, embedding_dim=3), "i"), named("total", of("EmbeddingBag", num_embeddings=7, embedding_dim=3, mode="sum"), "i"),
    named("largest", of("EmbeddingBag", num_embeddings=7, embedding_dim=3, mode="max"), "i"), named("two", of("Mul"), "mean", "total"),
    named("sum", of("Add"), "two", "largest")], [B, 3], optimizer={"type": "SGD", "lr": 0.2}, batch=7)
family("orders", {"x": [B, 3, 4], "i": ([B, 3, 2], INT)}, [
    named("fc", linear(4, 6), "x"), named("tanh", of("Tanh")), named("sorted", of("Sort", dim=1, descending=True), "tanh"), named("top", of("TopK", k=2), "tanh"),
    named("highest", of("CumMax", dim=2), "tanh"), named("lowest", of("CumMin", dim=1), "tanh"), named("product", of("CumProd", dim=2), "tanh"),
    named("logs", of("LogCumSumExp", dim=1), "tanh"), named("put", of("Scatter", dim=2), "tanh", "i", "top"), named("added", of("ScatterAdd", dim=2), "tanh", "i", "top"),
    named("sum", of("Concat", dim=2), "sorted", "top", "highest", "lowest", "product", "logs", "put", "added")], [B, 3, 44], batch=7)
