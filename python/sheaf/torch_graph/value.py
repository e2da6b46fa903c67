"""The values that flow between layers while a graph is imported."""
from dataclasses import dataclass, field

import torch

from .extent import sizes

DTYPES = {torch.float32: "float32", torch.float64: "float64", torch.float16: "float16", torch.bfloat16: "bfloat16",
          torch.int64: "int64", torch.int32: "int32", torch.uint8: "uint8", torch.bool: "bool"}


@dataclass(eq=False)
class Value:
    """A tensor of the model. `shape` holds Extents."""

    shape: tuple
    dtype: torch.dtype

    @property
    def rank(self):
        return len(self.shape)


@dataclass(eq=False)
class Input(Value):
    """An input of the model, under its name in the model file."""

    name: str = ""


@dataclass(eq=False)
class Parameter(Value):
    """A parameter or persistent buffer, under PyTorch's full name. `aliases` are all names that the module has for it."""

    name: str = ""
    trained: bool = True
    aliases: tuple = ()


@dataclass(eq=False)
class Result(Value):
    """Output `index` of a layer."""

    layer: "Layer" = None
    index: int = 0


def _equal(one, other):
    if not one.is_floating_point():
        return torch.equal(one, other)
    return one.shape == other.shape and bool(((one == other) | (one.isnan() & other.isnan())).all())


@dataclass(eq=False)
class Constant(Value):
    """Known at import: one tensor for each of the first two worlds (extent.py), to reveal what depends on the batch's size, and on
    lengths."""

    worlds: tuple = ()

    @staticmethod
    def of(worlds):
        shape = tuple(sizes().between(*pair) for pair in zip(worlds[0].shape, worlds[1].shape))
        return Constant(shape, worlds[0].dtype, tuple(worlds))

    def per_row(self):
        """The tensor with size 1 where it has the batch, or None if its rows differ or it depends on the batch size."""
        return self._folded(lambda size: 1)

    def per_group(self):
        """The tensor with n where it has n times the batch, or None if rows differ or it depends on the batch size."""
        return self._folded(lambda size: size.rows)

    def _folded(self, kept):
        folded = []
        for tensor in self.worlds:
            for dim, size in enumerate(self.shape):
                if not size.is_fixed:
                    first = tensor.narrow(dim, 0, kept(size))
                    repeats = [1] * dim + [tensor.shape[dim] // first.shape[dim]] + [1] * (tensor.dim() - dim - 1)
                    if size.fixed or not _equal(first.repeat(repeats), tensor):
                        return None
                    tensor = first
            folded.append(tensor)
        return folded[0] if folded[0].shape == folded[1].shape and _equal(*folded) else None

    def table(self):
        """What begins with it whatever the lengths are, its value for their largest numbers, with size 1 where it has the batch, or a length
        along which all is equal. None if its rows differ, or it depends on sizes in another way."""
        folded = self.worlds
        for dim, size in enumerate(self.shape):
            if size.is_fixed:
                continue
            firsts = [tensor.narrow(dim, 0, 1) for tensor in folded]
            if all(_equal(first.expand(tensor.shape), tensor) for first, tensor in zip(firsts, folded)):
                folded = firsts
            elif size.length is None:
                return None
        begin = folded[1]
        for dim, size in enumerate(folded[0].shape):
            if size > begin.shape[dim]:
                return None
            begin = begin.narrow(dim, 0, size)
        return folded[1] if _equal(begin, folded[0]) else None

    def number(self):
        """Its Python number, if it has one element at any batch size; else None."""
        if any(not size.is_fixed for size in self.shape) or self.worlds[0].numel() != 1:
            return None
        first, second = (world.item() for world in self.worlds)
        return first if first == second else None


@dataclass(eq=False)
class Drawn(Value):
    """`scale` times ones with probability `keep`, zeros otherwise: the factor of stochastic depth."""

    keep: float = 1.0
    scale: float = 1.0


@dataclass(eq=False)
class Layer:
    """A layer of the model file before it has a name. `stack` are the module calls around it, outermost first, as
    (call's key, module's path); `owner` is the module's path with which its parameters' names begin, if it has any."""

    type: str
    inputs: list
    arguments: dict
    stack: tuple
    source: object
    owner: str | None = None
    parameters: dict = field(default_factory=dict)  # own name → Parameter
    results: list = field(default_factory=list)
    hint: str = ""
    operator: str = ""  # the call that it was written for
    checkpoints: tuple = ()  # the numbers of those around it, outermost first
    checkpoint: bool = False  # it is one itself
