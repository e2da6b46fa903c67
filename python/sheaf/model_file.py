"""A model file and its weights."""
import json
import struct
from pathlib import Path

import numpy

from .places import Places


class ModelFile:
    """A model file as `json` (a dict, format 1.0) and `weights` ({PyTorch's name: NumPy array}).

    `notes` are sentences about what the import had to decide. `prefix` comes before PyTorch's names in the model file. For an
    imported module, `sources` maps the names in `weights` to those of its own tensors, `output_tree` is what it returns, and
    `places` are the lines of its layers."""

    def __init__(self, json, weights=None, notes=(), prefix="", sources=None, output_tree=None, places=None):
        self.json, self.weights, self.notes, self.prefix = json, dict(weights or {}), list(notes), prefix
        self.sources, self.output_tree, self.places = dict(sources or {}), output_tree, places or Places()

    def save(self, path, weights=None):
        """Writes the model file and, with `weights`, the weights as safetensors."""
        Path(path).write_text(model_text(self.json))
        if weights is not None:
            save_safetensors(weights, self.weights)

    def __repr__(self):
        count = sum(array.size for array in self.weights.values())
        return f"<sheaf.ModelFile {self.json.get('name', '')}: {count:,} weights in {len(self.weights)} tensors>"


def model_text(model):
    """JSON laid out for people: one layer per line."""
    return _laid_out(model, 0) + "\n"


def _laid_out(value, depth, width=140):
    flat = json.dumps(value, allow_nan=False, ensure_ascii=False)
    nested = isinstance(value, (dict, list)) and value
    if not nested or len(flat) + 2 * depth <= width and not (isinstance(value, dict) and "layers" in value):
        return flat
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, list):
        if not any(isinstance(item, (dict, list)) for item in value):
            return flat
        return "[\n" + ",\n".join(inner + _laid_out(item, depth + 1) for item in value) + f"\n{outer}]"
    if depth == 0 or any(key in value for key in ("layers", "module")) or all(isinstance(v, dict) for v in value.values()):
        scalars = ", ".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items() if k not in ("layers", "module"))
        if depth and scalars and any(key in value for key in ("layers", "module")) and len(scalars) < width:
            rest = [f"{json.dumps(k)}: {_laid_out(value[k], depth)}" for k in ("module", "layers") if k in value]
            return "{" + scalars + ", " + ", ".join(rest) + "}"
        lines = [f"{inner}{json.dumps(key)}: {_laid_out(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{outer}}}"
    return flat


_TYPES = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64", "int32": "I32", "uint8": "U8", "bool": "BOOL"}


def save_safetensors(path, arrays):
    """Writes {name: NumPy array} as a safetensors file."""
    header, offset = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": _TYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(numpy.ascontiguousarray(array).tobytes())
