"""The whole-model cases of the golden tests: the project's own model files, small variants of the large ones, and
models whose placement is what is tested. A case is (name, model as a dict or a file of models/, batch size, the
device lists it runs on or None for the usual ones)."""
from layer_cases import B, model

CASES = [(f"file_{name}", f"models/{name}.json", batch, None) for name, batch in (
    ("data_parallel_model", 7), ("distributed_model", 6), ("tutorial", 5), ("resnet18_w8", 3))]


def case(name, inputs, layers, outputs=None, batch=5, devices=None, **more):
    CASES.append((name, model(name, inputs, layers, outputs, **more), batch, devices))


def parallel(name, module, **arguments):
    return {"name": name, "type": "DataParallel", "module": module, **arguments}


def linear(i, o, **arguments):
    return {"type": "Linear", "in_features": i, "out_features": o, **arguments}


def conv(i, o, k, **arguments):
    return {"type": "Conv2d", "in_channels": i, "out_channels": o, "kernel_size": k, **arguments}


def up(i, o, k, **arguments):
    return {"type": "ConvTranspose2d", "in_channels": i, "out_channels": o, "kernel_size": k, "bias": False, **arguments}


def batch_norm(n):
    return {"type": "BatchNorm2d", "num_features": n}


RELU = {"type": "ReLU"}
LEAKY = {"type": "LeakyReLU", "negative_slope": 0.2, "inplace": True}

case("dcgan_generator", {"z": [B, 6, 1, 1]}, [parallel("main", {"type": "Sequential", "layers": [
    up(6, 16, 4), batch_norm(16), RELU, up(16, 8, 4, stride=2, padding=1), batch_norm(8), RELU,
    up(8, 4, 4, stride=2, padding=1), batch_norm(4), RELU, up(4, 3, 4, stride=2, padding=1), {"type": "Tanh"}]})], batch=3)
case("dcgan_discriminator", {"x": [B, 3, 32, 32]}, [parallel("main", {"type": "Sequential", "layers": [
    conv(3, 4, 4, stride=2, padding=1, bias=False), LEAKY, conv(4, 8, 4, stride=2, padding=1, bias=False), batch_norm(8), LEAKY,
    conv(8, 16, 4, stride=2, padding=1, bias=False), batch_norm(16), LEAKY, conv(16, 1, 4, bias=False), {"type": "Sigmoid"}]}),
    {"name": "flat", "type": "Reshape", "shape": [-1]}], batch=5)
case("word_language_model", {"tokens": ([6, B], "int64")}, [
    {"name": "encoder", "type": "Embedding", "num_embeddings": 23, "embedding_dim": 8, "device": "cpu"},
    {"name": "drop", "type": "Dropout", "p": 0.2},
    parallel("rnn", {"type": "LSTM", "input_size": 8, "hidden_size": 8, "num_layers": 2, "dropout": 0.2}, dim=1),
    {"name": "drop2", "type": "Dropout", "p": 0.2, "inputs": ["rnn"]},
    {"name": "decoder", **linear(8, 23), "share": {"weight": "encoder.weight"}},
    {"name": "log_softmax", "type": "LogSoftmax", "dim": -1}], ["log_softmax", "rnn:1", "rnn:2"])
case("rl_policy", {"state": [B, 4]}, [parallel("policy", {"type": "Sequential", "layers": [
    linear(4, 16), {"type": "Dropout", "p": 0.6}, RELU, linear(16, 2), {"type": "Softmax", "dim": 1}]})])
case("actor_critic", {"state": [B, 4]}, [parallel("net", {"type": "ActorCritic"})], ["net", "net:1"], modules={"ActorCritic": {
    "inputs": ["input"], "outputs": ["probability", "value"], "layers": [
        {"name": "affine", **linear(4, 16)}, {"name": "relu", "type": "ReLU"},
        {"name": "action", **linear(16, 2)}, {"name": "probability", "type": "Softmax", "dim": -1},
        {"name": "value", **linear(16, 1), "inputs": ["relu"]}]}})
case("transformer_encoder", {"x": [B, 6, 12]}, [parallel("block", {"type": "Encoder"})], modules={"Encoder": {"layers": [
    {"name": "attention", "type": "MultiheadAttention", "embed_dim": 12, "num_heads": 3, "batch_first": True, "inputs": ["input", "input", "input"]},
    {"name": "add1", "type": "Add", "inputs": ["attention", "input"]}, {"name": "norm1", "type": "LayerNorm", "normalized_shape": 12},
    {"name": "linear1", **linear(12, 24)}, {"name": "gelu", "type": "GELU"}, {"name": "linear2", **linear(24, 12)},
    {"name": "add2", "type": "Add", "inputs": ["linear2", "norm1"]}, {"name": "norm2", "type": "LayerNorm", "normalized_shape": 12}]}})
case("bottleneck", {"x": [B, 8, 6, 6]}, [parallel("net", {"type": "Bottleneck"})], modules={"Bottleneck": {"layers": [
    {"name": "conv1", **conv(8, 4, 1, bias=False)}, {"name": "bn1", **batch_norm(4)}, {"name": "relu1", **RELU},
    {"name": "conv2", **conv(4, 4, 3, stride=2, padding=1, bias=False)}, {"name": "bn2", **batch_norm(4)}, {"name": "relu2", **RELU},
    {"name": "conv3", **conv(4, 16, 1, bias=False)}, {"name": "bn3", **batch_norm(16)},
    {"name": "down", "type": "Sequential", "layers": [conv(8, 16, 1, stride=2, bias=False), batch_norm(16)], "inputs": ["input"]},
    {"name": "add", "type": "Add", "inputs": ["bn3", "down"]}, {"name": "relu3", **RELU}]}})

