"""The layer cases of the golden tests: each layer of the model file's format in several configurations.

A case is (name, model as a dict, batch size). Most wrap the layer in DataParallel: `--devices cpu` runs it as it
stands, any other device list partitioned; the expected values are the same.
"""


def model(name, inputs, layers, outputs=None, **more):
    decls = {k: {"shape": v[0], "dtype": v[1]} if isinstance(v, tuple) else {"shape": v} for k, v in inputs.items()}
    spec = {"sheaf": "1.0", "name": name, "inputs": decls, **more, "layers": layers}
    return {**spec, "outputs": outputs} if outputs else spec


CASES = []


def case(name, type, x, batch=5, parallel=True, split=0, outputs=None, dtype="float32", **arguments):
    """One layer of one input x; `x` is its shape."""
    layer = {"type": type, **arguments}
    if parallel:
        layer = {"name": "net", "type": "DataParallel", "module": layer, **({"dim": split} if split else {})}
    else:
        layer = {"name": "net", **layer}
    CASES.append((name, model(name, {"x": (x, dtype)}, [layer], outputs), batch))


def graph(name, inputs, layers, outputs=None, batch=5, **more):
    CASES.append((name, model(name, inputs, layers, outputs, **more), batch))


B = "batch"

case("linear", "Linear", [B, 7], in_features=7, out_features=5)
case("linear_no_bias", "Linear", [B, 7], in_features=7, out_features=5, bias=False)
case("linear_3d", "Linear", [B, 3, 7], in_features=7, out_features=5)
case("linear_dim1", "Linear", [3, B, 7], in_features=7, out_features=5, split=1)
case("linear_dim_negative", "Linear", [3, B, 7], in_features=7, out_features=5, split=-2)

case("conv1d", "Conv1d", [B, 4, 11], in_channels=4, out_channels=6, kernel_size=3)
case("conv1d_stride_pad_dilation", "Conv1d", [B, 4, 16], in_channels=4, out_channels=6, kernel_size=3, stride=2, padding=2, dilation=2)
case("conv1d_same", "Conv1d", [B, 4, 10], in_channels=4, out_channels=4, kernel_size=4, padding="same", groups=2)
case("conv2d", "Conv2d", [B, 3, 8, 9], in_channels=3, out_channels=5, kernel_size=3)
case("conv2d_rectangle", "Conv2d", [B, 3, 9, 8], in_channels=3, out_channels=5, kernel_size=[3, 2], stride=[2, 1], padding=[1, 0], bias=False)
case("conv2d_groups", "Conv2d", [B, 4, 7, 7], in_channels=4, out_channels=6, kernel_size=3, groups=2, padding=1)
case("conv2d_depthwise", "Conv2d", [B, 4, 7, 7], in_channels=4, out_channels=8, kernel_size=3, groups=4, padding=1)
case("conv2d_dilation", "Conv2d", [B, 3, 10, 10], in_channels=3, out_channels=4, kernel_size=3, dilation=[2, 3], padding=2)
case("conv2d_same", "Conv2d", [B, 3, 7, 7], in_channels=3, out_channels=4, kernel_size=[4, 3], padding="same", dilation=[1, 2])
case("conv2d_valid", "Conv2d", [B, 3, 7, 7], in_channels=3, out_channels=4, kernel_size=3, padding="valid")
for mode in ("reflect", "replicate", "circular"):
    case(f"conv1d_{mode}", "Conv1d", [B, 4, 7], in_channels=4, out_channels=3, kernel_size=5, padding=4, padding_mode=mode)
    case(f"conv2d_{mode}", "Conv2d", [B, 3, 6, 7], in_channels=3, out_channels=4, kernel_size=[4, 3], padding=[2, 1], stride=[1, 2], padding_mode=mode)
case("conv2d_same_reflect", "Conv2d", [B, 3, 7, 7], in_channels=3, out_channels=4, kernel_size=[4, 3], padding="same", dilation=[1, 2], padding_mode="reflect")
case("conv2d_pointwise", "Conv2d", [B, 16, 5, 5], in_channels=16, out_channels=16, kernel_size=1, stride=2)
case("conv_transpose2d", "ConvTranspose2d", [B, 4, 5, 5], in_channels=4, out_channels=3, kernel_size=4, stride=2, padding=1, bias=False)
case("conv_transpose2d_output_padding", "ConvTranspose2d", [B, 4, 4, 5], in_channels=4, out_channels=3, kernel_size=3, stride=[2, 3], padding=1, output_padding=[1, 2])
case("conv_transpose2d_groups_dilation", "ConvTranspose2d", [B, 4, 4, 4], in_channels=4, out_channels=6, kernel_size=3, groups=2, dilation=2)

