"""Operators that put elements into a tensor, at places that are known at import."""
import math

import torch

from .extent import Extent
from .rows import row
from .value import Constant


def placed(w, base, dim, positions, part):
    """`base` with entry i of `part` along `dim` at positions[i]; of several at one place the last counts."""
    size = base.shape[dim].fixed
    table = list(range(size))
    for index, position in enumerate(positions):
        table[position] = size + index
    together = w.layer("Concat", [base, part], (_resized(base, dim, size + len(positions)), base.dtype), dim=dim)
    return w.layer("IndexSelect", [together, _indices(table)], (base.shape, base.dtype), dim=dim)


def added(w, base, dim, positions, part):
    """`base` plus entry i of `part` along `dim` at positions[i]: each place takes the sum of those that are put there."""
    size, sources = base.shape[dim].fixed, {}
    for index, position in enumerate(positions):
        sources.setdefault(position, []).append(index)
    most, nothing = max(map(len, sources.values()), default=0), len(positions)
    if most == 0:
        return base
    table = [(sources.get(place, []) + [nothing] * most)[:most] for place in range(size)]
    padding = [0, 0] * (base.rank - 1 - dim) + [0, 1]
    padded = w.layer("Pad", [part], (_resized(base, dim, nothing + 1), base.dtype), pad=padding)
    shape = base.shape[:dim] + (Extent(0, size), Extent(0, most)) + base.shape[dim + 1:]
    picked = w.layer("IndexSelect", [padded, _indices(table)], (shape, base.dtype), dim=dim)
    return w.layer("Add", [base, w.layer("Sum", [picked], (base.shape, base.dtype), dim=dim + 1)], (base.shape, base.dtype))


def _indices(table):
    tensor = torch.tensor(table, dtype=torch.int64)
    return Constant.of((tensor, tensor))


def _resized(value, dim, size):
    return value.shape[:dim] + (Extent(0, size),) + value.shape[dim + 1:]


@row("aten.index_put", "aten._unsafe_index_put")
def index_put(a, w):
    x, values = a["self"], w.cast(a["values"], a["self"].dtype)
    given = [(dim, i) for dim, i in enumerate(a["indices"]) if i is not None]
    if len(given) == 1 and given[0][1].dtype == torch.bool:
        return _masked(w, x, *given[0], values, a["accumulate"])
    dims = [dim for dim, _ in given]
    if dims != list(range(dims[0], dims[0] + len(dims))) or not all(x.shape[d].is_fixed for d in dims):
        raise w.refuse("writes to rows by index", "each device has rows of its own: use torch.where")
    folded = flat_index(w, x, given)
    if folded is None:
        raise w.refuse("writes to places that are computed", "use torch.where")
    flat, index = folded
    shape = x.shape[:dims[0]] + tuple(Extent(0, size) for size in index.shape) + x.shape[dims[-1] + 1:]
    part = values if values.shape == shape else w.expand(w.broadcast(values), shape)
    part = w.reshape(part, _resized(flat, dims[0], index.numel()))
    put = added if a["accumulate"] else placed
    return w.reshape(put(w, flat, dims[0], index.flatten().tolist(), part), x.shape)


def _masked(w, x, dim, mask, values, accumulate):
    if values.rank or accumulate:
        raise w.refuse("writes different values where a mask is true, whose number is known only during the run", "use torch.where")
    one = Extent(0, 1)
    mask = w.reshape(mask, (one,) * dim + mask.shape + (one,) * (x.rank - dim - mask.rank)) if mask.rank < x.rank else mask
    return w.layer("Where", [w.broadcast(mask), w.broadcast(values), w.broadcast(x)], (x.shape, x.dtype))


def flat_index(w, x, given):
    """(x with the neighbouring dimensions `given` as one, the constant index into it as a tensor); None if one isn't known at import."""
    if not all(isinstance(i, Constant) and all(size.is_fixed for size in i.shape) and torch.equal(*i.worlds) for _, i in given):
        return None
    first, last = given[0][0], given[-1][0]
    sizes, flat = [x.shape[dim].fixed for dim, _ in given], 0
    for size, (_, i) in zip(sizes, given):
        index = i.worlds[0]
        flat = flat * size + torch.where(index < 0, index + size, index)
    return w.reshape(x, x.shape[:first] + (Extent(0, math.prod(sizes)),) + x.shape[last + 1:]), flat
