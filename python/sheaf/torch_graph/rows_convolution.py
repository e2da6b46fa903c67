"""Convolutions."""
from .rows import row, single


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
    if layer is None:
        raise w.refuse("has a weight that is computed, or parameters of several modules",
                       "a convolution's weight must be a parameter of its module: apply the computation once, before the import")
    return layer


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
