"""Models made at random from the layer table, for tests that ask whether what compiles also runs.

`random_model(number)` makes one from its number alone: layers of every type in the JSON Schema's table (random_layers.py), mostly
with arguments that fit the value they get, sometimes with others; inputs of every dtype and of ranks from 0 to 5; DataParallel
around some; a training section for most. `tensors_of` makes data for it.
"""
import json
from pathlib import Path

from random_layers import ANY, KINDS, LAYERS, B, Random, Value, fitting, random_layer
from tensors import Tensor, drawn

DTYPES = {"float32": "F32", "int64": "I64", "int32": "I32", "uint8": "U8", "bool": "BOOL"}  # halves are converted when they are read
LEAST_CLASSES = 3  # integers below it fit every target, and every table


def table_types(schema):
    """The names of the layer table, from the model file's JSON Schema."""
    rules = json.loads(Path(schema).read_text())["$defs"]["layer"]["allOf"]
    types = {rule["if"]["properties"]["type"].get("const") for rule in rules}
    return types - {None, "Sequential", "DataParallel"}


def random_inputs(draw, first):
    """Inputs that mostly suit a layer of type `first`."""
    ranks = [rank for rank in LAYERS[first].ranks if 0 < rank < 6]
    kinds = KINDS.get(first, ANY[:1])[0]
    if draw.chance(0.3):
        ranks, kinds = [0, 1, 2, 3, 4, 5], ANY
    shape = [draw.choice([1, 2, 3, 4, 6]) for _ in range(draw.choice(ranks))]
    if shape and draw.chance(0.95):
        shape[0 if draw.chance(0.85) else draw.randint(0, len(shape) - 1)] = B
    dtype = draw.choice([name for name in DTYPES if kind_of(name) == draw.choice(kinds)] or ["float32"])
    if dtype == "float32" and draw.chance(0.2):
        dtype = draw.choice(["bfloat16", "float16"])
    inputs = {"x": {"shape": shape, "dtype": dtype}}
    if draw.chance(0.2):
        inputs["z"] = {"shape": list(shape), "dtype": draw.choice(["float32", dtype, "bfloat16"])}
    if draw.chance(0.9 if len(KINDS.get(first, ())) > 1 else 0.3):
        inputs["i"] = {"shape": draw.choice([[3], [B], list(shape)]), "dtype": draw.choice(["bool"] if first.startswith("Logical") else ["int64", "int32"])}
    if first == "Where":
        inputs["z"] = {"shape": list(shape), "dtype": "float32"}
    return inputs


def kind_of(dtype):
    return "bool" if dtype == "bool" else "integer" if dtype in ("int64", "int32", "uint8") else "float"


def training(draw, shape):
    loss = draw.choice(["MSELoss", "L1Loss", "BCEWithLogitsLoss", "CrossEntropyLoss", "CrossEntropyLoss"])
    target = {"shape": shape}
    classes = min(1, len(shape) - 1)  # their dimension
    if loss == "CrossEntropyLoss" and shape[classes] != B and shape[classes] >= LEAST_CLASSES and draw.chance(0.6):
        target = {"shape": [size for i, size in enumerate(shape) if i != classes], "dtype": draw.choice(["int64", "int32"])}
    return {"targets": {"y": target}, "loss": {"type": loss, "inputs": ["out", "y"]}, "optimizer": {"type": draw.choice(["SGD", "Adam"]), "lr": 0.001}}


def random_model(number):
    """A model file as a dict."""
    draw = Random(f"random model {number}")
    first = draw.choice(list(LAYERS))
    inputs = random_inputs(draw, first)
    values = {name: Value(entry["shape"], kind_of(entry["dtype"])) for name, entry in inputs.items()}
    layers = []
    for position in range(draw.randint(1, 5)):
        layer, value = random_layer(draw, values, f"l{position}", None if position else first)
        if len(layer["inputs"]) == 1 and draw.chance(0.35):
            name, sources = layer.pop("name"), layer.pop("inputs")
            layer = {"name": name, "type": "DataParallel", "inputs": sources, "module": layer}
            scattered = values[sources[0]].shape
            if B in scattered and scattered.index(B) and draw.chance(0.9):
                layer["dim"] = scattered.index(B)
        layers.append(layer)
        values[layer["name"]] = value
    model = {"sheaf": "1.0", "name": "random", "inputs": inputs, "layers": layers, "outputs": [layers[-1]["name"]]}
    # A layer with parameters at the end, so that most can be trained.
    fit = [name for name, value in values.items() if value.kind == "float" and value.shape and value.shape[-1] != B]
    if fit:
        shape = values[fit[-1]].shape
        layers.append({"name": "out", "type": "Linear", "inputs": [fit[-1]], "in_features": fitting(shape, -1), "out_features": 3})
        model["outputs"] = ["out"]
        if draw.chance(0.7):
            model["training"] = training(draw, [*shape[:-1], 3])
    return model


def tensors_of(declarations, rows):
    """Data for declared inputs or targets: integers below LEAST_CLASSES, numbers from 0 to 1."""
    tensors = {}
    for name, entry in declarations.items():
        dtype = DTYPES.get(entry.get("dtype", "float32"), "F32")
        shape = [rows if size == B else size for size in entry["shape"]]
        tensors[name] = drawn(name, shape, 0, 1 if dtype == "F32" else LEAST_CLASSES, "F32" if dtype == "F32" else "I64")
        if dtype in ("I32", "U8", "BOOL"):
            tensors[name] = Tensor(dtype, shape, [min(1, n) for n in tensors[name].data] if dtype == "BOOL" else tensors[name].data)
    return tensors
