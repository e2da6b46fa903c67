"""Normalisations."""
from .graph import class_around
from .rows import row
from .value import Constant


def _affine(a):
    return {"weight": a["weight"], "bias": a["bias"]}


def _times_and_plus(w, value, weight, bias):
    """weight · value + bias, if these aren't parameters of a layer."""
    for kind, operand in (("Mul", weight), ("Add", bias)):
        if operand is not None:
            value = w.layer(kind, [value, operand], (value.shape, value.dtype))
    return value


def _per_channel(w, value, rank):
    return value if value is None else w.reshape(value, value.shape + tuple(type(value.shape[0])(0, 1) for _ in range(rank - 2)))


def _frozen(a, w):
    """A batch norm that stays in evaluation mode while the module trains: with its running statistics, which nothing changes."""
    x, form = a["input"], (a["input"].shape, a["input"].dtype)
    mean, var, weight, bias = (_per_channel(w, a[name], x.rank) for name in ("running_mean", "running_var", "weight", "bias"))
    wide = w.layer("Add", [var], (var.shape, var.dtype), other=a["eps"])
    scale = w.layer("Rsqrt", [wide], (var.shape, var.dtype))
    return _times_and_plus(w, w.layer("Mul", [w.layer("Sub", [x, mean], form), scale], form), weight, bias)


@row("aten.batch_norm", "aten._native_batch_norm_legit", "aten.native_batch_norm", "aten.cudnn_batch_norm")
def batch_norm(a, w):
    x = a["input"]
    tracked = a["running_mean"] is not None
    if tracked and w.lowering.training and not a["training"]:
        return _frozen(a, w)
    parameters = {**_affine(a), "running_mean": a["running_mean"], "running_var": a["running_var"]}
    arguments = {"num_features": x.shape[1].fixed, "eps": a["eps"], "momentum": a["momentum"], "affine": a["weight"] is not None,
                 "track_running_stats": tracked}
    # Without a process group PyTorch's SyncBatchNorm calls what BatchNorm does: its class tells what is meant.
    kind = "SyncBatchNorm" if class_around(w.call.node) == "SyncBatchNorm" else f"BatchNorm{max(x.rank - 2, 1)}d"
    layer = w.typed(kind, [x], parameters, **arguments)
    if layer is None:
        statistics = {name: parameters[name] for name in ("running_mean", "running_var")}
        layer = w.typed(kind, [x], statistics, **{**arguments, "affine": False})
        if layer is None:
            raise w.refuse("has statistics that are computed", "a batch norm's statistics must be those of its module")
        return _times_and_plus(w, layer, *(_per_channel(w, p, x.rank) for p in (a["weight"], a["bias"])))
    return layer


def _over_last_dimensions(kind, a, w, parameters, shift, **own):
    """LayerNorm or RMSNorm. If its tensors aren't parameters of a module, the layer has none, and operations after it
    apply them."""
    sizes = a["normalized_shape"]
    arguments = {"normalized_shape": sizes[0] if len(sizes) == 1 else list(sizes), "eps": a["eps"]}
    if a["weight"] is not None:
        layer = w.typed(kind, [a["input"]], parameters, **own, **arguments)
        if layer is not None:
            return layer
    plain = w.layer(kind, [a["input"]], elementwise_affine=False, **arguments)
    return _times_and_plus(w, plain, a["weight"], shift)


@row("aten.layer_norm")
def layer_norm(a, w):
    return _over_last_dimensions("LayerNorm", a, w, _affine(a), a["bias"], bias=a["bias"] is not None)


@row("aten.rms_norm")
def rms_norm(a, w):
    return _over_last_dimensions("RMSNorm", a, w, {"weight": a["weight"]}, None)


@row("aten.group_norm")
def group_norm(a, w):
    x = a["input"]
    arguments = {"num_groups": a["num_groups"], "num_channels": x.shape[1].fixed, "eps": a["eps"]}
    if a["weight"] is not None and a["bias"] is not None:
        layer = w.typed("GroupNorm", [x], _affine(a), **arguments)
        if layer is not None:
            return layer
    plain = w.layer("GroupNorm", [x], affine=False, **arguments)
    return _times_and_plus(w, plain, *(_per_channel(w, p, x.rank) for p in (a["weight"], a["bias"])))


@row("aten.instance_norm")
def instance_norm(a, w):
    x = a["input"]
    if a["running_mean"] is not None:
        raise w.refuse("keeps running statistics", "use InstanceNorm without track_running_stats")
    arguments = {"num_features": x.shape[1].fixed, "eps": a["eps"], "affine": a["weight"] is not None}
    layer = w.typed(f"InstanceNorm{x.rank - 2}d", [x], _affine(a), **arguments)
    if layer is None:
        raise w.refuse("has parameters that are computed")
    return layer
