"""Operators that arrange elements."""
import math

import torch

from .extent import Extent
from .rows import row
from .value import Constant, Input, Parameter, Result, Value


def permuted(w, value, dims):
    if tuple(dims) == tuple(range(len(dims))):
        return value
    if isinstance(value, Constant):
        return Constant.of([world.permute(*dims) for world in value.worlds])
    return w.layer("Permute", [value], (tuple(value.shape[d] for d in dims), value.dtype), dims=list(dims))


@row("aten.view", "aten.reshape", "aten._unsafe_view", "aten.flatten", "aten.unflatten", "aten.unsqueeze", "aten.squeeze",
     "aten.view_as", "aten.reshape_as", "aten._reshape_copy")
def reshape(a, w):
    value, (shape, _) = a["self"], w.shapes()[0]
    free = [d for d, size in enumerate(value.shape) if not size.is_fixed]
    if shape != value.shape and value.rank >= 2 and len(shape) >= 1 and free == [0] and value.shape[0] == shape[0]:
        kept = len(shape) - 1  # Flatten keeps `start_dim` leading dimensions and `value.rank - end_dim` trailing ones
        if kept < value.rank - 1 and shape[:kept] == value.shape[:kept]:
            return w.layer("Flatten", [value], **({} if kept == 1 else {"start_dim": kept}))
    return w.reshape(value, shape)


@row("aten.permute")
def permute(a, w):
    return permuted(w, a["self"], tuple(d % a["self"].rank for d in a["dims"]))


@row("aten.transpose", "aten.swapaxes", "aten.swapdims")
def transpose(a, w):
    rank = a["self"].rank
    first, second = (a.get(f"dim{i}", a.get(f"axis{i}")) % rank for i in (0, 1))
    order = list(range(rank))
    order[first], order[second] = second, first
    return permuted(w, a["self"], tuple(order))


@row("aten.t", "aten.numpy_T", "aten.mT")
def transposed(a, w):
    rank = a["self"].rank
    return a["self"] if rank < 2 else permuted(w, a["self"], (*range(rank - 2), rank - 1, rank - 2))


@row("aten.movedim")
def movedim(a, w):
    rank = a["self"].rank
    source, target = ([d % rank for d in ([a[name]] if isinstance(a[name], int) else a[name])] for name in ("source", "destination"))
    order = [d for d in range(rank) if d not in source]
    for place, dim in sorted(zip(target, source)):
        order.insert(place, dim)
    return permuted(w, a["self"], tuple(order))


@row("aten.contiguous", "aten.clone", "aten.alias", "aten.lift_fresh_copy", "aten.lift_fresh", "aten.positive", "aten._conj",
     "aten.resolve_conj", "aten.resolve_neg", "aten.view_copy")
def same(a, w):
    return a.get("self", a.get("input"))


@row("aten.detach")
def detach(a, w):
    return w.layer("Detach", [a["self"]]) if _is_trained(a["self"]) else a["self"]


def _is_trained(value):
    """Whether a gradient flows into a value."""
    if isinstance(value, Result):
        return value.dtype.is_floating_point and any(_is_trained(operand) for operand in value.layer.inputs + list(value.layer.parameters.values()))
    return value.trained if isinstance(value, Parameter) else isinstance(value, Input) and value.dtype.is_floating_point


@row("aten.to", "aten._to_copy", "aten.type_as", "aten.float", "aten._autocast_to_reduced_precision")
def to(a, w):
    return w.cast(a["self"], w.shapes()[0][1])


@row("aten.expand", "aten.expand_as", "aten.broadcast_to")
def expand(a, w):
    value, (shape, _) = a["self"], w.shapes()[0]
    return value if shape == value.shape else w.expand(value, shape)


