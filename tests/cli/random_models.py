"""Models made at random from the layer table, for tests that ask whether what compiles also runs.

`random_model(number)` makes one from its number alone: layers of every type in the JSON Schema's table, mostly with arguments
that fit the value they get, sometimes with others; inputs of every dtype and of ranks from 0 to 5; DataParallel around some;
a training section for most. `tensors_of` makes data for it.
"""
import json
import math
import random
from pathlib import Path

from tensors import Tensor, drawn

B = "batch"
FLOATS = ("float32", "bfloat16", "float16")
DTYPES = {"float32": "F32", "int64": "I64", "int32": "I32", "uint8": "U8"}  # halves are converted when they are read
UNARY = ("ReLU", "ReLU6", "LeakyReLU", "ELU", "SiLU", "GELU", "Tanh", "Sigmoid", "Hardtanh", "Dropout", "Identity")


class Random(random.Random):
    def chance(self, share):
        return self.random() < share

    def window(self, sizes, most=3):
        """A number for each size, or a single one."""
        most = max(1, min(most, min((s for s in sizes if s != B), default=1)))
        return self.randint(1, most) if self.chance(0.7) else [self.randint(1, most) for _ in sizes]


def fitting(shape, i, otherwise=4):
    """Size i of a shape, or another where there is none or it is the batch."""
    size = shape[i] if -len(shape) <= i < len(shape) else otherwise
    return otherwise if size == B else max(size, 1)


def convolution(draw, shape, type):
    rank = 1 if type == "Conv1d" else 2
    inside = fitting(shape, -rank - 1)
    groups = draw.choice([1, 1, math.gcd(inside, 2)])
    layer = {"in_channels": inside, "out_channels": groups * draw.randint(1, 3), "kernel_size": draw.window(shape[-rank:] or [1]), "groups": groups,
             "stride": draw.randint(1, 2), "dilation": draw.choice([1, 1, 2]), "bias": draw.chance(0.7)}
    if type == "ConvTranspose2d":
        layer["output_padding"] = draw.choice([0, 0, 1])
    elif draw.chance(0.3):
        layer.update({"padding": "same", "stride": 1})
    else:
        layer["padding"] = draw.randint(0, 2)
    if type != "ConvTranspose2d":
        layer["padding_mode"] = draw.choice(["zeros", "zeros", "reflect", "replicate", "circular"])
    return layer


