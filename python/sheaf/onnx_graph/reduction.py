"""Sums and other reductions along dimensions."""
import torch

from .operators import axes_of, operator, setting
from .sizes import Sizes

_REDUCTIONS = {
    "ReduceSum": lambda x, dims, keep: x.sum(dims, keep), "ReduceMean": lambda x, dims, keep: x.mean(dims, keep),
    "ReduceMax": lambda x, dims, keep: x.amax(dims, keep), "ReduceMin": lambda x, dims, keep: x.amin(dims, keep),
    "ReduceL1": lambda x, dims, keep: x.abs().sum(dims, keep), "ReduceL2": lambda x, dims, keep: (x * x).sum(dims, keep).sqrt(),
    "ReduceSumSquare": lambda x, dims, keep: (x * x).sum(dims, keep), "ReduceLogSum": lambda x, dims, keep: x.sum(dims, keep).log(),
    "ReduceLogSumExp": lambda x, dims, keep: torch.logsumexp(x, dims, keep),
}


def _reduction(kind, function):
    @operator(kind)
    def run(node, *inputs):
        x, axes = inputs[0], axes_of(node, inputs)
        keep = bool(node.attributes.get("keepdims", 1))
        if not axes:
            if node.attributes.get("noop_with_empty_axes"):
                return x
            axes = list(range(x.dim()))
        return function(x, axes, keep)


for _kind, _function in _REDUCTIONS.items():
    _reduction(_kind, _function)


@operator("ReduceProd", on_sizes=True)
def product(node, *inputs):
    x = inputs[0]
    if isinstance(x, Sizes):
        made = 1
        for number in x.numbers:
            made = made * number
        return Sizes([made] if node.attributes.get("keepdims", 1) else made, x.dtype)
    axes = axes_of(node, inputs)
    if not axes and node.attributes.get("noop_with_empty_axes"):
        return x
    keep = bool(node.attributes.get("keepdims", 1))
    for axis in sorted((axis % x.dim() for axis in axes or range(x.dim())), reverse=True):
        x = x.prod(axis, keep)
    return x


@operator("ArgMax", "ArgMin")
def arg(node, x):
    if node.attributes.get("select_last_index"):
        raise ValueError("takes the last of equals, where PyTorch takes the first")
    function = torch.argmax if node.kind == "ArgMax" else torch.argmin
    return function(x, node.attributes.get("axis", 0), bool(node.attributes.get("keepdims", 1)))


@operator("Softmax", "LogSoftmax")
def softmax(node, x):
    function = torch.softmax if node.kind == "Softmax" else torch.log_softmax
    if node.opset >= 13:
        return function(x, node.attributes.get("axis", -1))
    axis = node.attributes.get("axis", 1) % x.dim()
    if axis == x.dim() - 1:
        return function(x, axis)
    return function(x.flatten(axis), -1).reshape(x.shape)  # all from `axis` on together


@operator("CumSum")
def cum_sum(node, *inputs):
    x, axis = inputs[0], setting(node, inputs, 1, "axis")
    axis = axis[0] if isinstance(axis, list) else axis
    if node.attributes.get("exclusive"):
        raise ValueError("leaves each element out of its own sum")
    if node.attributes.get("reverse"):
        return x.flip(axis).cumsum(axis, dtype=x.dtype).flip(axis)
    return x.cumsum(axis, dtype=x.dtype)


@operator("CumProd")
def cum_prod(node, *inputs):
    x, axis = inputs[0], setting(node, inputs, 1, "axis")
    axis = axis[0] if isinstance(axis, list) else axis
    if node.attributes.get("exclusive"):
        raise ValueError("leaves each element out of its own product")
    if node.attributes.get("reverse"):
        return x.flip(axis).cumprod(axis, dtype=x.dtype).flip(axis)
    return x.cumprod(axis, dtype=x.dtype)


@operator("TopK")
def top_k(node, *inputs):
    k = setting(node, inputs, 1, "k")
    k = k[0] if isinstance(k, list) else k
    axis = node.attributes.get("axis", -1)
    # Equal elements in their order, which torch.topk doesn't promise.
    return tuple(each.narrow(axis, 0, k) for each in torch.sort(inputs[0], dim=axis, descending=bool(node.attributes.get("largest", 1)), stable=True))
