"""Example inputs of a module, and which of their dimensions are the batch and lengths."""
import inspect
import itertools

import torch
from torch.utils import _pytree

from ..error import Error
from .extent import BATCH
from .lengths import named


def unwrapped(module):
    """A module without the DataParallels around it: they do nothing of their own, and their forward takes anything."""
    while isinstance(module, torch.nn.DataParallel):
        module = module.module
    return module


class Examples:
    """`arguments` and `keywords` as the module takes them. `batch_dim` is a dimension, or {argument's name: dimension
    or None}; `lengths` is {argument's name: {dimension: a name or a torch.export.Dim}}."""

    def __init__(self, module, arguments, keywords, batch_dim, lengths=None):
        inner = unwrapped(module)
        signature = inspect.signature(module.forward)
        try:
            by_name = inspect.signature(inner.forward).bind(*arguments, **keywords).arguments
            bound = signature.bind(*arguments, **keywords)
        except TypeError as problem:
            raise Error(f"the example inputs don't fit {type(inner).__name__}.forward: {problem}") from None
        if isinstance(batch_dim, dict) and (unknown := set(batch_dim) - set(by_name)):
            raise Error(f"batch_dim names {', '.join(sorted(unknown))}; the inputs are {', '.join(by_name)}")
        self.arguments, self.keywords = bound.args, bound.kwargs
        lengths = named(lengths or {}, by_name)
        names = {id(leaf): name for name, value in by_name.items() for leaf in _pytree.tree_leaves(value)}
        self._lengths, examples = {}, {}
        self._catch_all = {p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD}
        self._bound, self._dims, rows = bound.arguments, {}, {}
        for leaf in _pytree.tree_leaves(dict(bound.arguments)):
            if not isinstance(leaf, torch.Tensor):
                continue
            name = names[id(leaf)]
            self._name_lengths(leaf, name, lengths.get(name, {}), examples)
            dim = batch_dim.get(name, 0) if isinstance(batch_dim, dict) else batch_dim
            if dim is None or leaf.dim() == 0:
                continue
            if not -leaf.dim() <= dim < leaf.dim():
                raise Error(f"batch_dim is {dim}, but the example input '{name}' has {leaf.dim()} dimensions")
            self._dims[id(leaf)] = dim % leaf.dim()
            if self._dims[id(leaf)] in self._lengths[id(leaf)]:
                raise Error(f"dimension {self._dims[id(leaf)]} of the example input '{name}' is named both the batch and a length")
            rows.setdefault(leaf.shape[dim], name)
        if len(rows) > 1:
            sizes = ", ".join(f"'{name}' has {size}" for size, name in rows.items())
            raise Error(f"the example inputs differ in their number of rows ({sizes}): say which dimension of each input is the batch, "
                        'or None where none is, as in batch_dim={"x": 0, "table": None}')

    def _name_lengths(self, leaf, name, dims, examples):
        """Notes the leaf's lengths; `examples` are the numbers that the examples have for each."""
        found = {}
        for dim, (length, most) in dims.items():
            if not -leaf.dim() <= dim < leaf.dim():
                raise Error(f"lengths names dimension {dim}, but the example input '{name}' has {leaf.dim()} dimensions")
            size = leaf.shape[dim]
            if size < 2:
                raise Error(f"the example input '{name}' has {size} in dimension {dim}, the length '{length}': torch.export needs at least 2")
            if examples.setdefault(length, size) != size:
                raise Error(f"the example inputs have two numbers for the length '{length}', {examples[length]} and {size}")
            found[dim % leaf.dim()] = (length, most)
        self._lengths[id(leaf)] = found

    def with_rows(self):
        """(arguments, keywords) with the rows of the trace: more than one, which torch.export treats as a constant, and no usual size of
        another dimension, for which it might take them, nor an example's number for a length."""
        taken = {leaf.shape[dim] for leaf in _pytree.tree_leaves(dict(self._bound)) if isinstance(leaf, torch.Tensor) for dim in self._lengths[id(leaf)]}
        rows = next(rows for rows in itertools.chain((13, 17, 19), itertools.count(23)) if rows not in taken)

        def change(leaf):
            dim = self._dims.get(id(leaf))
            if dim is None:
                return leaf
            repeats = -(-rows // max(leaf.shape[dim], 1))
            return torch.cat([leaf] * repeats, dim).narrow(dim, 0, rows)

        return _pytree.tree_map(change, (self.arguments, self.keywords))

    @property
    def has_lengths(self):
        return any(self._lengths.values())

    def roles(self):
        """{dimension: the batch or a length} of each tensor, in order."""
        leaves = [leaf for leaf in _pytree.tree_leaves((self.arguments, self.keywords)) if isinstance(leaf, torch.Tensor)]
        return [{**({self._dims[id(leaf)]: BATCH} if id(leaf) in self._dims else {}),
                 **{dim: name for dim, (name, _) in self._lengths[id(leaf)].items()}} for leaf in leaves]

    def dynamic_shapes(self):
        """What torch.export wants to know about the arguments: which dimensions of each tensor may have any size."""
        def change(leaf):
            if not isinstance(leaf, torch.Tensor):
                return None
            free = {self._dims[id(leaf)]: torch.export.Dim.DYNAMIC} if id(leaf) in self._dims else {}
            free.update({dim: torch.export.Dim.DYNAMIC(max=most) for dim, (_, most) in self._lengths[id(leaf)].items()})
            return free or None

        shapes = _pytree.tree_map(change, dict(self._bound))
        for name in self._catch_all & set(shapes):
            shapes.update(shapes.pop(name))
        return shapes
