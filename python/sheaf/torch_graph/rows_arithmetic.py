"""Element-wise arithmetic, comparisons and logic."""
import math

import torch

from .rows import row
from .value import Constant, Drawn, Parameter, Value

_NUMBER = (int, float, bool)


def _number(operand):
    """The Python number that an operand is, or None."""
    if isinstance(operand, _NUMBER):
        return operand
    return operand.number() if isinstance(operand, Constant) and operand.rank == 0 else None


def _operands(a, w):
    x, y = a["self"], a["other"]
    for operand in (x, y):
        if isinstance(operand, tuple):
            raise w.refuse("computes with a size that a run determines as a number", "use a mean instead of a sum and a division")
    return x, y


def _promoted(w, x, y):
    """Both operands in the type that PyTorch computes in."""
    if isinstance(x, Value) and isinstance(y, Value):
        dtype = w.shapes()[0][1]
        if dtype == torch.bool:
            dtype = torch.promote_types(x.dtype, y.dtype)
        return w.cast(x, dtype), w.cast(y, dtype)
    return x, y


def _two(kind, w, x, y, **arguments):
    x, y = _promoted(w, x, y)
    if (number := _number(y)) is not None and math.isfinite(number):
        x = x if w.shapes()[0][1] in (x.dtype, torch.bool) else w.cast(x, w.shapes()[0][1])
        return w.layer(kind, [x], other=number, **arguments)
    if number is not None:
        tensor = torch.tensor(number, dtype=x.dtype)
        y = Constant.of((tensor, tensor))
    return w.layer(kind, [w.broadcast(x), w.broadcast(y)], **arguments)


def _divided(kind, w, x, y, **arguments):
    """The same if the dividend may be a number."""
    if (number := _number(x)) is not None:
        tensor = torch.tensor(number, dtype=w.shapes()[0][1])
        x = Constant.of((tensor, tensor))
    return _two(kind, w, x, y, **arguments)


def scaled(w, value, factor):
    if factor == 1:
        return value
    if not value.dtype.is_floating_point:
        return w.layer("Mul", [value], (value.shape, value.dtype), other=factor)
    return w.layer("Scale", [value], (value.shape, value.dtype), value=factor)


@row("aten.add")
def add(a, w):
    x, y = _operands(a, w)
    if a["alpha"] != 1:
        y = y * a["alpha"] if isinstance(y, _NUMBER) else scaled(w, y, a["alpha"])
    if _number(x) is not None:
        x, y = y, x
    return x if _number(y) == 0 and x.dtype == w.shapes()[0][1] else _two("Add", w, x, y)


@row("aten.sub", "aten.subtract")
def sub(a, w):
    x, y = _operands(a, w)
    if a["alpha"] != 1:
        y = y * a["alpha"] if isinstance(y, _NUMBER) else scaled(w, y, a["alpha"])
    return _two("Add", w, scaled(w, y, -1), x) if _number(x) is not None else _two("Sub", w, x, y)


@row("aten.rsub")
def rsub(a, w):
    return sub({**a, "self": a["other"], "other": a["self"]}, w)


@row("aten.mul", "aten.multiply")
def mul(a, w):
    x, y = _operands(a, w)
    for drawn, value in ((x, y), (y, x)):
        if isinstance(drawn, Drawn):
            return _stochastic_depth(drawn, value, w)
    if _number(x) is not None:
        x, y = y, x
    number = _number(y)
    if number is None or w.shapes()[0][1] != x.dtype or not x.dtype.is_floating_point:
        return _two("Mul", w, x, y)
    return scaled(w, x, number)


@row("aten.div", "aten.divide", "aten.true_divide")
def div(a, w):
    x, y = _operands(a, w)
    if a.get("rounding_mode") is not None:
        return _divided("Div", w, x, y, rounding_mode=a["rounding_mode"])
    if isinstance(x, Drawn):
        return Drawn(x.shape, x.dtype, x.keep, x.scale / _number(y))
    if (number := _number(x)) is not None:
        return scaled(w, w.layer("Reciprocal", [w.in_floats(y)]), number)
    return _two("Div", w, x, y)


