"""Sums and other reductions over dimensions."""
import math

import torch

from .extent import Extent
from .rows import row


def _dims(a, w, name="dim"):
    dims = a.get(name)
    dims = [dims] if isinstance(dims, int) else list(dims or [])
    dims = sorted({d % a["self"].rank for d in dims}) if dims else list(range(a["self"].rank))
    if any(a["self"].shape[d].has_rows for d in dims):
        raise w.refuse("computes one value of all rows", "each device has rows of its own; a loss belongs into the training section")
    return dims


def _reduced(kind, a, w, value=None, **arguments):
    value, dims = a["self"] if value is None else value, _dims(a, w)
    keep = bool(a.get("keepdim"))
    shape = tuple(Extent(0, 1) if d in dims else size for d, size in enumerate(value.shape) if keep or d not in dims)
    if keep:
        arguments["keepdim"] = True
    return w.layer(kind, [value], (shape, value.dtype), dim=dims[0] if len(dims) == 1 else dims, **arguments)


@row("aten.mean")
def mean(a, w):
    return _reduced("Mean", a, w, _in_its_type(a, w))


@row("aten.sum")
def sum_(a, w):
    value = w.cast(a["self"], w.shapes()[0][1])
    return _reduced("Sum", a, w, value) if value.dtype.is_floating_point else _sum_of_integers(a, w, value)


def _sum_of_integers(a, w, value):
    """The last of the running sums, which are exact."""
    for dim in reversed(_dims(a, w)):
        one = value.shape[:dim] + (Extent(0, 1),) + value.shape[dim + 1:]
        running = w.layer("CumSum", [value], (value.shape, value.dtype), dim=dim)
        if a.get("keepdim"):
            value = w.layer("Slice", [running], (one, value.dtype), dim=dim, start=-1)
        else:
            value = w.layer("Select", [running], (one[:dim] + one[dim + 1:], value.dtype), dim=dim, index=-1)
    return value


def _true(a, w, kind):
    """Whether one (AMax) or all (AMin) are true, or not 0."""
    if not a["self"].shape:
        return a["self"]
    value = a["self"] if a["self"].dtype == torch.bool else w.layer("Ne", [a["self"]], (a["self"].shape, torch.bool), other=0)
    extreme = _reduced(kind, a, w, w.cast(value, torch.float32))
    return w.layer("Ne", [extreme], (extreme.shape, torch.bool), other=0)


@row("aten.any")
def any_(a, w):
    return _true(a, w, "AMax")


@row("aten.all")
def all_(a, w):
    return _true(a, w, "AMin")


def _in_its_type(a, w):
    return w.cast(a["self"], a["dtype"]) if a.get("dtype") is not None else a["self"]


@row("aten.amax")
def amax(a, w):
    return _reduced("AMax", a, w)


@row("aten.amin")
def amin(a, w):
    return _reduced("AMin", a, w)


def _extreme(operator, kind, arg):
    @row(f"aten.{operator}")
    def extreme(a, w):
        if "other" in a:
            from .rows_arithmetic import _two
            return _two(operator.capitalize() + "imum", w, a["self"], a["other"])
        if "dim" not in a:
            return _reduced(kind, a, w)
        if not a["self"].dtype.is_floating_point:
            return _extreme_of_integers(a, w, arg)
        index = w.layer(arg, [a["self"]], w.shapes()[1], dim=_dims(a, w)[0], **({"keepdim": True} if a["keepdim"] else {}))
        return [_reduced(kind, a, w), index]


def _extreme_of_integers(a, w, arg):
    """The elements at the extremum's position."""
    x, dim = a["self"], _dims(a, w)[0]
    kept = x.shape[:dim] + (Extent(0, 1),) + x.shape[dim + 1:]
    index = w.layer(arg, [x], (kept, torch.int64), dim=dim, keepdim=True)
    value = w.layer("Gather", [x, index], (kept, x.dtype), dim=dim)
    shape = w.shapes()[0][0]
    return [w.reshape(value, shape), w.reshape(index, shape)]


_extreme("max", "AMax", "ArgMax")
_extreme("min", "AMin", "ArgMin")


