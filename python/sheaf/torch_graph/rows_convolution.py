"""Convolutions."""
import math

import torch

from .extent import Extent
from .rows import row, single
from .value import Constant


def _convolution(kind, a, w, transposed=False):
    weight, groups = a["weight"], a["groups"]
    inputs, outputs = weight.shape[1].fixed * groups, weight.shape[0].fixed
    if transposed:
        inputs, outputs = weight.shape[0].fixed, weight.shape[1].fixed * groups
    padding = a["padding"] if isinstance(a["padding"], str) else single(a["padding"])
    arguments = {"in_channels": inputs, "out_channels": outputs, "kernel_size": single([size.fixed for size in weight.shape[2:]]),
                 "stride": single(a["stride"]), "padding": padding, "dilation": single(a["dilation"]), "groups": groups,
                 "bias": a["bias"] is not None}
    if transposed:
        arguments["output_padding"] = single(a["output_padding"])
    layer = w.typed(kind, [a["input"]], {"weight": weight, "bias": a["bias"]}, **arguments)
    if layer is None and not transposed:
        return _by_windows(a, w)
    if layer is None:
        raise w.refuse("has a weight that is computed, or parameters of several modules",
                       "a convolution's weight must be a parameter of its module: apply the computation once, before the import")
    return layer


def _by_windows(a, w):
    """A convolution whose weight is computed (standardised or normalised ones): windows as columns, times the weight as
    a matrix."""
    x, weight, groups = a["input"], a["weight"], a["groups"]
    kernel, rank = [size.fixed for size in weight.shape[2:]], weight.rank - 2
    stride, dilation = (list(a[name]) * (rank if len(a[name]) == 1 else 1) for name in ("stride", "dilation"))
    if x.rank != rank + 2 or not all(size.is_fixed for size in x.shape[2:]):
        raise w.refuse("has a weight that is computed, and an image whose size a run determines")
    reach = [d * (k - 1) for d, k in zip(dilation, kernel)]
    if isinstance(a["padding"], str):
        sides = [(total // 2, total - total // 2) if a["padding"] == "same" else (0, 0) for total in reach]
    else:
        sides = [(side, side) for side in list(a["padding"]) * (rank if len(a["padding"]) == 1 else 1)]
    if any(side != (0, 0) for side in sides):
        shape = x.shape[:2] + tuple(Extent(0, size.fixed + before + after) for size, (before, after) in zip(x.shape[2:], sides))
        x = w.layer("Pad", [x], (shape, x.dtype), pad=[size for side in reversed(sides) for size in side])
    sizes = [size.fixed for size in x.shape[2:]]
    output = [(size - span - 1) // s + 1 for size, span, s in zip(sizes, reach, stride)]
    index = torch.zeros((), dtype=torch.int64)
    for d, size in enumerate(sizes):
        taps, places = torch.arange(kernel[d]) * dilation[d], torch.arange(output[d]) * stride[d]
        at = (taps[:, None] + places).reshape([1] * d + [kernel[d]] + [1] * (rank - 1) + [output[d]] + [1] * (rank - 1 - d))
        index = index * size + at
    index = index.reshape(math.prod(kernel), math.prod(output)).contiguous()
    x = w.reshape(x, x.shape[:2] + (Extent(0, math.prod(sizes)),))
    shape = x.shape[:2] + tuple(Extent(0, size) for size in index.shape)
    if index.shape[0] != 1 or index.shape[1] != math.prod(sizes):
        x = w.layer("IndexSelect", [x, Constant.of((index, index))], (shape, x.dtype), dim=2)
    inner, outer = Extent(0, weight.shape[1].fixed * index.shape[0]), Extent(0, weight.shape[0].fixed // groups)
    windows = w.reshape(x, x.shape[:1] + (Extent(0, groups), inner, shape[3]))
    matrix = w.reshape(weight, (Extent(0, groups), outer, inner))
    product = w.layer("MatMul", [matrix, windows], (x.shape[:1] + (Extent(0, groups), outer, shape[3]), x.dtype))
    product = w.reshape(product, w.shapes()[0][0])
    if a["bias"] is None:
        return product
    return w.layer("Add", [product, w.reshape(a["bias"], a["bias"].shape + (Extent(0, 1),) * rank)])


def _family(operator, kind, transposed=False):
    @row(f"aten.{operator}")
    def convolution(a, w):
        return _convolution(kind, a, w, transposed)


for _dims in (1, 2, 3):
    _family(f"conv{_dims}d", f"Conv{_dims}d")
    _family(f"conv_transpose{_dims}d", f"ConvTranspose{_dims}d", transposed=True)


@row("aten.convolution")
def convolution(a, w):
    kind = f"Conv{'Transpose' if a['transposed'] else ''}{a['weight'].rank - 2}d"
    return _convolution(kind, a, w, a["transposed"])


_WINDOWS = ("kernel_size", "dilation", "padding", "stride")


@row("aten.im2col")
def im2col(a, w):
    return w.layer("Unfold", [a["self"]], **{name: single(a[name]) for name in _WINDOWS}) if a["self"].rank == 4 else w.apart()


@row("aten.col2im")
def col2im(a, w):
    if a["self"].rank != 3 or not all(isinstance(size, int) for size in a["output_size"]):
        return w.apart()
    return w.layer("Fold", [a["self"]], output_size=single(a["output_size"]), **{name: single(a[name]) for name in _WINDOWS})