case("conv_transpose3d", "ConvTranspose3d", [B, 4, 3, 4, 5], in_channels=4, out_channels=6, kernel_size=[4, 3, 2], stride=[2, 1, 3], padding=[1, 2, 0],
     output_padding=[1, 0, 2], groups=2)
case("conv_transpose3d_dilation", "ConvTranspose3d", [B, 2, 4, 3, 3], in_channels=2, out_channels=3, kernel_size=2, padding=[3, 0, 1], dilation=[4, 1, 2], bias=False)

case("local_response_norm", "LocalResponseNorm", [B, 7, 4, 3], size=5, alpha=0.5)
case("local_response_norm_even", "LocalResponseNorm", [B, 5, 6], size=4, alpha=2, beta=1.5, k=0.5)
case("local_response_norm_wide", "LocalResponseNorm", [B, 3, 2, 3, 2], size=8, beta=0.5, k=2)

case("sync_batch_norm", "SyncBatchNorm", [B, 6, 4, 3], parallel=False, num_features=6)
case("sync_batch_norm_parallel", "SyncBatchNorm", [B, 6, 4, 3], num_features=6)
case("sync_batch_norm_untracked", "SyncBatchNorm", [B, 6, 4], num_features=6, track_running_stats=False)

case("batch_norm1d", "BatchNorm1d", [B, 6], num_features=6)
case("batch_norm1d_3d", "BatchNorm1d", [B, 6, 4], num_features=6, eps=0.01)
case("batch_norm1d_plain", "BatchNorm1d", [B, 6], num_features=6, affine=False)
case("batch_norm2d", "BatchNorm2d", [B, 6, 4, 3], num_features=6)
case("batch_norm1d_untracked", "BatchNorm1d", [B, 6], parallel=False, num_features=6, track_running_stats=False)
case("batch_norm2d_untracked", "BatchNorm2d", [B, 6, 4, 3], parallel=False, num_features=6, track_running_stats=False, affine=False)
case("layer_norm", "LayerNorm", [B, 4, 6], normalized_shape=6)
case("layer_norm_2d", "LayerNorm", [B, 4, 6], normalized_shape=[4, 6], eps=0.001)
case("layer_norm_plain", "LayerNorm", [B, 4, 6], normalized_shape=[6], elementwise_affine=False)
case("group_norm", "GroupNorm", [B, 6, 4, 3], num_groups=3, num_channels=6)
case("group_norm_instance", "GroupNorm", [B, 6, 5], num_groups=6, num_channels=6, eps=0.01)
case("group_norm_plain", "GroupNorm", [B, 6], num_groups=2, num_channels=6, affine=False)

ACTIVATIONS = {
    "relu": ("ReLU", {}), "relu_inplace": ("ReLU", {"inplace": True}),
    "leaky_relu": ("LeakyReLU", {}), "leaky_relu_steep": ("LeakyReLU", {"negative_slope": 0.3}),
    "elu": ("ELU", {}), "elu_alpha": ("ELU", {"alpha": 0.4}), "silu": ("SiLU", {}), "gelu": ("GELU", {}),
    "gelu_tanh": ("GELU", {"approximate": "tanh"}), "tanh": ("Tanh", {}), "sigmoid": ("Sigmoid", {}),
    "hardtanh": ("Hardtanh", {}), "hardtanh_range": ("Hardtanh", {"min_val": -3.0, "max_val": 0.5}),
}
for name, (type_, arguments) in ACTIVATIONS.items():
    # Two ranges: where the function bends, and where exp would overflow.
    graph(name, {"x": [B, 37], "wide": [B, 37]}, [
        {"name": "net", "type": "DataParallel", "inputs": ["x"], "module": {"type": type_, **arguments}},
        {"name": "far", "type": "DataParallel", "inputs": ["wide"], "module": {"type": type_, **arguments}}], ["net", "far"])
