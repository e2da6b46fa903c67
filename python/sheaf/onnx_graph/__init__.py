"""Import of ONNX graphs. A graph becomes a torch.nn.Module, and that becomes a model file: only torch_graph defines the model file's layers."""
import torch

from ..error import Diagnostic, Error
from .graph import Graph, read
from .program import module_of


def from_onnx(file, *, name=None, batch_dim=0, sizes=None):
    """The ModelFile of an ONNX graph, as in inference; in training its BatchNormalization and Dropout act as PyTorch's do.

    `batch_dim` is the batch dimension of every input, or {input: dimension, or None if there is none}. `sizes` gives the
    graph's other free sizes by name: {"sequence": 128}. Weights that PyTorch's exporter named have PyTorch's names.
    Raises sheaf.Error with the node for each operation that a model file can't express: `line` counts nodes from 1.
    """
    from ..torch_graph import from_torch

    graph = read(file)
    module = module_of(graph)
    examples, dims = _examples(graph, batch_dim, dict(sizes or {}))
    return from_torch(module, examples, name=name or graph.name, batch_dim=dims)


# Two rows: from_torch takes what it needs.
_ROWS = 2


def _examples(graph: Graph, batch_dim, sizes):
    """Inputs of the sizes that the graph declares, and {input: its batch's dimension}."""
    problems, examples, dims, free = [], [], {}, set()
    for value in graph.inputs:
        dim = batch_dim.get(value.name, 0) if isinstance(batch_dim, dict) else batch_dim
        if dim is not None and value.shape:
            dims[value.argument] = dim = dim % len(value.shape)
        else:
            dims[value.argument] = dim = None
        shape = []
        for i, size in enumerate(value.shape or ()):
            if i == dim:
                shape.append(_ROWS)
            elif isinstance(size, int):
                shape.append(size)
            elif size in sizes:
                free.add(size)
                shape.append(sizes[size])
            else:
                problems.append(Diagnostic(f"input '{value.name}' has a free size '{size or '?'}' besides the batch: give it, as in "
                                           f"sizes={{\"{size or '?'}\": 128}}", graph.file))
                shape.append(1)
        if value.shape is None:
            problems.append(Diagnostic(f"input '{value.name}' declares no shape", graph.file))
        examples.append(torch.zeros(shape, dtype=value.dtype))
    problems += [Diagnostic(f"sizes has '{name}', which is no size of an input", graph.file) for name in sizes if name not in free]
    if problems:
        raise Error(problems)
    return tuple(examples), dims
