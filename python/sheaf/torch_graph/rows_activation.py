"""Activations, softmax and dropout."""
from .rows import row

_WITHOUT_ARGUMENTS = {"relu": "ReLU", "relu6": "ReLU6", "tanh": "Tanh", "sigmoid": "Sigmoid", "silu": "SiLU", "mish": "Mish", "selu": "SELU",
                      "hardswish": "Hardswish", "hardsigmoid": "Hardsigmoid", "log_sigmoid": "LogSigmoid",
                      "softsign": "Softsign"}


def _plain(operator, kind):
    @row(f"aten.{operator}")
    def activation(a, w):
        return w.layer(kind, [a["self"]])


for _operator, _kind in _WITHOUT_ARGUMENTS.items():
    _plain(_operator, _kind)


@row("aten.gelu")
def gelu(a, w):
    return w.layer("GELU", [a["self"]], approximate=a["approximate"])


@row("aten.leaky_relu")
def leaky_relu(a, w):
    return w.layer("LeakyReLU", [a["self"]], negative_slope=a["negative_slope"])


@row("aten.rrelu")
def rrelu(a, w):
    """In evaluation the slope is the mean of the two; as with dropouts, one that doesn't draw in training never does."""
    if a["training"] or not w.lowering.training:
        return w.layer("RReLU", [a["self"]], lower=a["lower"], upper=a["upper"])
    return w.layer("LeakyReLU", [a["self"]], negative_slope=(a["lower"] + a["upper"]) / 2)


@row("aten.elu")
def elu(a, w):
    if (a["scale"], a["input_scale"]) != (1, 1):
        raise w.refuse("has a scale of its own")
    return w.layer("ELU", [a["self"]], alpha=a["alpha"])


@row("aten.celu")
def celu(a, w):
    return w.layer("CELU", [a["self"]], alpha=a["alpha"])


@row("aten.softplus")
def softplus(a, w):
    return w.layer("Softplus", [a["self"]], beta=a["beta"], threshold=a["threshold"])


@row("aten.hardtanh")
def hardtanh(a, w):
    if (a["min_val"], a["max_val"]) == (0, 6):
        return w.layer("ReLU6", [a["self"]])
    return w.layer("Hardtanh", [a["self"]], min_val=a["min_val"], max_val=a["max_val"])


@row("aten.hardshrink")
def hardshrink(a, w):
    return w.layer("Hardshrink", [a["self"]], lambd=a["lambd"])


@row("aten.softshrink")
def softshrink(a, w):
    return w.layer("Softshrink", [a["self"]], lambd=a["lambd"])


@row("aten.threshold")
def threshold(a, w):
    return w.layer("Threshold", [a["self"]], threshold=a["threshold"], value=a["value"])


@row("aten.glu")
def glu(a, w):
    return w.layer("GLU", [a["self"]], dim=a["dim"])


@row("aten.prelu", "aten._prelu_kernel")
def prelu(a, w):
    layer = w.typed("PReLU", [a["self"]], {"weight": a["weight"]}, num_parameters=a["weight"].shape[0].fixed)
    if layer is None:
        raise w.refuse("has a slope that is computed")
    return layer


@row("aten.softmax", "aten._softmax", "aten._safe_softmax")
def softmax(a, w):
    return w.layer("Softmax", [_in_its_type(a, w)], dim=a["dim"])


@row("aten.log_softmax", "aten._log_softmax")
def log_softmax(a, w):
    return w.layer("LogSoftmax", [_in_its_type(a, w)], dim=a["dim"])


def _in_its_type(a, w):
    return w.cast(a["self"], a["dtype"]) if a.get("dtype") is not None else a["self"]


@row("aten.dropout")
def dropout(a, w):
    return w.layer("Dropout", [_first(a)], p=a["p"]) if _drops(a, w) else _first(a)


@row("aten.feature_dropout")
def feature_dropout(a, w):
    return w.layer(f"Dropout{max(_first(a).rank - 2, 1)}d", [_first(a)], p=a["p"]) if _drops(a, w) else _first(a)


@row("aten.alpha_dropout")
def alpha_dropout(a, w):
    return w.layer("AlphaDropout", [_first(a)], p=a["p"]) if _drops(a, w) else _first(a)


@row("aten.feature_alpha_dropout")
def feature_alpha_dropout(a, w):
    return w.layer("FeatureAlphaDropout", [_first(a)], p=a["p"]) if _drops(a, w) else _first(a)


def _drops(a, w):
    """In evaluation no dropout drops, yet the model file must be able to train; one that doesn't drop in training never
    does."""
    return a["train"] or not w.lowering.training


def _first(a):
    return a["input"] if "input" in a else a["self"]
