"""Pooling and resampling."""
import torch

from .extent import Extent
from .rows import row, single
from .value import Constant


def _max_pool(operator, kind):
    def arguments_of(a):
        stride = single(a["stride"] or a["kernel_size"])
        arguments = {"kernel_size": single(a["kernel_size"]), "padding": single(a["padding"]), "dilation": single(a["dilation"]),
                     "ceil_mode": a["ceil_mode"]}
        if stride != arguments["kernel_size"]:
            arguments["stride"] = stride
        return arguments

    @row(f"aten.{operator}")
    def max_pool(a, w):
        return w.layer(kind, [a["self"]], **arguments_of(a))

    @row(f"aten.{operator}_with_indices")
    def max_pool_with_indices(a, w):
        return _with_positions(a, w, kind, **arguments_of(a))


def _with_positions(a, w, kind, **arguments):
    """A max pool's two results; without positions that nobody takes."""
    if w.takes(1):
        return w.layer(kind, [a["self"]], results=w.shapes(), return_indices=True, **arguments)
    return w.layer(kind, [a["self"]], **arguments), None


def _average_pool(operator, kind):
    @row(f"aten.{operator}")
    def average_pool(a, w):
        stride = single(a["stride"] or a["kernel_size"])
        arguments = {"kernel_size": single(a["kernel_size"]), "padding": single(a["padding"]), "ceil_mode": a["ceil_mode"],
                     "count_include_pad": a["count_include_pad"]}
        if stride != arguments["kernel_size"]:
            arguments["stride"] = stride
        if a.get("divisor_override") is not None:
            arguments["divisor_override"] = a["divisor_override"]
        return w.layer(kind, [a["self"]], **arguments)


def _adaptive(operator, kind):
    @row(f"aten.{operator}")
    def adaptive(a, w):
        return w.layer(kind, [a["self"]], output_size=single(a["output_size"]))


def _adaptive_max(operator, kind):
    @row(f"aten.{operator}")
    def adaptive_max(a, w):
        return _with_positions(a, w, kind, output_size=single(a["output_size"]))


def _max_unpool(operator, kind):
    @row(f"aten.{operator}")
    def max_unpool(a, w):
        """The operator knows the image's size alone: any windows that lead to it do."""
        x, dims = a["self"], len(a["output_size"])
        kernel, stride, padding = [], [], []
        for dim in range(x.rank - dims, x.rank):
            places, size = w.fixed(x, dim, "puts elements back along"), w.shapes()[0][0][dim].fixed
            further = size - places + 1  # kernel_size - 2 padding, at a stride of 1
            kernel.append(size // places if size % places == 0 else max(further, 2 - further % 2))
            stride.append(kernel[-1] if size % places == 0 else 1)
            padding.append(0 if size % places == 0 else (kernel[-1] - further) // 2)
        arguments = {"kernel_size": single(kernel)}
        if stride != kernel:
            arguments["stride"] = single(stride)
        if any(padding):
            arguments["padding"] = single(padding)
        return w.layer(kind, [x, a["indices"]], **arguments)


for _dims in (1, 2, 3):
    _max_pool(f"max_pool{_dims}d", f"MaxPool{_dims}d")
    _average_pool(f"avg_pool{_dims}d", f"AvgPool{_dims}d")
    _adaptive(f"adaptive_avg_pool{_dims}d", f"AdaptiveAvgPool{_dims}d")
    _adaptive_max(f"adaptive_max_pool{_dims}d", f"AdaptiveMaxPool{_dims}d")
_max_unpool("max_unpool2d", "MaxUnpool2d")
_max_unpool("max_unpool3d", "MaxUnpool3d")


def _upsample(operator, mode):
    @row(f"aten.{operator}")
    def upsample(a, w):
        shape = w.shapes()[0][0]
        arguments = {"mode": mode}
        factors = a.get("scale_factors")
        if factors:
            arguments["scale_factor"] = single([float(f) for f in factors])
        elif any(not size.is_fixed for size in shape[2:]):
            raise w.refuse("resizes to a size that a run determines")
        else:
            arguments["size"] = single([size.fixed for size in shape[2:]])
        if a.get("align_corners"):
            arguments["align_corners"] = True
        return w.layer("Upsample", [a.get("input", a.get("self"))], **arguments)


for _operator, _mode in (("upsample_nearest1d", "nearest"), ("upsample_nearest2d", "nearest"), ("upsample_nearest3d", "nearest"),
                         ("_upsample_nearest_exact1d", "nearest-exact"), ("_upsample_nearest_exact2d", "nearest-exact"),
                         ("upsample_linear1d", "linear"), ("upsample_bilinear2d", "bilinear"), ("upsample_trilinear3d", "trilinear"),
                         ("upsample_bicubic2d", "bicubic")):
    _upsample(_operator, _mode)


def _smoothed(operator):
    @row(f"aten.{operator}")
    def smoothed(a, w):
        """Resampling with antialias, along one dimension after the other: each is a product with a matrix."""
        x, shape = a.get("input", a.get("self")), w.shapes()[0][0]
        if any(not size.is_fixed for size in shape[2:]):
            raise w.refuse("resizes to a size that a run determines")
        factors = a.get("scale_factors") or [a.get(f"scales_{axis}") for axis in "hw"]
        for dim, factor in zip((3, 2), reversed(factors)):
            x = _times(w, x, dim, _weights(w.call.target, x.shape[dim].fixed, shape[dim].fixed, factor, a["align_corners"]))
        return x


def _weights(operator, old, new, factor, align_corners):
    """The matrix of a resampling from `old` elements to `new`: its results for lines with a single 1."""
    lines = torch.eye(old)[None, None]
    if operator._overloadname == "vec":
        size, factors = ([old, new], None) if factor is None else (None, [1.0, factor])
        return operator(lines, size, align_corners, factors)[0, 0]
    return operator(lines, [old, new], align_corners, None, factor)[0, 0]


def _times(w, x, dim, weights):
    """x times a matrix [old, new] along dimension 2 or 3 of four."""
    if torch.equal(weights, torch.eye(*weights.shape)):
        return x
    shape = x.shape[:dim] + (Extent(0, weights.shape[1]),) + x.shape[dim + 1:]
    matrix = weights if dim == 3 else weights.T.contiguous()
    constant = Constant.of((matrix, matrix))
    return w.layer("MatMul", [x, constant] if dim == 3 else [constant, x], (shape, x.dtype))


_smoothed("_upsample_bilinear2d_aa")
_smoothed("_upsample_bicubic2d_aa")


@row("aten.pixel_shuffle")
def pixel_shuffle(a, w):
    return w.layer("PixelShuffle", [a["self"]], upscale_factor=a["upscale_factor"])


@row("aten.pixel_unshuffle")
def pixel_unshuffle(a, w):
    return w.layer("PixelUnshuffle", [a["self"]], downscale_factor=a["downscale_factor"])


@row("aten.channel_shuffle")
def channel_shuffle(a, w):
    return w.layer("ChannelShuffle", [a["self"]], groups=a["groups"])
