"""An ONNX file as nodes and tensors."""
import os
from dataclasses import dataclass, field

import torch

from ..error import Diagnostic, Error, reason


@dataclass(frozen=True)
class Declared:
    """An input: `shape` has numbers, names, or None for unnamed sizes; it is None if none is declared."""

    name: str
    argument: str  # its name in Python
    shape: tuple | None
    dtype: torch.dtype


@dataclass
class Node:
    """One operation. `inputs` and `outputs` are names, "" for absent ones; `line` counts from 1."""

    kind: str
    name: str
    inputs: list
    outputs: list
    attributes: dict
    line: int
    opset: int

    def __str__(self):
        given = [*(name or "-" for name in self.inputs), *(f"{key}={value}" for key, value in self.attributes.items() if not isinstance(value, torch.Tensor))]
        return f"{', '.join(self.outputs)} = {self.kind}({', '.join(given)})"


@dataclass
class Graph:
    file: str
    name: str
    inputs: list
    outputs: list
    nodes: list
    tensors: dict = field(default_factory=dict)  # by name
    constants: set = field(default_factory=set)  # those that training doesn't change: values of Constant nodes

    def users(self, name):
        """The nodes that read a value."""
        return [node for node in self.nodes if name in node.inputs]


def read(file):
    """The Graph of a file's or of an onnx.ModelProto's main graph. Tensors kept beside the file are read too."""
    try:
        import onnx
    except ImportError:
        raise Error([Diagnostic("onnx isn't installed, which reads it: pip install onnx", str(file))]) from None
    path = "<onnx>" if isinstance(file, onnx.ModelProto) else str(file)
    try:
        model = file if isinstance(file, onnx.ModelProto) else onnx.load(file)
        onnx.checker.check_model(model)
    except Exception as problem:  # protobuf's, onnx's and the system's
        raise Error([Diagnostic(f"it can't be read as ONNX: {reason(problem)}", path)]) from None
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 1)
    graph = model.graph
    tensors = {tensor.name: _tensor(tensor) for tensor in graph.initializer}
    taken = set()
    try:
        inputs = [_declared(value, taken) for value in graph.input if value.name not in tensors]
    except (KeyError, TypeError, ValueError) as problem:
        raise Error([Diagnostic(f"it can't be imported: {problem}", path)]) from None
    nodes, constants = [], set()
    for line, node in enumerate(graph.node, 1):
        attributes = {a.name: _attribute(a) for a in node.attribute}
        kind = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"
        if kind == "Constant" and (value := _constant(attributes)) is not None:
            tensors[node.output[0]] = value
            constants.add(node.output[0])
            continue
        if kind == "Identity" and node.input[0] in tensors:  # how exporters write equal tensors
            tensors[node.output[0]] = tensors[node.input[0]]
            constants |= {node.output[0]} if node.input[0] in constants else set()
            continue
        nodes.append(Node(kind, node.name, list(node.input), list(node.output), attributes, line, opset))
    return Graph(path, _identifier(graph.name or os.path.splitext(os.path.basename(path))[0]), inputs, [value.name for value in graph.output],
                 nodes, tensors, constants)


def _tensor(proto):
    import numpy
    from onnx import numpy_helper

    array = numpy_helper.to_array(proto)
    if array.dtype.name == "bfloat16":
        array = array.astype(numpy.float32)
    return torch.from_numpy(numpy.array(array))


def _constant(attributes):
    """The value of a Constant node; None for texts and sparse tensors."""
    if isinstance(attributes.get("value"), torch.Tensor):
        return attributes["value"]
    for name, dtype in (("value_float", torch.float32), ("value_floats", torch.float32), ("value_int", torch.int64), ("value_ints", torch.int64)):
        if name in attributes:
            return torch.tensor(attributes[name], dtype=dtype)
    return None


def _attribute(attribute):
    import onnx

    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, onnx.TensorProto):
        return _tensor(value)
    if attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
        return None  # of If, Loop and Scan, which are refused
    return [item.decode() if isinstance(item, bytes) else item for item in value] if not isinstance(value, (int, float, str)) else value


def _declared(value, taken):
    import onnx

    if not value.type.HasField("tensor_type"):
        raise ValueError(f"its input '{value.name}' is no tensor")
    tensor = value.type.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim)
    argument = _identifier(value.name)
    while argument in taken:
        argument += "_"
    taken.add(argument)
    dtype = torch.from_numpy(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).type(0).reshape(1)).dtype
    return Declared(value.name, argument, shape, dtype)


def _identifier(name):
    """A name that Python and model files accept."""
    word = "".join(c if c.isalnum() or c == "_" else "_" for c in name).strip("_") or "x"
    return f"x{word}" if word[0].isdigit() else word
