"""Operators that take some elements."""
import torch

from .extent import Extent, sizes
from .rows import row
from .rows_scatter import flat_index
from .rows_shape import permuted
from .value import Constant


@row("aten.slice")
def slice_(a, w):
    value, (shape, _) = a["self"], w.shapes()[0]
    dim = a["dim"] % value.rank
    if shape == value.shape and a["step"] == 1:
        return value
    if shape[dim].fixed == 0 and shape[dim].is_fixed:
        return Constant.of([torch.empty([size.at(numbers) for size in shape], dtype=value.dtype) for numbers in sizes().worlds[:2]])
    bounds = {name: a[name] for name in ("start", "end") if a[name] is not None}
    if value.shape[dim].has_rows:
        w.fixed(value, dim, "takes some of", "take a part of another dimension")
    if not value.shape[dim].is_fixed or any(isinstance(bound, tuple) for bound in bounds.values()):
        length = shape[dim].length
        if length is None or not value.shape[dim].is_fixed or bounds.get("start", 0) != 0 or a["step"] != 1:
            raise w.refuse(f"takes a part whose size is {shape[dim] if shape[dim] is not None else 'another'} of a dimension of {value.shape[dim]}",
                           "of sizes that a run determines, the model file takes a length from the beginning")
        return w.layer("Slice", [value], dim=dim, end=length)
    arguments = {"dim": dim}
    if bounds.get("start", 0) != 0:
        arguments["start"] = bounds["start"]
    if bounds.get("end", 2**62) < value.shape[dim].fixed:
        arguments["end"] = bounds["end"]
    if a["step"] != 1:
        arguments["step"] = a["step"]
    return w.layer("Slice", [value], **arguments)


@row("aten.narrow")
def narrow(a, w):
    dim = a["dim"] % a["self"].rank
    w.fixed(a["self"], dim, "takes a part of", "take a part of another dimension")
    if isinstance(a["start"], tuple) or isinstance(a["length"], tuple):
        if a["start"] == 0 and (length := w.shapes()[0][0][dim].length):
            return w.layer("Slice", [a["self"]], dim=dim, end=length)
        raise w.refuse("takes a part that depends on sizes which a run determines")
    return w.layer("Slice", [a["self"]], dim=dim, start=a["start"], end=a["start"] + a["length"])


@row("aten.select")
def select(a, w):
    dim = a["dim"] % a["self"].rank
    if a["self"].shape[dim].has_rows or isinstance(a["index"], tuple):
        raise w.refuse("takes one of the rows", "each device has rows of its own: select along another dimension")
    return w.layer("Select", [a["self"]], dim=dim, index=a["index"])


@row("aten.embedding")
def embedding(a, w):
    table = a["weight"]
    arguments = {"num_embeddings": table.shape[0].fixed, "embedding_dim": table.shape[1].fixed}
    if a["padding_idx"] != -1:
        arguments["padding_idx"] = a["padding_idx"]
    layer = w.typed("Embedding", [a["indices"]], {"weight": table}, **arguments)
    return layer if layer is not None else w.layer("IndexSelect", [table, a["indices"]], dim=0)


@row("aten.index_select")
def index_select(a, w):
    return w.layer("IndexSelect", [a["self"], a["index"]], dim=a["dim"] % a["self"].rank)


@row("aten.gather")
def gather(a, w):
    """torch.gather takes an index smaller than x in dimensions that it doesn't index."""
    x, index, dim = a["self"], a["index"], a["dim"] % max(a["self"].rank, 1)
    for i in range(x.rank):
        if i != dim and x.shape[i] != index.shape[i] and x.shape[i].is_fixed and index.shape[i].is_fixed:
            x = w.layer("Slice", [x], (x.shape[:i] + index.shape[i:i + 1] + x.shape[i + 1:], x.dtype), dim=i, end=index.shape[i].fixed)
    return w.layer("Gather", [x, index], dim=dim)


@row("aten.index")
def index(a, w):
    """x[:, i] with one tensor of indices is IndexSelect; an index by a mask has a size known only during the run."""
    given = [(dim, i) for dim, i in enumerate(a["indices"]) if i is not None]
    x = a["self"]
    if any(i.dtype in (torch.bool, torch.uint8) for _, i in given):
        raise w.refuse("takes the elements where a mask is true, whose number is known only during the run",
                       "multiply by the mask, or use torch.where")
    dims = [dim for dim, _ in given]
    together = dims == list(range(dims[0], dims[0] + len(dims))) and all(x.shape[d].is_fixed for d in dims)
    if together and (folded := flat_index(w, x, given)) is not None:
        # Adjacent constant indices: one index into those dimensions, viewed as one.
        flat, index = folded
        return w.layer("IndexSelect", [flat, Constant.of((index, index))], dim=dims[0])
    if together and len(given) == 1:
        return w.layer("IndexSelect", [x, given[0][1]], dim=dims[0])
    if _with_rows(given):
        return _of_each_row(w, x, given[1:])
    raise w.refuse("takes elements of the rows by index", "each device has rows of its own: use gather along another dimension")