@row("aten.pow")
def pow_(a, w):
    x, y = a["self"], a["exponent"]
    if not w.shapes()[0][1].is_floating_point:
        return _power_of_integers(x, _number(y), w)
    if (exponent := _number(y)) is not None:
        return w.layer("Pow", [w.in_floats(x)], exponent=exponent)
    if (base := _number(x)) is not None and base > 0:
        return w.layer("Exp", [scaled(w, w.in_floats(y), math.log(base))])
    if base is not None:
        tensor = torch.tensor(base, dtype=w.shapes()[0][1])
        x = Constant.of((tensor, tensor))
    return w.layer("Pow", [w.broadcast(w.in_floats(v)) for v in (x, y)])


def _power_of_integers(x, exponent, w):
    """Products, which are exact."""
    if exponent not in (1, 2, 3, 4):
        raise w.refuse("raises integers to a power that isn't 1, 2, 3 or 4", "convert them to floating-point numbers first")
    product = x
    for _ in range(exponent - 1):
        product = w.layer("Mul", [product, x])
    return product


@row("aten.square")
def square(a, w):
    return pow_({**a, "exponent": 2}, w)


def _unary(operator, kind):
    @row(f"aten.{operator}")
    def unary(a, w):
        return w.layer(kind, [w.in_floats(a["self"])])


for _operator, _kind in {"exp": "Exp", "log": "Log", "sqrt": "Sqrt", "rsqrt": "Rsqrt", "abs": "Abs", "reciprocal": "Reciprocal", "sin": "Sin",
                         "cos": "Cos", "erf": "Erf", "floor": "Floor", "ceil": "Ceil", "sign": "Sign", "trunc": "Trunc", "fix": "Trunc", "log1p": "Log1p",
                         "expm1": "Expm1", "logical_not": "LogicalNot", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh",
                         "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh"}.items():
    _unary(_operator, _kind)


@row("aten.round")
def round_(a, w):
    x, factor = a["self"], 10.0 ** abs(a.get("decimals", 0))
    if factor == 1 or not x.dtype.is_floating_point and a["decimals"] > 0:
        return w.layer("Round", [x])
    steps = ("Mul", "Div") if a["decimals"] > 0 else ("Div", "Mul")
    return w.layer(steps[1], [w.layer("Round", [w.layer(steps[0], [x], other=factor)])], other=factor)


def _composed(operator, function):
    @row(f"aten.{operator}")
    def composed(a, w):
        x = w.in_floats(a["self"])
        return function(lambda kind, *operands, **numbers: w.layer(kind, operands, (x.shape, x.dtype), **numbers), x)


for _operator, _function in {
        "exp2": lambda f, x: f("Exp", f("Scale", x, value=math.log(2))), "log2": lambda f, x: f("Scale", f("Log", x), value=1 / math.log(2)),
        "log10": lambda f, x: f("Scale", f("Log", x), value=1 / math.log(10)), "tan": lambda f, x: f("Div", f("Sin", x), f("Cos", x)),
        "erfc": lambda f, x: f("Add", f("Neg", f("Erf", x)), other=1), "frac": lambda f, x: f("Sub", x, f("Trunc", x))}.items():
    _composed(_operator, _function)


@row("aten.atan2")
def atan2(a, w):
    return w.layer("Atan2", [w.broadcast(a["self"]), w.broadcast(a["other"])])


def _rest(operator, kind):
    """The remainder of a division to whole numbers."""
    @row(f"aten.{operator}")
    def rest(a, w):
        return _divided(kind, w, *_operands(a, w))


_rest("remainder", "Remainder")
_rest("fmod", "Fmod")


@row("aten.floor_divide")
def floor_divide(a, w):
    return div({**a, "rounding_mode": "floor"}, w)


@row("aten.isnan")
def isnan(a, w):
    return w.layer("Ne", [a["self"], a["self"]])


@row("aten.isinf")
def isinf(a, w):
    x = a["self"]
    return _two("Eq", w, w.layer("Abs", [x], (x.shape, x.dtype)), math.inf)


