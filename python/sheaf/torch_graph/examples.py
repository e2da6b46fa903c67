"""Example inputs of a module, and which of their dimensions is the batch."""
import inspect

import torch
from torch.utils import _pytree

from ..error import Error


class Examples:
    """`arguments` and `keywords` as the module takes them. `batch_dim` is a dimension, or {argument's name: dimension
    or None}."""

    def __init__(self, module, arguments, keywords, batch_dim):
        signature = inspect.signature(module.forward)
        try:
            bound = signature.bind(*arguments, **keywords)
        except TypeError as problem:
            raise Error(f"the example inputs don't fit {type(module).__name__}.forward: {problem}") from None
        if isinstance(batch_dim, dict) and (unknown := set(batch_dim) - set(bound.arguments)):
            raise Error(f"batch_dim names {', '.join(sorted(unknown))}; the inputs are {', '.join(bound.arguments)}")
        self.arguments, self.keywords = bound.args, bound.kwargs
        self._catch_all = {p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD}
        self._bound, self._dims, rows = bound.arguments, {}, {}
        for path, leaf in _pytree.tree_flatten_with_path(dict(bound.arguments))[0]:
            if not isinstance(leaf, torch.Tensor):
                continue
            name = path[0].key
            dim = batch_dim.get(name, 0) if isinstance(batch_dim, dict) else batch_dim
            if dim is None or leaf.dim() == 0:
                continue
            if not -leaf.dim() <= dim < leaf.dim():
                raise Error(f"batch_dim is {dim}, but the example input '{name}' has {leaf.dim()} dimensions")
            self._dims[id(leaf)] = dim % leaf.dim()
            rows.setdefault(leaf.shape[dim], name)
        if len(rows) > 1:
            sizes = ", ".join(f"'{name}' has {size}" for size, name in rows.items())
            raise Error(f"the example inputs differ in their number of rows ({sizes}): say which dimension of each input is the batch, "
                        'or None where none is, as in batch_dim={"x": 0, "table": None}')

    def with_rows(self, rows):
        """(arguments, keywords) with that many rows: torch.export treats a batch of one row as a constant."""
        def change(leaf):
            dim = self._dims.get(id(leaf))
            if dim is None:
                return leaf
            repeats = -(-rows // max(leaf.shape[dim], 1))
            return torch.cat([leaf] * repeats, dim).narrow(dim, 0, rows)

        return _pytree.tree_map(change, (self.arguments, self.keywords))

    def dynamic_shapes(self, batch):
        """What torch.export wants to know about the arguments: {dimension: batch} for each tensor that has it."""
        def change(leaf):
            dim = self._dims.get(id(leaf))
            return None if dim is None else {dim: batch}

        shapes = _pytree.tree_map(change, dict(self._bound))
        for name in self._catch_all & set(shapes):
            shapes.update(shapes.pop(name))
        return shapes