for name, type_, shape, dim in (("last", "Softmax", [B, 9], 1), ("negative", "Softmax", [B, 3, 9], -1), ("middle", "Softmax", [B, 9, 4], 1),
                                ("log_last", "LogSoftmax", [B, 9], 1), ("log_middle", "LogSoftmax", [B, 9, 4], -2)):
    graph("softmax_" + name, {"x": shape, "wide": shape}, [
        {"name": "net", "type": "DataParallel", "inputs": ["x"], "module": {"type": type_, "dim": dim}},
        {"name": "far", "type": "DataParallel", "inputs": ["wide"], "module": {"type": type_, "dim": dim}}], ["net", "far"])
graph("softmax_rows", {"x": [B, 4]}, [{"name": "net", "type": "Softmax", "dim": 0}])
case("dropout", "Dropout", [B, 6], p=0.7)
case("identity", "Identity", [B, 6])

case("max_pool2d", "MaxPool2d", [B, 3, 8, 7], kernel_size=2)
case("max_pool2d_ceil", "MaxPool2d", [B, 3, 8, 7], kernel_size=3, stride=2, ceil_mode=True)
case("max_pool2d_padding_dilation", "MaxPool2d", [B, 3, 9, 9], kernel_size=[3, 2], stride=[2, 1], padding=1, dilation=[2, 1])
case("max_pool2d_ceil_padding", "MaxPool2d", [B, 3, 6, 7], kernel_size=3, stride=3, padding=1, ceil_mode=True)
case("max_pool2d_padding_of_dilated", "MaxPool2d", [B, 3, 8, 7], kernel_size=3, stride=2, padding=2, dilation=2)
case("max_pool2d_ceil_dilated", "MaxPool2d", [B, 3, 8, 7], kernel_size=3, stride=[2, 3], padding=1, dilation=[2, 3], ceil_mode=True)
case("max_pool2d_ceil_overhanging", "MaxPool2d", [B, 3, 2, 2], kernel_size=3, stride=2, ceil_mode=True)
case("avg_pool2d", "AvgPool2d", [B, 3, 8, 7], kernel_size=2)
case("avg_pool2d_ceil_overhanging", "AvgPool2d", [B, 3, 2, 4], kernel_size=3, stride=2, ceil_mode=True)
case("avg_pool2d_ceil_padding_small", "AvgPool2d", [B, 3, 1, 2], kernel_size=4, stride=3, padding=2, ceil_mode=True, count_include_pad=False)
case("avg_pool2d_padding", "AvgPool2d", [B, 3, 8, 7], kernel_size=3, stride=2, padding=1)
case("avg_pool2d_exclude_pad", "AvgPool2d", [B, 3, 8, 7], kernel_size=[3, 2], stride=[2, 1], padding=1, count_include_pad=False)
case("avg_pool2d_ceil", "AvgPool2d", [B, 3, 8, 8], kernel_size=3, stride=2, padding=1, ceil_mode=True)
case("avg_pool2d_ceil_exclude_pad", "AvgPool2d", [B, 3, 8, 8], kernel_size=3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)
case("avg_pool2d_divisor", "AvgPool2d", [B, 3, 8, 8], kernel_size=3, divisor_override=5)
case("adaptive_avg_pool2d_1", "AdaptiveAvgPool2d", [B, 3, 7, 5], output_size=1)
case("adaptive_avg_pool2d_3", "AdaptiveAvgPool2d", [B, 3, 7, 8], output_size=3)
case("adaptive_avg_pool2d_none", "AdaptiveAvgPool2d", [B, 3, 7, 6], output_size=[5, None])
case("adaptive_avg_pool2d_enlarge", "AdaptiveAvgPool2d", [B, 3, 3, 4], output_size=[5, 7])

case("flatten", "Flatten", [B, 3, 4, 2])
case("flatten_middle", "Flatten", [B, 3, 4, 2], start_dim=1, end_dim=2)
case("flatten_tail", "Flatten", [B, 3, 4, 2], start_dim=-2)
case("embedding", "Embedding", [B, 6], dtype="int64", num_embeddings=11, embedding_dim=5)
case("embedding_padding_idx", "Embedding", [B], dtype="int64", num_embeddings=11, embedding_dim=5, padding_idx=3)
case("embedding_sparse", "Embedding", [B, 6], dtype="int64", num_embeddings=11, embedding_dim=5, sparse=True)
case("embedding_int32", "Embedding", [B, 2], dtype="int32", num_embeddings=11, embedding_dim=5)

