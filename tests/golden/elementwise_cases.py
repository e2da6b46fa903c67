"""Cases of the golden tests: functions of one element, comparisons, choices, and values that no input makes. As layer_cases."""
import base64
import struct
import zlib

from layer_cases import B, model

CASES = []


def graph(name, inputs, layers, outputs=None, batch=5, **more):
    CASES.append((name, model(name, inputs, layers, outputs, **more), batch))


def parallel(name, module, *inputs):
    return {"name": name, "type": "DataParallel", "inputs": list(inputs), "module": module}


ACTIVATIONS = {
    "hardswish": ("Hardswish", {}), "hardsigmoid": ("Hardsigmoid", {}), "softplus": ("Softplus", {}),
    "softplus_steep": ("Softplus", {"beta": 2.5, "threshold": 3.0}), "mish": ("Mish", {}), "selu": ("SELU", {}), "celu": ("CELU", {"alpha": 0.6}),
    "log_sigmoid": ("LogSigmoid", {}), "softsign": ("Softsign", {}), "hardshrink": ("Hardshrink", {}), "softshrink": ("Softshrink", {"lambd": 0.3}),
    "threshold": ("Threshold", {"threshold": 0.2, "value": -1.5}), "glu": ("GLU", {}), "alpha_dropout": ("AlphaDropout", {"p": 0.3}),
    "rrelu": ("RReLU", {"lower": 0.1, "upper": 0.4}), "tanhshrink": ("Tanhshrink", {}), "stochastic_depth": ("StochasticDepth", {"p": 0.3, "mode": "row"}),
}
for name, (kind, arguments) in ACTIVATIONS.items():
    # Two ranges: where the function bends, and where exp would overflow.
    graph(name, {"x": [B, 38], "wide": [B, 38]}, [
        parallel("net", {"type": kind, **arguments}, "x"), parallel("far", {"type": kind, **arguments}, "wide")], ["net", "far"])
graph("prelu", {"x": [B, 3, 4], "y": [B, 6], "z": [B, 3]}, [
    parallel("net", {"type": "PReLU", "num_parameters": 3}, "x"), parallel("one", {"type": "PReLU"}, "y"), parallel("flat", {"type": "PReLU", "num_parameters": 3}, "z")],
      ["net", "one", "flat"])
for kind in ("Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"):
    graph(kind.lower(), {"x": [B, 3, 4]}, [parallel("net", {"type": kind}, "x")])

# Of any number, then of positive ones.
ANY = ["Expm1", "Exp", "Abs", "Neg", "Sign", "Sin", "Cos", "Erf", "Floor", "Ceil", "Round", "Trunc", "Reciprocal"]
POSITIVE = ["Log", "Log1p", "Sqrt", "Rsqrt"]
graph("functions", {"x": [B, 21]}, [*[parallel(kind, {"type": kind}, "x") for kind in ANY], {"name": "positive", "type": "Abs", "inputs": ["x"]},
                                    *[parallel(kind, {"type": kind}, "positive") for kind in POSITIVE]], ANY + POSITIVE)
graph("functions_far", {"wide": [B, 21]}, [*[parallel(kind, {"type": kind}, "wide") for kind in ("Sin", "Cos", "Erf", "Round", "Trunc")],
                                           {"name": "positive", "type": "Abs", "inputs": ["wide"]},
                                           *[parallel(kind, {"type": kind}, "positive") for kind in POSITIVE]], ["Sin", "Cos", "Erf", "Round", "Trunc"] + POSITIVE)
ANGLES = ["Asin", "Acos", "Atanh"]  # of numbers from -1 to 1
LINES = ["Atan", "Sinh", "Cosh", "Asinh"]
graph("inverses", {"x": [B, 21], "y": [B, 21], "wide": [B, 21]}, [
    *[{"name": f"far_{kind}", "type": kind, "inputs": ["wide"]} for kind in ("Atan", "Asinh")], *[parallel(kind, {"type": kind}, "x") for kind in LINES],
    {"name": "within", "type": "Tanh", "inputs": ["x"]}, *[parallel(kind, {"type": kind}, "within") for kind in ANGLES], {"name": "size", "type": "Abs", "inputs": ["wide"]},
    {"name": "beyond", "type": "Add", "other": 1.001, "inputs": ["size"]}, parallel("Acosh", {"type": "Acosh"}, "beyond"), parallel("Atan2", {"type": "Atan2"}, "y", "x"),
    parallel("steep", {"type": "Atan2"}, "x", "wide")], ["far_Atan", "far_Asinh", *LINES, *ANGLES, "Acosh", "Atan2", "steep"])
