"""Operators that put elements in order, and those that carry something along a dimension."""
import math

import torch

from .extent import Extent
from .rows import row


def _dim(a, w, does):
    """The dimension, which must not be the batch's."""
    dim = a["dim"] % a["self"].rank if a["self"].rank else 0
    if not a["self"].rank:
        raise w.refuse("is applied to a single number", "leave it out")
    w.fixed(a["self"], dim, does, "use another dimension")
    return dim


def _like(value, dim, size):
    return value.shape[:dim] + (Extent(0, size),) + value.shape[dim + 1:]


@row("aten.sort")
def sort(a, w):
    return w.layer("Sort", [a["self"]], results=w.shapes(), dim=_dim(a, w, "sorts"), descending=bool(a["descending"]))


@row("aten.argsort")
def argsort(a, w):
    return w.layer("ArgSort", [a["self"]], dim=_dim(a, w, "sorts"), descending=bool(a["descending"]))


@row("aten.topk")
def topk(a, w):
    return w.layer("TopK", [a["self"]], results=w.shapes(), k=a["k"], dim=_dim(a, w, "takes the largest of"), largest=a["largest"])


def _sorted(w, value, dim):
    return w.layer("Sort", [value], results=[(value.shape, value.dtype), (value.shape, torch.int64)], dim=dim)


@row("aten.median")
def median(a, w):
    """The lower of two in the middle, or NaN if there is one: a sort puts it at the end."""
    x, keep, all_of_it = a["self"], a.get("keepdim"), "dim" not in a
    if all_of_it:
        if not all(size.is_fixed for size in x.shape):
            raise w.refuse("computes one value of all rows", "each device has rows of its own: take the median along another dimension")
        x = w.reshape(x, (Extent(0, math.prod(size.fixed for size in x.shape)),))
    dim = 0 if all_of_it else _dim(a, w, "sorts")
    values, places = _sorted(w, x, dim)
    shape, middle = x.shape[:dim] + x.shape[dim + 1:], (x.shape[dim].fixed - 1) // 2
    value = w.layer("Select", [values], (shape, x.dtype), dim=dim, index=middle)
    if x.dtype.is_floating_point:
        last = w.layer("Select", [values], (shape, x.dtype), dim=dim, index=-1)
        value = w.layer("Where", [w.layer("Ne", [last, last], (shape, torch.bool)), last, value], (shape, x.dtype))
    if all_of_it:
        return value
    place = w.layer("Select", [places], (shape, torch.int64), dim=dim, index=middle)
    return [w.reshape(each, _like(x, dim, 1)) if keep else each for each in (value, place)]


@row("aten.kthvalue")
def kthvalue(a, w):
    x, dim = a["self"], _dim(a, w, "sorts")
    values, places = _sorted(w, x, dim)
    shape = x.shape[:dim] + x.shape[dim + 1:]
    found = [w.layer("Select", [each], (shape, each.dtype), dim=dim, index=a["k"] - 1) for each in (values, places)]
    return [w.reshape(each, _like(x, dim, 1)) if a["keepdim"] else each for each in found]


def _running_extremum(operator, kind):
    @row(f"aten.{operator}")
    def running(a, w):
        return w.layer(kind, [a["self"]], results=w.shapes(), dim=_dim(a, w, "goes over"))


_running_extremum("cummax", "CumMax")
_running_extremum("cummin", "CumMin")


@row("aten.cumprod")
def cumprod(a, w):
    return w.layer("CumProd", [w.cast(a["self"], w.shapes()[0][1])], dim=_dim(a, w, "multiplies"))


@row("aten.logcumsumexp")
def logcumsumexp(a, w):
    return w.layer("LogCumSumExp", [a["self"]], dim=_dim(a, w, "sums up over"))


@row("aten.prod")
def prod(a, w):
    """The last of the running products, whose gradient is right where there are zeros."""
    shape, dtype = w.shapes()[0]
    x = w.cast(a["self"], dtype)
    if "dim" not in a:
        if not all(size.is_fixed for size in x.shape):
            raise w.refuse("computes one value of all rows", "each device has rows of its own; a loss belongs into the training section")
        x, dim = w.reshape(x, (Extent(0, math.prod(size.fixed for size in x.shape)),)), 0
    else:
        dim = _dim(a, w, "multiplies")
    running = w.layer("CumProd", [x], (x.shape, dtype), dim=dim)
    last = w.layer("Select", [running], (x.shape[:dim] + x.shape[dim + 1:], dtype), dim=dim, index=-1)
    return w.reshape(last, shape)
