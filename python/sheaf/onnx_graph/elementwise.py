"""Element-wise operations."""
import math
import operator as python

import torch
from torch.nn import functional as F

from .operators import operator, setting
from .sizes import Sizes, operand

_DTYPES = {1: torch.float32, 2: torch.uint8, 6: torch.int32, 7: torch.int64, 9: torch.bool, 10: torch.float16, 11: torch.float64, 16: torch.bfloat16}

_UNARY = {
    "Relu": F.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Exp": torch.exp, "Log": torch.log, "Sqrt": torch.sqrt, "Abs": torch.abs,
    "Neg": torch.neg, "Reciprocal": torch.reciprocal, "Floor": torch.floor, "Ceil": torch.ceil, "Round": torch.round, "Sign": torch.sign, "Erf": torch.erf,
    "Sin": torch.sin, "Cos": torch.cos, "Tan": torch.tan, "Atan": torch.atan, "Asin": torch.asin, "Acos": torch.acos, "Sinh": torch.sinh, "Cosh": torch.cosh,
    "Asinh": torch.asinh, "Acosh": torch.acosh, "Atanh": torch.atanh, "Softplus": F.softplus, "Softsign": F.softsign, "HardSwish": F.hardswish,
    "Mish": F.mish, "Identity": lambda x: x, "Not": torch.logical_not, "IsNaN": torch.isnan,
}
_UNARY_WITH = {
    "Elu": lambda x, a: F.elu(x, a.get("alpha", 1.0)),
    "Selu": lambda x, a: _selu(x, a.get("alpha", 1.67326319217681884765625), a.get("gamma", 1.05070102214813232421875)),
    "Celu": lambda x, a: F.celu(x, a.get("alpha", 1.0)),
    "LeakyRelu": lambda x, a: F.leaky_relu(x, a.get("alpha", 0.01)),
    "HardSigmoid": lambda x, a: _hard_sigmoid(x, a.get("alpha", 0.2), a.get("beta", 0.5)),
    "ThresholdedRelu": lambda x, a: F.threshold(x, a.get("alpha", 1.0), 0.0),
    "Gelu": lambda x, a: F.gelu(x, approximate=a.get("approximate", "none")),
    "Swish": lambda x, a: x * torch.sigmoid(x * a.get("alpha", 1.0)),
}
_BINARY = {
    "Add": (torch.add, python.add), "Sub": (torch.sub, python.sub), "Mul": (torch.mul, python.mul), "Pow": (lambda a, b: torch.pow(a, b).to(a.dtype), python.pow),
    "Equal": (torch.eq, python.eq), "Greater": (torch.gt, python.gt), "Less": (torch.lt, python.lt), "GreaterOrEqual": (torch.ge, python.ge),
    "LessOrEqual": (torch.le, python.le), "And": (torch.logical_and, lambda a, b: a and b), "Or": (torch.logical_or, lambda a, b: a or b),
    "Xor": (torch.logical_xor, python.ne),
}
_COMPARISONS = {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"}


def _selu(x, alpha, gamma):
    return F.selu(x) if math.isclose(alpha, 1.6732632, rel_tol=1e-6) and math.isclose(gamma, 1.0507010, rel_tol=1e-6) else gamma * F.elu(x, alpha)


def _hard_sigmoid(x, alpha, beta):
    return F.hardsigmoid(x) if math.isclose(alpha, 1 / 6, rel_tol=1e-5) and beta == 0.5 else torch.clamp(x * alpha + beta, 0, 1)


def _unary(kind, function):
    @operator(kind, on_sizes=True)
    def run(node, x):
        if isinstance(x, Sizes) and kind in ("Identity", "Neg", "Not", "Abs"):
            return x.each({"Identity": lambda v: v, "Neg": lambda v: -v, "Not": lambda v: not v, "Abs": abs}[kind])
        return function(Sizes.tensor_of(x))


def _unary_with(kind, function):
    @operator(kind)
    def run(node, x):
        return function(x, node.attributes)


def _binary(kind, on_tensors, on_numbers):
    @operator(kind, on_sizes=True)
    def run(node, a, b):
        if isinstance(a, Sizes) and isinstance(b, Sizes):
            return Sizes.together(on_numbers, a, b, torch.bool if kind in _COMPARISONS else None)
        # For functions that want a tensor first, a number must be on the right.
        return on_tensors(Sizes.tensor_of(a), operand(b)) if not isinstance(a, Sizes) or kind not in ("Add", "Mul") else on_tensors(b, operand(a))


for _kind, _function in _UNARY.items():
    _unary(_kind, _function)
for _kind, _function in _UNARY_WITH.items():
    _unary_with(_kind, _function)
for _kind, (_tensors, _numbers) in _BINARY.items():
    _binary(_kind, _tensors, _numbers)


@operator("Div", on_sizes=True)
def div(node, a, b):
    if isinstance(a, Sizes) and isinstance(b, Sizes):
        whole = not a.dtype.is_floating_point
        return Sizes.together(lambda x, y: x // y if whole else x / y, a, b)
    a, whole = Sizes.tensor_of(a), not (a.dtype.is_floating_point if hasattr(a, "dtype") else True)
    return torch.div(a, operand(b), rounding_mode="trunc") if whole else torch.div(a, operand(b))


@operator("Mod", on_sizes=True)
def mod(node, a, b):
    if isinstance(a, Sizes) and isinstance(b, Sizes):
        return Sizes.together(lambda x, y: x % y, a, b)
    return (torch.fmod if node.attributes.get("fmod") else torch.remainder)(Sizes.tensor_of(a), operand(b))


@operator("Max", "Min", "Sum", "Mean", on_sizes=True)
def variadic(node, *values):
    combine = {"Max": torch.maximum, "Min": torch.minimum}.get(node.kind, torch.add)
    if all(isinstance(value, Sizes) for value in values) and node.kind in ("Max", "Min"):
        made = values[0]
        for value in values[1:]:
            made = Sizes.together(max if node.kind == "Max" else min, made, value)
        return made
    made = Sizes.tensor_of(values[0])
    for value in values[1:]:
        made = combine(made, Sizes.tensor_of(value))
    return made / len(values) if node.kind == "Mean" else made


@operator("Clip")
def clip(node, x, *limits):
    low = setting(node, (x, *limits), 1, "min")
    high = setting(node, (x, *limits), 2, "max")
    return x if low is None and high is None else torch.clamp(x, low, high)


@operator("Cast", on_sizes=True)
def cast(node, x):
    dtype = _DTYPES.get(node.attributes["to"])
    if dtype is None:
        raise ValueError("it casts to a type that model files don't have")
    if isinstance(x, Sizes):
        whole = not dtype.is_floating_point and dtype is not torch.bool
        return x.each(lambda v: v if isinstance(v, torch.SymInt) else int(v) if whole else bool(v) if dtype is torch.bool else float(v), dtype)
    return x.to(dtype)


@operator("CastLike")
def cast_like(node, x, like):
    return x.to(like.dtype)


@operator("Where", on_sizes=True)
def where(node, condition, a, b):
    if all(isinstance(value, Sizes) for value in (condition, a, b)):
        many = max(len(value.numbers) for value in (condition, a, b))
        c, x, y = (value.numbers * (many if len(value.numbers) == 1 else 1) for value in (condition, a, b))
        return Sizes([p if f else q for f, p, q in zip(c, x, y)], a.dtype)
    return torch.where(Sizes.tensor_of(condition), operand(a), operand(b))

