"""Pools."""
from torch.nn import functional as F

from .operators import operator
from .windows import padding_of


def _pool(node, x):
    a = node.attributes
    rank = len(a["kernel_shape"])
    strides, dilations = list(a.get("strides") or [1] * rank), list(a.get("dilations") or [1] * rank)
    return rank, list(a["kernel_shape"]), strides, dilations, *padding_of(a, rank, a["kernel_shape"], strides, dilations, False), bool(a.get("ceil_mode"))


@operator("MaxPool")
def max_pool(node, x):
    rank, kernel, strides, dilations, padding, before, ceil = _pool(node, x)
    x = F.pad(x, before, value=float("-inf")) if before else x
    result = getattr(F, f"max_pool{rank}d")(x, kernel, strides, padding, dilations, ceil)
    return result if len(node.outputs) == 1 else (result, None)


@operator("AveragePool")
def average_pool(node, x):
    rank, kernel, strides, dilations, padding, before, ceil = _pool(node, x)
    counted = bool(node.attributes.get("count_include_pad"))
    if any(d != 1 for d in dilations) or before and not counted:
        raise ValueError("has dilations, or sides with different pads that don't count")
    return getattr(F, f"avg_pool{rank}d")(F.pad(x, before) if before else x, kernel, strides, padding, ceil, counted)


@operator("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node, x):
    kind = "avg" if node.kind == "GlobalAveragePool" else "max"
    if kind == "max":
        return x.amax(list(range(2, x.dim())), keepdim=True)
    return getattr(F, f"adaptive_avg_pool{x.dim() - 2}d")(x, 1)