# Placement: the numbers don't change with it.
TWO, THREE = ["cpu", "cpu:0,cpu:1", "cpu:1,cpu:0,cpu:2", "cpu:0,cpu:0"], ["cpu", "cpu:0-2", "cpu:2,cpu:0,cpu:1,cpu:1", "cpu:0,cpu:0,cpu:0"]
case("regions_in_a_row", {"x": [B, 6]}, [parallel("a", linear(6, 5)), parallel("b", {"type": "Tanh"}), {"name": "c", **linear(5, 5)},
                                         parallel("d", linear(5, 4))], ["d", "a"])
case("regions_side_by_side", {"x": [B, 6]}, [parallel("a", linear(6, 5)), parallel("b", linear(6, 5), inputs=["x"]),
                                             {"name": "sum", "type": "Add", "inputs": ["a", "b"]}, parallel("c", linear(5, 4))], ["c", "sum"])
case("device_order", {"x": [B, 6]}, [parallel("a", linear(6, 5), device_ids=[1, 0]), parallel("b", linear(5, 5), device_ids=[0, 1], output_device=1),
                                     {"name": "c", **linear(5, 3), "device": "cuda:1"}], devices=TWO)
case("output_device_outside", {"x": [B, 6]}, [parallel("a", linear(6, 5), device_ids=[0, 2], output_device=1),
                                              {"name": "c", **linear(5, 3), "device": "cuda:2"}], devices=THREE)
case("one_device_region", {"x": [B, 6]}, [parallel("a", linear(6, 5), device_ids=[1], output_device=0)], devices=TWO)
case("model_parallel", {"x": ([B], "int64")}, [
    {"name": "embedding", "type": "Embedding", "num_embeddings": 50, "embedding_dim": 6, "device": "cpu"},
    {"name": "first", "type": "Sequential", "device": "cuda:0", "layers": [linear(6, 8), RELU]},
    {"name": "second", **linear(8, 4), "device": "cuda:1"}, {"name": "last", "type": "Tanh", "device": "cpu"}], ["last", "first"], devices=TWO)
case("several_inputs_and_outputs", {"x": [B, 6], "y": [B, 6]}, [parallel("net", {"type": "Both"})], ["net", "net:1", "net:2"], modules={"Both": {
    "inputs": ["a", "b"], "outputs": ["sum", "product", "fc"], "layers": [
        {"name": "fc", **linear(6, 6), "inputs": ["a"]}, {"name": "sum", "type": "Add", "inputs": ["fc", "b"]},
        {"name": "product", "type": "Mul", "inputs": ["a", "b"]}]}})
case("split_along_1", {"x": [4, B, 6]}, [parallel("a", linear(6, 5), dim=1), {"name": "b", "type": "Permute", "dims": [2, 0, 1]},
                                         parallel("c", {"type": "Tanh"}, dim=-1)], ["c", "a"])
case("parameter_shared_between_regions", {"x": [B, 6]}, [
    parallel("a", linear(6, 6)), {"name": "b", **linear(6, 6), "share": {"weight": "a.module.weight"}, "device": "cpu"}])
case("value_given_twice", {"x": [B, 6]}, [parallel("a", {"type": "Mul"}, inputs=["x", "x"]), parallel("b", {"type": "Tanh"})])
case("input_is_output", {"x": [B, 6]}, [parallel("a", {"type": "Identity"}), {"name": "b", "type": "Identity"}], ["b", "a"])

# Softmaxes and norms with the element-wise ops around them, which become one kernel each; wrapped, so that sizes vary.
case("around_rows", {"x": [B, 6, 4, 5], "r": [B, 6, 4, 5], "m": [B, 1, 4, 1]}, [parallel("net", {"type": "Around"})],
     ["net", "net:1", "net:2", "net:3", "net:4"], modules={"Around": {
         "inputs": ["x", "r", "m"], "outputs": ["t", "silu", "ra", "ls", "e2"], "layers": [
             {"name": "s", "type": "Scale", "value": 0.5, "inputs": ["x"]}, {"name": "a", "type": "Add", "inputs": ["s", "m"]},
             {"name": "sm", "type": "Softmax", "dim": -1}, {"name": "t", "type": "Mul", "inputs": ["sm", "r"]},
             {"name": "add", "type": "Add", "inputs": ["x", "r"]}, {"name": "gn", "type": "GroupNorm", "num_groups": 3, "num_channels": 6},
             {"name": "silu", "type": "SiLU"}, {"name": "ln", "type": "LayerNorm", "normalized_shape": 5, "inputs": ["x"]},
             {"name": "ge", "type": "GELU"}, {"name": "ra", "type": "Add", "inputs": ["ge", "r"]},
             {"name": "ls", "type": "LogSoftmax", "dim": 1, "inputs": ["s"]}, {"name": "sg", "type": "Sigmoid", "inputs": ["x"]},
             {"name": "sub", "type": "Sub", "inputs": ["sg", "m"]}, {"name": "ls2", "type": "LogSoftmax", "dim": 2},
             {"name": "e2", "type": "Mul", "inputs": ["ls2", "m"]}]}})
