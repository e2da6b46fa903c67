"""Sums and the like over dimensions."""
from .extent import Extent
from .rows import row


def _dims(a, w, name="dim"):
    dims = a.get(name)
    dims = [dims] if isinstance(dims, int) else list(dims or [])
    dims = sorted({d % a["self"].rank for d in dims}) if dims else list(range(a["self"].rank))
    if any(not a["self"].shape[d].is_fixed for d in dims):
        raise w.refuse("computes one value of all rows", "each device has rows of its own; a loss belongs into the training section")
    return dims


def _reduced(kind, a, w, value=None, **arguments):
    value, dims = a["self"] if value is None else value, _dims(a, w)
    keep = bool(a.get("keepdim"))
    shape = tuple(Extent(0, 1) if d in dims else size for d, size in enumerate(value.shape) if keep or d not in dims)
    if keep:
        arguments["keepdim"] = True
    return w.layer(kind, [value], (shape, value.dtype), dim=dims[0] if len(dims) == 1 else dims, **arguments)


@row("aten.mean")
def mean(a, w):
    return _reduced("Mean", a, w, _in_its_type(a, w))


@row("aten.sum")
def sum_(a, w):
    return _reduced("Sum", a, w, w.cast(a["self"], w.shapes()[0][1]))


def _in_its_type(a, w):
    return w.cast(a["self"], a["dtype"]) if a.get("dtype") is not None else a["self"]


@row("aten.amax")
def amax(a, w):
    return _reduced("AMax", a, w)


@row("aten.amin")
def amin(a, w):
    return _reduced("AMin", a, w)


def _extreme(operator, kind, arg):
    @row(f"aten.{operator}")
    def extreme(a, w):
        if "other" in a:
            from .rows_arithmetic import _two
            return _two(operator.capitalize() + "imum", w, a["self"], a["other"])
        if "dim" not in a:
            return _reduced(kind, a, w)
        index = w.layer(arg, [a["self"]], w.shapes()[1], dim=_dims(a, w)[0], **({"keepdim": True} if a["keepdim"] else {}))
        return [_reduced(kind, a, w), index]


_extreme("max", "AMax", "ArgMax")
_extreme("min", "AMin", "ArgMin")


@row("aten.argmax")
def argmax(a, w):
    return w.layer("ArgMax", [a["self"]], dim=_dims(a, w)[0], **({"keepdim": True} if a["keepdim"] else {}))


@row("aten.var")
def var(a, w):
    return _reduced("Var", a, w, **_correction(a))


@row("aten.std")
def std(a, w):
    return w.layer("Sqrt", [_reduced("Var", a, w, **_correction(a))])


@row("aten.var_mean")
def var_mean(a, w):
    return [_reduced("Var", a, w, **_correction(a)), _reduced("Mean", a, w)]


def _correction(a):
    correction = a.get("correction", 1 if a.get("unbiased", True) else 0)
    return {} if correction in (None, 1) else {"correction": correction}


@row("aten.linalg_vector_norm", "aten.norm")
def norm(a, w):
    order = a.get("ord", a.get("p", 2))
    if order != 2:
        raise w.refuse(f"is a norm of order {order}, of which 2 alone is known")
    squares = w.layer("Mul", [a["self"], a["self"]], (a["self"].shape, a["self"].dtype))
    return w.layer("Sqrt", [_reduced("Sum", a, w, squares)])


@row("aten.cumsum")
def cumsum(a, w):
    if not a["self"].shape[a["dim"]].is_fixed:
        raise w.refuse("sums up over the rows")
    return w.layer("CumSum", [w.cast(a["self"], w.shapes()[0][1])], dim=a["dim"])


@row("aten.cosine_similarity")
def cosine_similarity(a, w):
    x, y = a["x1"], a["x2"]
    def norm_of(value):
        squares = w.layer("Mul", [value, value], (value.shape, value.dtype))
        return w.layer("Clamp", [w.layer("Sqrt", [_reduced("Sum", {"self": value, "dim": a["dim"]}, w, squares)])], min=a["eps"])

    product = w.layer("Mul", [x, y], (x.shape, x.dtype))
    dot = _reduced("Sum", {"self": product, "dim": a["dim"]}, w)
    return w.layer("Div", [dot, w.layer("Mul", [norm_of(x), norm_of(y)])])