EXPONENTS = [2, 3, -1, 0.5, -0.5, 0, 1.7, -3]
graph("pow", {"x": [B, 7], "y": [B, 7]}, [
    {"name": "positive", "type": "Abs", "inputs": ["x"]}, *[parallel(f"p{i}", {"type": "Pow", "exponent": e}, "positive") for i, e in enumerate(EXPONENTS)],
    parallel("cube", {"type": "Pow", "exponent": 3}, "x"), parallel("net", {"type": "Pow"}, "positive", "y"),
    {"name": "whole", "type": "Round", "inputs": ["y"]}, parallel("signed", {"type": "Pow"}, "x", "whole")],
      [*[f"p{i}" for i in range(len(EXPONENTS))], "cube", "net", "signed"])
graph("clamp", {"x": [B, 9]}, [parallel("both", {"type": "Clamp", "min": -0.5, "max": 1}, "x"), parallel("low", {"type": "Clamp", "min": 0.1}, "x"),
                               parallel("high", {"type": "Clamp", "max": -0.1}, "x")], ["both", "low", "high"])
for kind in ("Div", "Minimum", "Maximum"):
    low = kind.lower()
    graph(low, {"a": [B, 3, 4], "b": [B, 3, 4]}, [parallel("net", {"type": kind}, "a", "b"), parallel("number", {"type": kind, "other": 0.7}, "a")], ["net", "number"])
    graph(low + "_broadcast", {"a": [B, 3, 1], "b": [4], "c": [3, 4], "d": [B, 1, 4]}, [
        {"name": "ab", "type": kind, "inputs": ["a", "b"]}, {"name": "cd", "type": kind, "inputs": ["c", "d"]},
        {"name": "net", "type": kind, "inputs": ["ab", "cd"]}], ["ab", "cd", "net"])
graph("with_numbers", {"x": [B, 6]}, [parallel("add", {"type": "Add", "other": 1.5}, "x"), parallel("sub", {"type": "Sub", "other": 2}, "x"),
                                      parallel("mul", {"type": "Mul", "other": -3.0}, "x")], ["add", "sub", "mul"])

COMPARISONS = ["Eq", "Ne", "Lt", "Le", "Gt", "Ge"]
graph("comparisons", {"number_x": ([B, 12], "int64"), "number_y": ([B, 12], "int64"), "x": [B, 12]}, [
    *[parallel(kind, {"type": kind}, "number_x", "number_y") for kind in COMPARISONS],
    *[parallel(kind + "0", {"type": kind, "other": 0.25}, "x") for kind in COMPARISONS]], [*COMPARISONS, *[kind + "0" for kind in COMPARISONS]])
graph("logic", {"a": ([B, 9], "bool"), "b": ([9], "bool"), "number": ([B, 9], "int32"), "x": [B, 9]}, [
    {"name": "and", "type": "LogicalAnd", "inputs": ["a", "b"]}, {"name": "or", "type": "LogicalOr", "inputs": ["b", "a"]}, parallel("not", {"type": "LogicalNot"}, "number"),
    {"name": "scaled", "type": "Scale", "value": 3.0, "inputs": ["x"]},
    parallel("choice", {"type": "Where"}, "or", "x", "scaled"), parallel("is_true", {"type": "Eq", "other": True}, "a")],
      ["and", "or", "not", "choice", "is_true"])
graph("integers", {"number_x": ([B, 5], "int64"), "number_y": ([5], "int64")}, [
    *[{"name": kind, "type": kind, "inputs": ["number_x", "number_y"]} for kind in ("Add", "Sub", "Mul", "Minimum", "Maximum")],
    {"name": "plus", "type": "Add", "other": 3, "inputs": ["number_x"]}, {"name": "clamped", "type": "Clamp", "min": -2, "inputs": ["number_x"]},
    {"name": "absolute", "type": "Abs", "inputs": ["number_x"]}], ["Add", "Sub", "Mul", "Minimum", "Maximum", "plus", "clamped", "absolute"])
