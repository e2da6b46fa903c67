"""Models made at random from the layer table, for tests that ask whether what compiles also runs.

`random_model(number)` makes one from its number alone: layers of every type in the JSON Schema's table (random_layers.py), mostly
with arguments that fit the value they get, sometimes with others; inputs of every dtype and of ranks from 0 to 5; DataParallel
around some; a training section for most. `tensors_of` makes data for it.
"""
import json
from pathlib import Path

from random_layers import B, Random, Value, fitting, random_layer
from tensors import Tensor, drawn

DTYPES = {"float32": "F32", "int64": "I64", "int32": "I32", "uint8": "U8", "bool": "BOOL"}  # halves are converted when they are read
LEAST_CLASSES = 3  # integers below it fit every target, and every table


def table_types(schema):
    """The names of the layer table, from the model file's JSON Schema."""
    rules = json.loads(Path(schema).read_text())["$defs"]["layer"]["allOf"]
    types = {rule["if"]["properties"]["type"].get("const") for rule in rules}
    return types - {None, "Sequential", "DataParallel"}


def random_inputs(draw):
    shape = [draw.choice([1, 2, 3, 4, 6]) for _ in range(draw.choice([0, 1, 1, 2, 2, 3, 3, 3, 4]))]
    if draw.chance(0.95):
        shape.insert(0 if draw.chance(0.8) else draw.randint(0, len(shape)), B)
    dtype = "float32" if draw.chance(0.7) else draw.choice(["int64", "int32", "uint8", "bool", "bfloat16", "float16"])
    inputs = {"x": {"shape": shape, "dtype": dtype}}
    if draw.chance(0.2):
        inputs["z"] = {"shape": list(shape), "dtype": draw.choice(["float32", dtype, "bfloat16"])}
    if draw.chance(0.3):
        inputs["i"] = {"shape": draw.choice([[3], [B], list(shape)]), "dtype": draw.choice(["int64", "int32"])}
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
    inputs = random_inputs(draw)
    values = {name: Value(entry["shape"], kind_of(entry["dtype"])) for name, entry in inputs.items()}
    layers = []
    for position in range(draw.randint(1, 5)):
        layer, value = random_layer(draw, values, f"l{position}")
        if len(layer["inputs"]) == 1 and draw.chance(0.35):
            name, sources = layer.pop("name"), layer.pop("inputs")
            layer = {"name": name, "type": "DataParallel", "inputs": sources, "module": layer}
            scattered = values[sources[0]].shape
            if B in scattered and scattered.index(B) and draw.chance(0.9):
                layer["dim"] = scattered.index(B)
        layers.append(layer)
        values[layer["name"]] = value
    # A layer with parameters at the end, so that most can be trained.
    last = [name for name, value in values.items() if value.kind == "float" or name == layers[0]["name"]][-1]
    shape = values[last].shape
    layers.append({"name": "out", "type": "Linear", "inputs": [last], "in_features": fitting(shape, -1), "out_features": 3})
    model = {"sheaf": "1.0", "name": "random", "inputs": inputs, "layers": layers, "outputs": ["out"]}
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
