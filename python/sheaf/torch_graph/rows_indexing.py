"""Operators that take some elements."""
import torch

from .extent import Extent
from .rows import row
from .value import Constant


@row("aten.slice")
def slice_(a, w):
    value, (shape, _) = a["self"], w.shapes()[0]
    dim = a["dim"] % value.rank
    if shape == value.shape and a["step"] == 1:
        return value
    bounds = {name: a[name] for name in ("start", "end") if a[name] is not None}
    if not value.shape[dim].is_fixed or any(isinstance(bound, tuple) for bound in bounds.values()):
        raise w.refuse("takes some of the rows", "each device has rows of its own: take a part of another dimension")
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
    if not a["self"].shape[dim].is_fixed or isinstance(a["start"], tuple):
        raise w.refuse("takes some of the rows", "each device has rows of its own: take a part of another dimension")
    return w.layer("Slice", [a["self"]], dim=dim, start=a["start"], end=a["start"] + a["length"])


@row("aten.select")
def select(a, w):
    dim = a["dim"] % a["self"].rank
    if not a["self"].shape[dim].is_fixed or isinstance(a["index"], tuple):
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
    return w.layer("Gather", [a["self"], a["index"]], dim=a["dim"] % a["self"].rank)


@row("aten.index")
def index(a, w):
    """x[:, i] with one tensor of indices is IndexSelect; an index by a mask has a size that only the run knows."""
    given = [(dim, i) for dim, i in enumerate(a["indices"]) if i is not None]
    x = a["self"]
    if any(i.dtype in (torch.bool, torch.uint8) for _, i in given):
        raise w.refuse("takes the elements where a mask is true, whose number is known only during the run",
                       "multiply by the mask, or use torch.where")
    if len(given) == 1 and x.shape[given[0][0]].is_fixed:
        return w.layer("IndexSelect", [x, given[0][1]], dim=given[0][0])
    dims = [dim for dim, _ in given]
    together = dims == list(range(dims[0], dims[0] + len(dims)))
    if together and all(x.shape[d].is_fixed for d in dims) and all(isinstance(i, Constant) for _, i in given):
        # Several constant indices side by side: one index into those dimensions taken as one.
        sizes = [x.shape[d].fixed for d in dims]
        worlds = []
        for world in range(2):
            flat = 0
            for size, (_, i) in zip(sizes, given):
                flat = flat * size + torch.where(i.worlds[world] < 0, i.worlds[world] + size, i.worlds[world])
            worlds.append(flat)
        count = 1
        for size in sizes:
            count *= size
        folded = w.reshape(x, x.shape[:dims[0]] + (Extent(0, count),) + x.shape[dims[-1] + 1:])
        return w.layer("IndexSelect", [folded, Constant.of(worlds)], dim=dims[0])
    raise w.refuse("takes elements of the rows by index", "each device has rows of its own: use gather along another dimension")


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
