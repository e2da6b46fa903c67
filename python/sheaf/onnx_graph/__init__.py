"""Import of ONNX graphs. A graph becomes a torch.nn.Module, and that becomes a model file: only torch_graph defines the model file's layers."""
import math

import torch

from ..error import Diagnostic, Error
from .graph import Graph, read
from .program import module_of


def from_onnx(file, *, name=None, batch_dim=0, sizes=None, lengths=None):
    """The ModelFile of an ONNX graph, as in inference; in training its BatchNormalization and Dropout act as PyTorch's do.

    `batch_dim` is the batch dimension of every input, or {input: dimension, or None if there is none}. Each other free size of the inputs
    gets a number, in `sizes` by its name in the graph, {"sequence": 128}, or stays free, a length, in `lengths` as for from_torch():
    {input: {dimension: name}}, or a torch.export.Dim("seq", max=512) instead of a name; all inputs' sizes of that name in the graph are this length.
    Weights that PyTorch's exporter named have PyTorch's names.
    Raises sheaf.Error with the node for each operation that a model file can't express: `line` counts nodes from 1.
    """
    from ..torch_graph import from_torch

    graph = read(file)
    module = module_of(graph)
    examples, dims, free = _examples(graph, batch_dim, dict(sizes or {}), _lengths(graph, lengths or {}))
    return from_torch(module, examples, name=name or graph.name, batch_dim=dims, lengths=free)


# Two rows: from_torch takes what it needs.
_ROWS = 2

# Of the first length, the second, and so on: no sizes that other dimensions usually have.
_NUMBERS = (7, 11, 13, 17, 19, 23, 29, 31)


def _lengths(graph: Graph, given):
    """{input: {dimension: (name, largest number or None)}}: what the caller names, and what the graph calls the same."""
    from ..torch_graph.lengths import named

    found = named(given, [value.name for value in graph.inputs])
    same = {}  # by the graph's name
    for value in graph.inputs:
        rank = len(value.shape or ())
        for dim, length in found.get(value.name, {}).items():
            size = value.shape[dim] if -rank <= dim < rank else 1
            if isinstance(size, int):
                raise Error([Diagnostic(f"dimension {dim} of '{value.name}' isn't a free size of the graph", graph.file)])
            if size and same.setdefault(size, length) != length:
                raise Error([Diagnostic(f"the graph's size '{size}' is named both '{same[size][0]}' and '{length[0]}'", graph.file)])
    return {value.name: {**{dim: same[size] for dim, size in enumerate(value.shape or ()) if size in same},
                         **{dim % len(value.shape): length for dim, length in found.get(value.name, {}).items()}}
            for value in graph.inputs}


def _examples(graph: Graph, batch_dim, sizes, lengths):
    """Inputs of the sizes that the graph declares, {input: its batch's dimension}, and `lengths` as from_torch() takes them."""
    from ..torch_graph.lengths import length

    problems, examples, dims, free, numbers = [], [], {}, set(), {}
    for value in graph.inputs:
        dim = batch_dim.get(value.name, 0) if isinstance(batch_dim, dict) else batch_dim
        if dim is not None and value.shape:
            dims[value.argument] = dim = dim % len(value.shape)
        else:
            dims[value.argument] = dim = None
        shape = []
        for i, size in enumerate(value.shape or ()):
            if i in lengths[value.name]:
                name, most = lengths[value.name][i]
                shape.append(numbers.setdefault(name, min(_NUMBERS[len(numbers) % len(_NUMBERS)], most or math.inf)))
            elif i == dim:
                shape.append(_ROWS)
            elif isinstance(size, int):
                shape.append(size)
            elif size in sizes:
                free.add(size)
                shape.append(sizes[size])
            else:
                problems.append(Diagnostic(
                    f"input '{value.name}' has a free size '{size or '?'}' besides the batch: give it, as in sizes={{\"{size or '?'}\": 128}}, or let "
                    f"each run have its own, as in lengths={{\"{value.name}\": {{{i}: torch.export.Dim(\"seq\", max=512)}}}}", graph.file))
                shape.append(1)
        if value.shape is None:
            problems.append(Diagnostic(f"input '{value.name}' declares no shape", graph.file))
        examples.append(torch.zeros(shape, dtype=value.dtype))
    problems += [Diagnostic(f"sizes has '{name}', which is no size of an input" + (", or a length" if any(lengths.values()) else ""), graph.file)
                 for name in sizes if name not in free]
    if problems:
        raise Error(problems)
    return tuple(examples), dims, {value.argument: {dim: length(*one) for dim, one in lengths[value.name].items()} for value in graph.inputs}