def pool(draw, shape, type):
    window = draw.window(shape[-2:] or [1])
    least = min(window) if isinstance(window, list) else window
    layer = {"kernel_size": window, "stride": draw.choice([None, 1, 2]), "padding": draw.randint(0, least // 2), "ceil_mode": draw.chance(0.3)}
    if type == "MaxPool2d":
        layer["dilation"] = draw.choice([1, 1, 2])
    else:
        layer.update({"count_include_pad": draw.chance(0.5), "divisor_override": draw.choice([None, None, 3, -2])})
    return layer


def recurrent(draw, shape, _):
    return {"input_size": fitting(shape, -1), "hidden_size": draw.randint(1, 4), "num_layers": draw.randint(1, 2), "bias": draw.chance(0.7),
            "batch_first": len(shape) > 0 and shape[0] == B, "bidirectional": draw.chance(0.3), "dropout": draw.choice([0, 0, 0.3])}


def attention(draw, shape, _):
    width = fitting(shape, -1)
    return {"embed_dim": width, "num_heads": draw.choice([n for n in (1, 2, 4) if width % n == 0]), "dropout": draw.choice([0, 0, 0.2]),
            "bias": draw.chance(0.7), "batch_first": len(shape) > 0 and shape[0] == B}


def dimension(draw, shape):
    return draw.randint(-max(len(shape), 1), max(len(shape) - 1, 0))


def reshaped(draw, shape, _):
    known = math.prod(size for size in shape if size != B)
    return {"shape": draw.choice([[-1], [-1, known], [-1, 1, known], [known, -1]]) if B in shape else draw.choice([[-1], [known], [1, known, -1]])}


# Type → arguments that mostly fit a value of the shape.
LAYERS = {
    "Linear": lambda d, s, _: {"in_features": fitting(s, -1), "out_features": d.randint(1, 5), "bias": d.chance(0.7)},
    "Embedding": lambda d, s, _: {"num_embeddings": 8, "embedding_dim": d.randint(1, 5), "padding_idx": d.choice([None, 0, -1]), "sparse": d.chance(0.3)},
    "Conv1d": convolution, "Conv2d": convolution, "ConvTranspose2d": convolution,
    **{t: lambda d, s, _: {"num_features": fitting(s, 1), "affine": d.chance(0.7), "momentum": d.choice([0.1, None]), "track_running_stats": d.chance(0.7)}
       for t in ("BatchNorm1d", "BatchNorm2d")},
    "LayerNorm": lambda d, s, _: {"normalized_shape": [fitting(s, i) for i in range(-d.randint(1, max(1, len(s) - 1)), 0)], "elementwise_affine": d.chance(0.7)},
    "GroupNorm": lambda d, s, _: {"num_groups": math.gcd(fitting(s, 1), d.randint(1, 4)), "num_channels": fitting(s, 1), "affine": d.chance(0.7)},
    **{t: lambda d, s, _: {} for t in UNARY},
    "Softmax": lambda d, s, _: {"dim": dimension(d, s)}, "LogSoftmax": lambda d, s, _: {"dim": dimension(d, s)},
    "MaxPool2d": pool, "AvgPool2d": pool,
    "AdaptiveAvgPool2d": lambda d, s, _: {"output_size": d.choice([1, 2, [3, None]])},
    "Flatten": lambda d, s, _: {"start_dim": d.randint(0, 1)},
    "LSTM": recurrent, "GRU": recurrent, "MultiheadAttention": attention,
    **{t: lambda d, s, _: {} for t in ("Add", "Sub", "Mul", "MatMul")},
    "Concat": lambda d, s, _: {"dim": dimension(d, s)},
    "Permute": lambda d, s, _: {"dims": d.sample(range(len(s)), len(s))},
    "Reshape": reshaped,
    "Mean": lambda d, s, _: {"dim": dimension(d, s), "keepdim": d.chance(0.5)},
    "Select": lambda d, s, _: {"dim": dimension(d, s), "index": d.choice([0, -1])},
    "Scale": lambda d, s, _: {"value": d.choice([0.5, -1.5, 2.0])},
    "Print": lambda d, s, _: {"text": "of {0}"},
}


def table_types(schema):
    """The names of the layer table, from the model file's JSON Schema."""
    rules = json.loads(Path(schema).read_text())["$defs"]["layer"]["allOf"]
    types = {rule["if"]["properties"]["type"].get("const") for rule in rules}
    return types - {None, "Sequential", "DataParallel"}


def shape_after(type, a, shape):
    """The result's shape where it is easily said; else a guess: a model that is wrong is refused, which is looked at too."""
    if type == "Linear":
        return [*shape[:-1], a["out_features"]]
    if type == "Embedding":
        return [*shape, a["embedding_dim"]]
    if type in ("Conv1d", "Conv2d", "ConvTranspose2d"):
        rank = 1 if type == "Conv1d" else 2
        return [*shape[:max(0, len(shape) - rank - 1)], a["out_channels"], *shape[-rank:]]
    if type in ("LSTM", "GRU"):
        return [*shape[:-1], a["hidden_size"] * (2 if a["bidirectional"] else 1)]
    if type == "Flatten" and B not in shape[a["start_dim"]:]:
        return [*shape[:a["start_dim"]], math.prod(shape[a["start_dim"]:])]
    if type == "Permute":
        return [shape[i] for i in a["dims"]]
    if type in ("Mean", "Select") and shape:
        kept = list(shape)
        kept[a["dim"]:a["dim"] + 1 or None] = [1] if a.get("keepdim") else []
        return kept
    return shape


def random_layer(draw, values, name):
    """A layer on one of the `values` (name → shape), and its own shape."""
    source = draw.choice(list(values)[-2:])
    shape = values[source]
    type = draw.choice(list(LAYERS))
    if draw.chance(0.5):  # of those that any value suits
        type = draw.choice(["Linear", *UNARY, "Softmax", "LayerNorm", "Add", "Concat", "Mul"])
    arguments = LAYERS[type](draw, shape, type)
    inputs = [source] * {"Add": 2, "Sub": 2, "Mul": 2, "MatMul": 2, "MultiheadAttention": 3, "Concat": draw.randint(1, 3)}.get(type, 1)
    alike = [other for other, theirs in values.items() if theirs == shape]
    inputs[1:] = [draw.choice(alike) for _ in inputs[1:]]
    return {"name": name, "type": type, "inputs": inputs, **arguments}, shape_after(type, arguments, shape)


def random_inputs(draw):
    shape = [draw.choice([1, 2, 3, 4, 6]) for _ in range(draw.choice([0, 1, 1, 2, 2, 3, 3, 3, 4]))]
    if draw.chance(0.95):
        shape.insert(0 if draw.chance(0.8) else draw.randint(0, len(shape)), B)
    dtype = "float32" if draw.chance(0.7) else draw.choice(["int64", "int32", "uint8", "bfloat16", "float16"])
    inputs = {"x": {"shape": shape, "dtype": dtype}}
    if draw.chance(0.2):
        inputs["z"] = {"shape": list(shape), "dtype": draw.choice(["float32", dtype, "bfloat16"])}
    return inputs


def training(draw, shape):
    loss = draw.choice(["MSELoss", "L1Loss", "BCEWithLogitsLoss", "CrossEntropyLoss", "CrossEntropyLoss"])
    target = {"shape": shape}
    if loss == "CrossEntropyLoss" and draw.chance(0.6):
        target = {"shape": [size for i, size in enumerate(shape) if i != (1 if len(shape) > 1 else 0)], "dtype": draw.choice(["int64", "int32"])}
    return {"targets": {"y": target}, "loss": {"type": loss, "inputs": ["out", "y"]}, "optimizer": {"type": draw.choice(["SGD", "Adam"]), "lr": 0.001}}


def random_model(number):
    """A model file as a dict."""
    draw = Random(f"random model {number}")
    inputs = random_inputs(draw)
    values = {name: entry["shape"] for name, entry in inputs.items()}
    layers = []
    for position in range(draw.randint(1, 5)):
        layer, shape = random_layer(draw, values, f"l{position}")
        if len(layer["inputs"]) == 1 and draw.chance(0.35):
            name, sources = layer.pop("name"), layer.pop("inputs")
            layer = {"name": name, "type": "DataParallel", "inputs": sources, "module": layer}
            if B in shape and shape.index(B) and draw.chance(0.9):
                layer["dim"] = shape.index(B)
        layers.append(layer)
        values[layer["name"]] = shape
    # A layer with parameters at the end, so that most can be trained.
    layers.append({"name": "out", "type": "Linear", "inputs": [layers[-1]["name"]], "in_features": fitting(shape, -1), "out_features": 3})
    model = {"sheaf": "1.0", "name": "random", "inputs": inputs, "layers": layers, "outputs": ["out"]}
    if draw.chance(0.7):
        model["training"] = training(draw, [*shape[:-1], 3])
    return model


def tensors_of(declarations, rows, limit):
    """Data for declared inputs or targets: integers below `limit`, numbers from 0 to 1."""
    tensors = {}
    for name, entry in declarations.items():
        dtype = DTYPES.get(entry.get("dtype", "float32"), "F32")
        shape = [rows if size == B else size for size in entry["shape"]]
        tensors[name] = drawn(name, shape, 0, 1 if dtype == "F32" else limit, "F32" if dtype == "F32" else "I64")
        if dtype in ("I32", "U8"):
            tensors[name] = Tensor(dtype, shape, tensors[name].data)
    return tensors
