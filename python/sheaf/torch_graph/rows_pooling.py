"""Pooling and resampling."""
from .rows import row, single


def _max_pool(operator, kind):
    @row(f"aten.{operator}")
    def max_pool(a, w):
        stride = single(a["stride"] or a["kernel_size"])
        arguments = {"kernel_size": single(a["kernel_size"]), "padding": single(a["padding"]), "dilation": single(a["dilation"]),
                     "ceil_mode": a["ceil_mode"]}
        if stride != arguments["kernel_size"]:
            arguments["stride"] = stride
        return w.layer(kind, [a["self"]], **arguments)


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
        size = single(a["output_size"])
        if "Max" in kind:
            return w.layer(kind, [a["self"]], output_size=size), None
        return w.layer(kind, [a["self"]], output_size=size)


for _dims in (1, 2, 3):
    _max_pool(f"max_pool{_dims}d", f"MaxPool{_dims}d")
    _average_pool(f"avg_pool{_dims}d", f"AvgPool{_dims}d")
    _adaptive(f"adaptive_avg_pool{_dims}d", f"AdaptiveAvgPool{_dims}d")
    _adaptive(f"adaptive_max_pool{_dims}d", f"AdaptiveMaxPool{_dims}d")


def _upsample(operator, mode):
    @row(f"aten.{operator}")
    def upsample(a, w):
        shape = w.shapes()[0][0]
        arguments = {"mode": mode}
        factors = a.get("scale_factors")
        if factors:
            arguments["scale_factor"] = single([float(f) for f in factors])
        elif any(not size.is_fixed for size in shape[2:]):
            raise w.refuse("resizes to a size that depends on the batch")
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


@row("aten.pixel_shuffle")
def pixel_shuffle(a, w):
    return w.layer("PixelShuffle", [a["self"]], upscale_factor=a["upscale_factor"])


@row("aten.pixel_unshuffle")
def pixel_unshuffle(a, w):
    return w.layer("PixelUnshuffle", [a["self"]], downscale_factor=a["downscale_factor"])


@row("aten.channel_shuffle")
def channel_shuffle(a, w):
    return w.layer("ChannelShuffle", [a["self"]], groups=a["groups"])