DIVISIONS = {"floor": ("Div", {"rounding_mode": "floor"}), "trunc": ("Div", {"rounding_mode": "trunc"}), "remainder": ("Remainder", {}), "fmod": ("Fmod", {})}
graph("divisions", {"number_x": ([B, 12], "int64"), "number_y": ([B, 12], "int64"), "number_z": ([B, 12], "int32"), "x": [B, 24], "y": [B, 24], "wide": [B, 24]}, [
    {"name": "odd", "type": "Mul", "other": 2, "inputs": ["number_y"]}, {"name": "divisor", "type": "Add", "other": 1},
    *[parallel(name, {"type": kind, **more}, "number_x", "divisor") for name, (kind, more) in DIVISIONS.items()],
    *[parallel(f"{name}_by_{by}", {"type": kind, "other": by, **more}, "number_z") for name, (kind, more) in DIVISIONS.items() for by in (3, -4, -1)],
    *[parallel(name + "_x", {"type": kind, **more}, "x", "y") for name, (kind, more) in DIVISIONS.items()],
    *[parallel(name + "_wide", {"type": kind, "other": -0.7, **more}, "wide") for name, (kind, more) in DIVISIONS.items()],
    parallel("detached", {"type": "Detach"}, "x")],
      [*DIVISIONS, *[f"{name}_by_{by}" for name in DIVISIONS for by in (3, -4, -1)], *[name + "_x" for name in DIVISIONS], *[name + "_wide" for name in DIVISIONS], "detached"])
graph("cast", {"number": ([B, 4], "int64"), "x": [B, 4], "b": ([B, 4], "bool")}, [
    parallel("real", {"type": "Cast", "dtype": "float32"}, "number"), parallel("whole", {"type": "Cast", "dtype": "int64"}, "x"),
    parallel("truth", {"type": "Cast", "dtype": "bool"}, "number"), parallel("narrow", {"type": "Cast", "dtype": "int32"}, "b"),
    parallel("ones", {"type": "Cast", "dtype": "float32"}, "b")], ["real", "whole", "truth", "narrow", "ones"])

# Values that no input makes, in a region and outside.
packed = base64.b64encode(zlib.compress(struct.pack("<12f", *[i / 4 for i in range(12)]))).decode()
TOKENS = {"inputs": ["input"], "layers": [
    {"name": "cls", "type": "Parameter", "shape": [1, 1, 4]}, {"name": "expand", "type": "Expand", "shape": ["batch", -1, -1], "inputs": ["cls", "input"]},
    {"name": "all", "type": "Concat", "dim": 1, "inputs": ["expand", "input"]}, {"name": "position", "type": "Parameter", "shape": [1, 4, 4]},
    {"name": "sum", "type": "Add", "inputs": ["all", "position"]}, {"name": "offset", "type": "Constant", "shape": [3, 4], "data": packed},
    {"name": "scale", "type": "Buffer", "shape": []}, {"name": "scaled", "type": "Mul", "inputs": ["sum", "scale"]},
    {"name": "rows", "type": "Constant", "value": [[1], [0], [1], [1]], "dtype": "bool"}, {"name": "none", "type": "Constant", "value": -2.5},
    {"name": "masked", "type": "Where", "inputs": ["rows", "scaled", "none"]}], "outputs": ["masked", "offset", "scaled"]}
graph("values", {"x": [B, 3, 4]}, [{"name": "net", "type": "DataParallel", "module": {"type": "Tokens"}}], ["net", "net:2"], modules={"Tokens": TOKENS})
graph("values_outside", {"x": [B, 3, 4]}, [
    {"name": "weight", "type": "Parameter", "shape": [4, 2]}, {"name": "row", "type": "Constant", "value": [1, -1]}, {"name": "ids", "type": "Buffer", "shape": [3], "dtype": "int64"},
    {"name": "product", "type": "MatMul", "inputs": ["x", "weight"]}, parallel("net", {"type": "Add"}, "product", "row"),
    {"name": "other", "type": "Cast", "dtype": "float32", "inputs": ["ids"]}, {"name": "column", "type": "Reshape", "shape": [3, 1]},
    {"name": "last", "type": "Mul", "inputs": ["net", "column"]}], ["last", "row", "ids", "weight"])
graph("expand", {"x": [B, 1, 3], "row": [1, 3]}, [
    parallel("net", {"type": "Expand", "shape": [-1, 4, -1]}, "x"), {"name": "front", "type": "Expand", "shape": [2, -1, 4, 3], "inputs": ["x"]},
    parallel("rows", {"type": "Expand", "shape": ["batch", 2, 3]}, "row", "x")], ["net", "front", "rows"])