@row("aten.repeat")
def repeat(a, w):
    value, (shape, _) = a["self"], w.shapes()[0]
    sizes = (Extent(0, 1),) * (len(shape) - value.rank) + value.shape
    value = w.reshape(value, sizes)
    if all(size == Extent(0, 1) or size == wanted for size, wanted in zip(sizes, shape)):
        return value if sizes == shape else w.expand(value, shape)
    for dim, count in enumerate(a["repeats"]):
        if count != 1:
            if not isinstance(count, int):
                raise w.refuse("repeats by a number that a run determines")
            sizes = sizes[:dim] + (sizes[dim] * Extent(0, count),) + sizes[dim + 1:]
            value = w.layer("Concat", [value] * count, (sizes, value.dtype), dim=dim)
    return value


@row("aten.cat", "aten.concat", "aten.concatenate")
def cat(a, w):
    tensors = [t for t in a["tensors"] if t.shape != (Extent(0, 0),) and t.shape[a.get("dim", 0)] != Extent(0, 0)]
    return tensors[0] if len(tensors) == 1 else w.layer("Concat", [w.cast(t, w.shapes()[0][1]) for t in tensors], dim=a.get("dim", 0))


@row("aten.stack")
def stack(a, w):
    shape, dtype = w.shapes()[0]
    dim = a["dim"] % len(shape)
    one = shape[:dim] + (Extent(0, 1),) + shape[dim + 1:]
    return w.layer("Concat", [w.reshape(w.cast(w.exact(t), dtype), one) for t in a["tensors"]], dim=dim)


@row("aten.split", "aten.split_with_sizes", "aten.chunk", "aten.tensor_split", "aten.unsafe_split", "aten.unsafe_chunk")
def split(a, w):
    value, dim = a["self"], a["dim"] % a["self"].rank
    results = w.shapes()
    sizes = [shape[dim] for shape, _ in results]
    for shape, _ in results:
        w.fixed(Value(shape, value.dtype), dim, "splits", "split another dimension")
    if len(results) == 1:
        return [value]
    sizes = [size.fixed for size in sizes]
    equal = len(set(sizes[:-1])) == 1 and sizes[-1] <= sizes[0]
    return w.layer("Split", [value], results=results, split_size_or_sections=sizes[0] if equal else sizes, dim=dim)


@row("aten.unbind")
def unbind(a, w):
    dim = a["dim"] % a["self"].rank
    w.fixed(a["self"], dim, "takes apart")
    return [w.layer("Select", [a["self"]], result, dim=dim, index=index) for index, result in enumerate(w.shapes())]


@row("aten.roll")
def roll(a, w):
    if not a["dims"]:
        raise w.refuse("rolls all elements", "name the dimensions")
    return w.layer("Roll", [a["self"]], shifts=list(a["shifts"]), dims=list(a["dims"]))


@row("aten.flip")
def flip(a, w):
    return w.layer("Flip", [a["self"]], dims=list(a["dims"]))


@row("aten.pad", "aten.constant_pad_nd", "aten.reflection_pad1d", "aten.reflection_pad2d", "aten.reflection_pad3d",
     "aten.replication_pad1d", "aten.replication_pad2d", "aten.replication_pad3d")
def pad(a, w):
    sizes = [int(size) if not isinstance(size, tuple) else None for size in (a["pad"] if "pad" in a else a["padding"])]
    if None in sizes:
        raise w.refuse("pads by a number that a run determines")
    if not any(sizes):
        return a["self"]
    name = w.call.name
    mode = "reflect" if "reflection" in name else "replicate" if "replication" in name else a.get("mode", "constant")
    arguments = {} if mode == "constant" else {"mode": mode}
    value = a.get("value") or 0
    if math.isfinite(value):
        return w.layer("Pad", [a["self"]], pad=sizes, **arguments, **({"value": value} if value else {}))
    # JSON has no infinity: a border of zeros, plus a constant that is infinite there.
    rank = a["self"].rank
    inside = torch.zeros([a["self"].shape[d].fixed if d >= rank - len(sizes) // 2 else 1 for d in range(rank)], dtype=a["self"].dtype)
    border = torch.nn.functional.pad(inside, sizes, value=value)
    return w.layer("Add", [w.layer("Pad", [a["self"]], pad=sizes, **arguments), Constant.of((border, border))])
