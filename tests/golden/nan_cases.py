"""Models of which NaN in one element of the input must become NaN where PyTorch has it, and nowhere else.

FUSED are layers with an activation in the same operation; further cases are the golden ones of layers/ and models/.
"""
ACTIVATIONS = [{"type": "ReLU"}, {"type": "ReLU6"}, {"type": "LeakyReLU", "negative_slope": 0.1}, {"type": "ELU"}, {"type": "SiLU"}, {"type": "GELU"},
               {"type": "GELU", "approximate": "tanh"}, {"type": "Tanh"}, {"type": "Sigmoid"}, {"type": "Hardtanh"}]
# Name → layers, and the input's shape without the batch.
HEADS = {
    "conv": ([{"type": "Conv2d", "in_channels": 16, "out_channels": 32, "kernel_size": 3, "padding": 1}], [16, 7, 7]),
    "conv_few_channels": ([{"type": "Conv2d", "in_channels": 3, "out_channels": 5, "kernel_size": 3, "stride": 2}], [3, 9, 9]),
    "conv_pointwise": ([{"type": "Conv2d", "in_channels": 16, "out_channels": 16, "kernel_size": 1}], [16, 6, 6]),
    "conv_depthwise": ([{"type": "Conv2d", "in_channels": 16, "out_channels": 16, "kernel_size": 3, "groups": 16}], [16, 6, 6]),
    "conv1d": ([{"type": "Conv1d", "in_channels": 4, "out_channels": 8, "kernel_size": 3}], [4, 12]),
    "conv_batch_norm": ([{"type": "Conv2d", "in_channels": 8, "out_channels": 8, "kernel_size": 3}, {"type": "BatchNorm2d", "num_features": 8}], [8, 6, 6]),
    "conv_transpose": ([{"type": "ConvTranspose2d", "in_channels": 8, "out_channels": 16, "kernel_size": 3, "stride": 2}], [8, 5, 5]),
    "linear": ([{"type": "Linear", "in_features": 80, "out_features": 96}], [80]),
    "linear_small": ([{"type": "Linear", "in_features": 8, "out_features": 9}], [8]),
    "pool": ([{"type": "MaxPool2d", "kernel_size": 3, "stride": 2, "padding": 1}], [5, 8, 8]),
}
ROWS = 5


def fused():
    """Name → model."""
    cases = {}
    for head, (layers, shape) in HEADS.items():
        for act in ACTIVATIONS:
            name = f"{head}_{act['type'].lower()}" + ("_tanh" if "approximate" in act else "")
            chain = [{"name": f"l{i}", **layer} for i, layer in enumerate([*layers, act])]
            cases[name] = {"sheaf": "1.0", "name": name, "inputs": {"x": {"shape": ["batch", *shape]}},
                           "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": chain}}]}
    residual = [{"name": "a", "type": "Conv2d", "in_channels": 16, "out_channels": 16, "kernel_size": 3, "padding": 1, "inputs": ["input"]},
                {"name": "sum", "type": "Add", "inputs": ["a", "input"]}, {"name": "relu", "type": "ReLU"}]
    cases["residual"] = {"sheaf": "1.0", "name": "residual", "inputs": {"x": {"shape": ["batch", 16, 6, 6]}}, "modules": {"Block": {"layers": residual}},
                         "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Block"}}]}
    return cases