def _with_rows(given):
    """Whether the indices are for the first dimensions, and the batch's index is each row's own number."""
    (first, rows), others = given[0], given[1:]
    if [dim for dim, _ in given] != list(range(len(given))) or first != 0 or not others or not isinstance(rows, Constant):
        return False
    rank = max(i.rank for _, i in given)
    if rows.rank != rank or not all(i.rank < rank or i.shape[0] in (Extent(0, 1), Extent(1, 0)) for _, i in others):
        return False
    return all(torch.equal(world.flatten(), torch.arange(len(world))) for world in rows.worlds) and rows.shape[0] == Extent(1, 0)


def _of_each_row(w, x, given):
    """The elements of each row at indices that are the same for all rows, or one index per row."""
    shape = w.shapes()[0][0]
    if all(isinstance(i, Constant) for _, i in given):
        same = [(dim, w.broadcast(i)) for dim, i in given]
        if (folded := flat_index(w, x, same)) is not None:
            flat, index = folded
            index = index[0] if index.dim() == len(shape) - (x.rank - len(given) - 1) else index
            return w.layer("IndexSelect", [flat, Constant.of((index, index))], (shape, x.dtype), dim=1)
    (dim, index), *others = given
    if others or index.shape != (Extent(1, 0),):
        raise w.refuse("takes several elements of each row by computed indices", "use gather along another dimension")
    one = (Extent(1, 0), Extent(0, 1)) + x.shape[2:]
    index = w.expand(w.reshape(index, one[:2] + (Extent(0, 1),) * (x.rank - 2)), one)
    return w.reshape(w.layer("Gather", [x, index], (one, x.dtype), dim=dim), shape)


@row("aten.masked_fill")
def masked_fill(a, w):
    x, mask, value = a["self"], a["mask"], a["value"]
    filled = value if not isinstance(value, (int, float, bool)) else _scalar(value, w.shapes()[0][1])
    return w.layer("Where", [w.broadcast(mask), w.broadcast(w.cast(filled, x.dtype)), w.broadcast(x)])


@row("aten.where")
def where(a, w):
    dtype = w.shapes()[0][1]
    sides = [_scalar(a[s], dtype) if isinstance(a[s], (int, float, bool)) else w.cast(a[s], dtype) for s in ("self", "other")]
    return w.layer("Where", [w.broadcast(v) for v in (a["condition"], *sides)])


def _scalar(value, dtype):
    tensor = torch.tensor(value, dtype=dtype)
    return Constant.of((tensor, tensor))


@row("aten.copy")
def copy(a, w):
    value, (shape, dtype) = w.cast(a["src"], a["self"].dtype), (a["self"].shape, a["self"].dtype)
    return value if value.shape == shape else w.expand(w.broadcast(value), shape)


@row("aten.fill", "aten.zero")
def fill(a, w):
    value = a.get("value", 0)
    scalar = _scalar(value, a["self"].dtype) if isinstance(value, (int, float, bool)) else w.cast(value, a["self"].dtype)
    return w.expand(w.broadcast(scalar), a["self"].shape)


@row("aten.unfold")
def unfold(a, w):
    """Windows along a dimension, each in the new last dimension."""
    x, dim = a["self"], a["dimension"] % a["self"].rank
    starts = torch.arange(0, w.fixed(x, dim, "takes windows of") - a["size"] + 1, a["step"])
    table = starts[:, None] + torch.arange(a["size"])
    shape = x.shape[:dim] + tuple(Extent(0, size) for size in table.shape) + x.shape[dim + 1:]
    windows = w.layer("IndexSelect", [x, Constant.of((table, table))], (shape, x.dtype), dim=dim)
    return permuted(w, windows, tuple(d for d in range(len(shape)) if d != dim + 1) + (dim + 1,))


@row("aten.diagonal")
def diagonal(a, w):
    x, (first, second) = a["self"], (a[name] % a["self"].rank for name in ("dim1", "dim2"))
    if not (x.shape[first].is_fixed and x.shape[second].is_fixed):
        raise w.refuse("takes a diagonal through the rows")
    others = tuple(d for d in range(x.rank) if d not in (first, second))
    x = permuted(w, x, (*others, first, second))
    rows, columns = (size.fixed for size in x.shape[-2:])
    index = torch.arange(rows * columns).view(rows, columns).diagonal(a["offset"]).contiguous()
    flat = w.reshape(x, x.shape[:-2] + (Extent(0, rows * columns),))
    return w.layer("IndexSelect", [flat, Constant.of((index, index))], dim=flat.rank - 1)
