"""Operators that put elements into a tensor, at positions known at import."""
import math

import torch

from .extent import Extent
from .rows import row
from .value import Constant


def placed(w, base, dim, positions, part):
    """`base` with entry i of `part` along `dim` at positions[i]; of several at one position the last counts."""
    size = base.shape[dim].fixed
    table = list(range(size))
    for index, position in enumerate(positions):
        table[position] = size + index
    together = w.layer("Concat", [base, part], (_resized(base, dim, size + len(positions)), base.dtype), dim=dim)
    return w.layer("IndexSelect", [together, _indices(table)], (base.shape, base.dtype), dim=dim)


def added(w, base, dim, positions, part):
    """`base` plus entry i of `part` along `dim` at positions[i]: each position receives the sum of its entries."""
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


def _along(a, w):
    dim = a["dim"] % a["self"].rank if a["self"].rank else 0
    if not a["self"].rank:
        raise w.refuse("writes to a single number by index", "use torch.where")
    w.fixed(a["self"], dim, "writes by index to", "use torch.where")
    return dim


def _scattered(a, w, kind, source):
    """torch.scatter takes an index smaller than x except along `dim`, and a source larger than the index."""
    x, index, dim = a["self"], a["index"], _along(a, w)
    if any(i != dim and index.shape[i] != x.shape[i] for i in range(x.rank)):
        raise w.refuse("writes to a part of a dimension that it doesn't index", "slice it first")
    for i in range(x.rank):
        if source.shape[i] != index.shape[i]:
            source = w.layer("Slice", [source], (source.shape[:i] + index.shape[i:i + 1] + source.shape[i + 1:], source.dtype), dim=i,
                             end=index.shape[i].fixed)
    return w.layer(kind, [x, index, source], (x.shape, x.dtype), dim=dim)


@row("aten.scatter")
def scatter(a, w):
    if a.get("reduce") not in (None, "add"):
        raise w.refuse("multiplies what is at the places")
    source = a["src"] if "src" in a else a["value"]
    if isinstance(source, (int, float, bool)):
        tensor = torch.tensor(source, dtype=a["self"].dtype)
        source = Constant.of((tensor, tensor))
    if source.rank == 0:
        source = w.expand(w.broadcast(w.cast(source, a["self"].dtype)), a["index"].shape)
    return _scattered(a, w, "ScatterAdd" if a.get("reduce") else "Scatter", source)


@row("aten.scatter_add")
def scatter_add(a, w):
    return _scattered(a, w, "ScatterAdd", a["src"])


def _by_line(a, w, kind, source):
    """One index for all elements of a slice along `dim`."""
    x, index, dim = a["self"], a["index"], _along(a, w)
    if isinstance(index, Constant) and torch.equal(*index.worlds):
        put, positions = (added if kind == "ScatterAdd" else placed), index.worlds[0].flatten().tolist()
        return put(w, x, dim, [p % x.shape[dim].fixed for p in positions], source)
    if not all(size.is_fixed for size in index.shape):
        raise w.refuse("writes to rows by index", "each device has rows of its own: use torch.where")
    count = math.prod(size.fixed for size in index.shape)
    line = w.reshape(w.exact(index), (Extent(0, 1),) * dim + (Extent(0, count),) + (Extent(0, 1),) * (x.rank - dim - 1))
    shape = _resized(x, dim, count)
    return w.layer(kind, [x, w.expand(line, shape), source], (x.shape, x.dtype), dim=dim)


@row("aten.index_add")
def index_add(a, w):
    from .rows_arithmetic import scaled
    return _by_line(a, w, "ScatterAdd", scaled(w, a["source"], a["alpha"]))


@row("aten.index_copy")
def index_copy(a, w):
    return _by_line(a, w, "Scatter", a["source"])


@row("aten.index_fill")
def index_fill(a, w):
    value = a["value"]
    if isinstance(value, (int, float, bool)):
        tensor = torch.tensor(value, dtype=a["self"].dtype)
        value = Constant.of((tensor, tensor))
    count = math.prod(size.fixed for size in a["index"].shape)
    return _by_line(a, w, "Scatter", w.expand(w.broadcast(value), _resized(a["self"], _along(a, w), count)))


def flat_index(w, x, given):
    """(x with the neighbouring dimensions `given` as one, the constant index into it as a tensor); None if one isn't
    known at import."""
    if not all(isinstance(i, Constant) and all(size.is_fixed for size in i.shape) and torch.equal(*i.worlds) for _, i in given):
        return None
    first, last = given[0][0], given[-1][0]
    sizes, flat = [x.shape[dim].fixed for dim, _ in given], 0
    for size, (_, i) in zip(sizes, given):
        index = i.worlds[0]
        flat = flat * size + torch.where(index < 0, index + size, index)
    return w.reshape(x, x.shape[:first] + (Extent(0, math.prod(sizes)),) + x.shape[last + 1:]), flat