for kind in ("LSTM", "GRU", "RNN"):
    low, n = kind.lower(), (3 if kind == "LSTM" else 2)
    every = [f"net:{i}" for i in range(n)]
    every[0] = "net"
    sizes = {"input_size": 5, "hidden_size": 4}
    case(low, kind, [3, B, 5], split=1, outputs=every, **sizes)
    case(low + "_batch_first", kind, [B, 3, 5], outputs=["net"], batch_first=True, **sizes)
    case(low + "_bidirectional", kind, [3, B, 5], split=1, outputs=every, bidirectional=True, **sizes)
    case(low + "_no_bias", kind, [3, B, 5], split=1, bias=False, **sizes)
    case(low + "_two_layers", kind, [4, B, 5], split=1, outputs=every, num_layers=2, dropout=0.5, **sizes)
    case(low + "_all", kind, [B, 3, 5], outputs=every, parallel=False, num_layers=2, bidirectional=True, batch_first=True, **sizes)
    states = {"h0": [4, B, 4], "c0": [4, B, 4]} if kind == "LSTM" else {"h0": [4, B, 4]}
    graph(low + "_initial_states", {"x": [3, B, 5], **states}, [
        {"name": "net", "type": "DataParallel", "dim": 1, "module": {"type": kind, "num_layers": 2, "bidirectional": True, **sizes}}], every)

case("rnn_relu", "RNN", [B, 3, 5], outputs=["net", "net:1"], parallel=False, input_size=5, hidden_size=4, num_layers=2, bidirectional=True, batch_first=True,
     nonlinearity="relu")

attention = {"type": "MultiheadAttention", "embed_dim": 8, "num_heads": 2, "batch_first": True}
graph("attention_self", {"x": [B, 5, 8]}, [{"name": "net", **attention, "inputs": ["x", "x", "x"]}], ["net", "net:1"])
graph("attention_cross", {"q": [B, 3, 8], "k": [B, 5, 8], "v": [B, 5, 8]}, [{"name": "net", "type": "DataParallel", "module": attention}], ["net", "net:1"])
graph("attention_no_bias", {"q": [B, 3, 8], "k": [B, 5, 8]}, [{"name": "net", **attention, "bias": False, "inputs": ["q", "k", "k"]}])
graph("attention_batch_second", {"q": [3, B, 8], "k": [5, B, 8]}, [
    {"name": "net", "type": "MultiheadAttention", "embed_dim": 8, "num_heads": 4, "inputs": ["q", "k", "k"]}])

for kind in ("Add", "Sub", "Mul"):
    low = kind.lower()
    graph(low, {"a": [B, 3, 4], "b": [B, 3, 4]}, [{"name": "net", "type": "DataParallel", "module": {"type": kind}}])
    graph(low + "_broadcast", {"a": [B, 3, 1], "b": [4], "c": [3, 4], "d": [B, 1, 4]}, [
        {"name": "ab", "type": kind, "inputs": ["a", "b"]}, {"name": "cd", "type": kind, "inputs": ["c", "d"]},
        {"name": "net", "type": kind, "inputs": ["ab", "cd"]}], ["ab", "cd", "net"])
graph("matmul", {"a": [B, 3, 4], "b": [B, 4, 2]}, [{"name": "net", "type": "DataParallel", "module": {"type": "MatMul"}}])
graph("matmul_2d", {"a": [B, 4], "b": [4, 2]}, [{"name": "net", "type": "MatMul", "inputs": ["a", "b"]}])
graph("matmul_broadcast", {"a": [B, 1, 3, 4], "b": [2, 4, 5], "c": [4, 3]}, [
    {"name": "ab", "type": "MatMul", "inputs": ["a", "b"]}, {"name": "net", "type": "MatMul", "inputs": ["a", "c"]}], ["ab", "net"])