def _place(operator, kind):
    @row(f"aten.{operator}")
    def place(a, w):
        value = a["self"] if a["self"].dtype != torch.bool else w.cast(a["self"], torch.int32)
        if a["dim"] is None:
            value = w.reshape(value, (Extent(0, math.prod(value.shape[d].fixed for d in _dims(a, w))),))
        return w.layer(kind, [value], dim=_dims(a, w)[0] if a["dim"] is not None else 0, **({"keepdim": True} if a["keepdim"] else {}))


_place("argmax", "ArgMax")
_place("argmin", "ArgMin")


@row("aten.var")
def var(a, w):
    return _reduced("Var", a, w, **_correction(a))


@row("aten.std")
def std(a, w):
    return w.layer("Sqrt", [_reduced("Var", a, w, **_correction(a))])


@row("aten.std_mean")
def std_mean(a, w):
    variance, mean_ = var_mean(a, w)
    return [w.layer("Sqrt", [variance], (variance.shape, variance.dtype)), mean_]


@row("aten.var_mean")
def var_mean(a, w):
    return [_reduced("Var", a, w, **_correction(a)), _reduced("Mean", a, w)]


def _correction(a):
    correction = a.get("correction", 1 if a.get("unbiased", True) else 0)
    return {} if correction in (None, 1) else {"correction": correction}


@row("aten.linalg_vector_norm", "aten.norm")
def norm(a, w):
    x, order = a["self"], a.get("ord", a.get("p", 2))
    form = (x.shape, x.dtype)
    if order == 2:
        return w.layer("Sqrt", [_reduced("Sum", a, w, w.layer("Mul", [x, x], form))])
    size = w.layer("Abs", [x], form)
    if order in (math.inf, -math.inf):
        return _reduced("AMax" if order > 0 else "AMin", a, w, size)
    if order == 0:
        raise w.refuse("counts the elements that aren't 0", "use (x != 0).sum()")
    if order == 1:
        return _reduced("Sum", a, w, size)
    return w.layer("Pow", [_reduced("Sum", a, w, w.layer("Pow", [size], form, exponent=order))], exponent=1 / order)


@row("aten.cumsum")
def cumsum(a, w):
    if a["self"].shape[a["dim"]].has_rows:
        raise w.refuse("sums up over the rows")
    return w.layer("CumSum", [w.cast(a["self"], w.shapes()[0][1])], dim=a["dim"])


@row("aten.cosine_similarity")
def cosine_similarity(a, w):
    return w.layer("CosineSimilarity", [w.broadcast(a["x1"]), w.broadcast(a["x2"])], dim=a["dim"], eps=a["eps"])


@row("aten.pairwise_distance")
def pairwise_distance(a, w):
    if not 0 < a["p"] < math.inf:
        return w.apart()
    return w.layer("PairwiseDistance", [w.broadcast(a["x1"]), w.broadcast(a["x2"])], p=a["p"], eps=a["eps"], keepdim=a["keepdim"])


@row("aten.cdist", "aten._cdist_forward", "aten._euclidean_dist")
def cdist(a, w):
    """Distances of all pairs: a fused reduction, so their differences are never in memory."""
    x, y = a["x1"], a["x2"]
    p = a.get("p", 2.0)
    x, y = (w.reshape(value, value.shape[:-2] + shape) for value, shape in (
        (x, (x.shape[-2], Extent(0, 1), x.shape[-1])), (y, (Extent(0, 1), *y.shape[-2:]))))
    if 0 < p < math.inf:
        return w.layer("PairwiseDistance", [x, y], p=p, eps=0.0)
    result = w.shapes()[0]
    apart = w.layer("Sub", [x, y], (result[0] + x.shape[-1:], result[1]))
    last = len(result[0])
    if p == 0:
        different = w.layer("Ne", [x, y], (result[0] + x.shape[-1:], torch.bool))
        return w.layer("Sum", [w.cast(different, result[1])], dim=last)
    return w.layer("AMax", [w.layer("Abs", [apart], (apart.shape, apart.dtype))], dim=last)