@row("aten.isfinite")
def isfinite(a, w):
    x = a["self"]
    return _two("Lt", w, w.layer("Abs", [x], (x.shape, x.dtype)), math.inf)


@row("aten.logical_xor", "aten.bitwise_xor", "aten.__xor__")
def logical_xor(a, w):
    sides = [side if side.dtype == torch.bool else w.layer("Ne", [side], (side.shape, torch.bool), other=0) for side in (a["self"], a["other"])]
    if w.shapes()[0][1] != torch.bool:
        raise w.refuse("computes with the bits of integers")
    return w.layer("Ne", [w.broadcast(w.cast(side, torch.int32)) for side in sides])


@row("aten.neg")
def neg(a, w):
    return scaled(w, a["self"], -1)


@row("aten.bitwise_not")
def bitwise_not(a, w):
    if a["self"].dtype != torch.bool:
        raise w.refuse("inverts the bits of integers")
    return w.layer("LogicalNot", [a["self"]])


@row("aten.clamp", "aten.clamp_min", "aten.clamp_max", "aten.clip")
def clamp(a, w):
    x, bounds = a["self"], {}
    for name in ("min", "max"):
        bound = a.get(name)
        if isinstance(bound, Value) and _number(bound) is None:
            x = w.layer("Maximum" if name == "min" else "Minimum", [x, w.broadcast(bound)])
        elif bound is not None and (number := _number(bound)) != {"min": -math.inf, "max": math.inf}[name]:
            bounds[name] = number
    return w.layer("Clamp", [x], **bounds) if bounds else x


def _binary(operator, kind):
    @row(f"aten.{operator}")
    def binary(a, w):
        x, y = _operands(a, w)
        return _two(kind, w, y, x) if kind in _SYMMETRIC and _number(x) is not None else _two(kind, w, x, y)


_SYMMETRIC = {"Maximum", "Minimum", "Eq", "Ne", "LogicalAnd", "LogicalOr"}
for _operator, _kind in {"maximum": "Maximum", "minimum": "Minimum", "eq": "Eq", "ne": "Ne", "lt": "Lt", "le": "Le", "gt": "Gt", "ge": "Ge",
                         "logical_and": "LogicalAnd", "logical_or": "LogicalOr"}.items():
    _binary(_operator, _kind)


def _bitwise(operator, kind):
    @row(f"aten.bitwise_{operator}", f"aten.__{operator}__", f"aten.__r{operator}__")
    def bitwise(a, w):
        if w.shapes()[0][1] != torch.bool:
            raise w.refuse("computes with the bits of integers")
        x, y = _operands(a, w)
        return _two(kind, w, *((y, x) if _number(x) is not None else (x, y)))


_bitwise("and", "LogicalAnd")
_bitwise("or", "LogicalOr")


@row("aten.bernoulli")
def bernoulli(a, w):
    keep = a.get("p")
    if not isinstance(keep, float):
        raise w.refuse("draws with a probability that is computed")
    shape, dtype = w.shapes()[0]
    return Drawn(shape, dtype, keep)


def _stochastic_depth(drawn, value, w):
    """Rows kept with probability `keep` and scaled by 1 / keep, as torchvision's StochasticDepth and timm's DropPath do."""
    by_row = drawn.rank > 0 and not drawn.shape[0].is_fixed and all(size.fixed == 1 for size in drawn.shape[1:])
    whole = all(size.is_fixed and size.fixed == 1 for size in drawn.shape)
    if not (by_row or whole) or abs(drawn.scale * drawn.keep - 1) > 1e-6:
        raise w.refuse("multiplies by random numbers", "Dropout and stochastic depth are known, with values scaled by 1 / (1 - p)")
    return w.layer("StochasticDepth", [value], p=1 - drawn.keep, mode="row" if by_row else "batch")


@row("aten.addcmul")
def addcmul(a, w):
    product = scaled(w, w.layer("Mul", [a["tensor1"], a["tensor2"]]), a["value"])
    return w.layer("Add", [a["self"], product])