graph("concat", {"a": [B, 3], "b": [B, 2], "c": [B, 4]}, [{"name": "net", "type": "DataParallel", "module": {"type": "Concat", "dim": 1}}])
graph("concat_negative", {"a": [B, 3, 2], "b": [B, 3, 5]}, [{"name": "net", "type": "Concat", "dim": -1, "inputs": ["a", "b"]}])
graph("concat_batch", {"a": [B, 3], "b": [B, 3]}, [{"name": "net", "type": "Concat", "dim": 0, "inputs": ["a", "b"]}])
case("permute", "Permute", [B, 3, 4, 5], dims=[0, 2, 3, 1])
case("permute_batch", "Permute", [B, 3, 4], parallel=False, dims=[2, 0, 1])
case("reshape", "Reshape", [B, 3, 4], shape=[-1, 2, 6])
case("reshape_inner", "Reshape", [B, 3, 4], parallel=False, shape=[-1, 4])
case("mean", "Mean", [B, 3, 4], dim=1)
case("mean_keepdim", "Mean", [B, 3, 4], dim=[1, 2], keepdim=True)
case("mean_batch", "Mean", [B, 3, 4], parallel=False, dim=0)
case("select", "Select", [B, 3, 4], dim=1, index=2)
case("select_negative", "Select", [B, 3, 4], dim=-1, index=-3)
case("scale", "Scale", [B, 7], value=-2.5)

relu = {"type": "ReLU"}
graph("sequential", {"x": [B, 6]}, [{"name": "net", "type": "Sequential", "layers": [
    {"type": "Linear", "in_features": 6, "out_features": 8}, relu, {"name": "last", "type": "Linear", "in_features": 8, "out_features": 3}]}])
graph("shared_weights", {"x": [B, 4]}, [
    {"name": "encoder", "type": "Linear", "in_features": 4, "out_features": 4},
    {"name": "tanh", "type": "Tanh"},
    {"name": "decoder", "type": "Linear", "in_features": 4, "out_features": 4, "share": {"weight": "encoder.weight"}}])
graph("modules", {"x": [B, 6]}, [
    {"name": "first", "type": "Two", "width": 6}, {"name": "second", "type": "Two", "width": 6, "slope": 0.2}], ["second", "first:1"],
    modules={"Half": {"params": {"width": 4, "slope": 0.5}, "layers": [
                 {"name": "fc", "type": "Linear", "in_features": "$width", "out_features": "$width"},
                 {"name": "act", "type": "LeakyReLU", "negative_slope": "$slope"}]},
             "Two": {"params": {"width": None, "slope": 0.1}, "inputs": ["input"], "outputs": ["sum", "b"], "layers": [
                 {"name": "a", "type": "Half", "width": "$width", "slope": "$slope"},
                 {"name": "b", "type": "Half", "width": "$width", "inputs": ["input"]},
                 {"name": "sum", "type": "Add", "inputs": ["a", "b"]}]}})
# What a compiler may fuse: a convolution with what follows it, chains of element-wise layers, a value with two users.
graph("fused_residual", {"x": [B, 4, 6, 6]}, [
    {"name": "conv", "type": "Conv2d", "in_channels": 4, "out_channels": 4, "kernel_size": 3, "padding": 1, "bias": False},
    {"name": "bn", "type": "BatchNorm2d", "num_features": 4},
    {"name": "add", "type": "Add", "inputs": ["x", "bn"]}, {"name": "act", "type": "ReLU"},
    {"name": "conv2", "type": "Conv2d", "in_channels": 4, "out_channels": 4, "kernel_size": 1},
    {"name": "bn2", "type": "BatchNorm2d", "num_features": 4, "affine": False}, {"name": "act2", "type": "SiLU"}], ["act2", "bn"])
graph("fused_chain", {"x": [B, 33], "y": [B, 33]}, [
    {"name": "a", "type": "Tanh", "inputs": ["x"]}, {"name": "b", "type": "Mul", "inputs": ["a", "y"]}, {"name": "c", "type": "Scale", "value": 3.0},
    {"name": "d", "type": "Add", "inputs": ["c", "a"]}, {"name": "e", "type": "Sub", "inputs": ["d", "c"]},
    {"name": "f", "type": "Sub", "inputs": ["d", "x"]}, {"name": "g", "type": "LayerNorm", "normalized_shape": 33},
    {"name": "h", "type": "GELU"}], ["h", "c", "e"])
