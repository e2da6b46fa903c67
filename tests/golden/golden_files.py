"""What the makers of golden files share: how weights and inputs are drawn, and tensors from and to PyTorch.

Needs: torch.
"""
import json
import math

import torch

from tensors import Tensor

TORCH = {"F32": torch.float32, "I64": torch.int64, "I32": torch.int32, "BOOL": torch.bool}
NAMES = {torch.float32: "F32", torch.int64: "I64", torch.int32: "I32", torch.bool: "BOOL"}
CODES = {"float32": "F32", "int64": "I64", "int32": "I32", "bool": "BOOL"}


def to_torch(tensor):
    return torch.tensor(tensor.data.tolist(), dtype=TORCH[tensor.dtype]).reshape(tensor.shape)


def from_torch(tensor):
    """What is compared: float32 also of a float64 tensor."""
    return Tensor("F32" if tensor.dtype == torch.float64 else NAMES[tensor.dtype], tensor.shape, tensor.contiguous().flatten().tolist())


def precise(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def weight_range(name, tensor):
    """Ranges that keep activations near 1 and leave nothing at a value that would hide a mistake."""
    if not tensor.is_floating_point():
        return (0, 1) if name.endswith("num_batches_tracked") else (0, 2) if tensor.dtype == torch.bool else (-9, 10)
    if name.endswith(("running_var", "weight")) and tensor.dim() == 1:
        return 0.5, 1.5
    if tensor.dim() >= 2:
        bound = round(math.sqrt(4.5 / (tensor.numel() / tensor.shape[0])), 4)
        return -bound, bound
    return -0.3, 0.3


def input_range(name, decl, spec):
    if decl.get("dtype") == "bool":
        return 0, 2
    if name.startswith("number"):
        return -9, 10
    if decl.get("dtype", "float32") != "float32":
        # A table's rows, or what the input's name says: a mask is of 0 and 1, an index below 3.
        tables = [v["num_embeddings"] for v in walk(spec) if isinstance(v, dict) and "num_embeddings" in v]
        return 0, 2 if name.startswith("mask") else min(tables, default=3)
    return (-100, 100) if name == "wide" else (-2, 2)


def pretty(value, indent=""):
    """JSON with whatever fits on a line on one line."""
    text = json.dumps(value)
    if len(indent) + len(text) <= 110 or not isinstance(value, (dict, list)):
        return text
    deeper = indent + "  "
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"{deeper}{json.dumps(k)}: {pretty(v, deeper)}" for k, v in value.items()) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + pretty(v, deeper) for v in value) + f"\n{indent}]"


def walk(value):
    yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(child)
