"""Layers with arguments drawn at random: for each type of the layer table what mostly fits a value, and what comes out of it.

Arguments that don't fit are drawn too, and a result's shape is a guess where it isn't easily said: a model that is wrong is
refused, which its test looks at as well.
"""
import math
import random
from typing import Callable, NamedTuple

B = "batch"
COMPARISONS = ("Eq", "Ne", "Lt", "Le", "Gt", "Ge")
# Of one input, without arguments that must be given.
UNARY = ("ReLU", "ReLU6", "LeakyReLU", "ELU", "SiLU", "GELU", "Tanh", "Sigmoid", "Hardtanh", "Dropout", "Identity", "Hardswish",
         "Hardsigmoid", "Softplus", "Mish", "SELU", "CELU", "LogSigmoid", "Softsign", "PReLU", "Hardshrink", "Softshrink",
         "Exp", "Log", "Log1p", "Expm1", "Sqrt", "Rsqrt", "Reciprocal", "Abs", "Neg", "Sign", "Sin", "Cos", "Erf", "Floor",
         "Ceil", "Round", "Trunc", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "RReLU", "Detach", "Asin", "Acos", "Atan", "Sinh",
         "Cosh", "Asinh", "Acosh", "Atanh", "Tanhshrink", "FeatureAlphaDropout")


class Random(random.Random):
    def chance(self, share):
        return self.random() < share

    def window(self, sizes, most=3):
        """A number for each size, or a single one."""
        most = max(1, min(most, min((s for s in sizes if s != B), default=1)))
        return self.randint(1, most) if self.chance(0.7) else [self.randint(1, most) for _ in sizes]


class Value(NamedTuple):
    shape: list
    kind: str = "float"  # or "integer", "bool"


class Layer(NamedTuple):
    """arguments(draw, shape) → dict; after(shape, arguments) → shape; inputs: how many, or a function of draw; the kind of the
    result, None: the input's; ranks of the inputs that fit."""
    arguments: Callable = lambda draw, shape: {}
    after: Callable = lambda shape, arguments: shape
    inputs: object = 1
    kind: str | None = None
    ranks: object = range(16)


def bilinear(draw, shape):
    return {"in1_features": fitting(shape, -1), "in2_features": fitting(shape, -1), "out_features": draw.randint(1, 4), "bias": draw.chance(0.7)}


def unflattened(draw, shape):
    """A size in two, of which the model file may leave out one."""
    dim = draw.randint(-1, max(len(shape) - 1, 0))
    size = fitting(shape, dim)
    return {"dim": dim, "unflattened_size": draw.choice([[1, size], [size, -1], [2, -1], [2, size // 2]])}


def split_in_two(shape, a):
    at = a["dim"] % max(len(shape), 1)
    return [*shape[:at], *[fitting(shape, at) // abs(math.prod(a["unflattened_size"])) if n == -1 else n for n in a["unflattened_size"]], *shape[at + 1:]]


def resizing(draw, shape):
    return {"scale_factor": draw.choice([2, 1.5, [2, 1]])} if draw.chance(0.6) else {"size": draw.choice([3, [2, 4]])}


def fitting(shape, i, otherwise=4):
    """Size i of a shape, or another where there is none or it is the batch."""
    size = shape[i] if -len(shape) <= i < len(shape) else otherwise
    return otherwise if size == B else max(size, 1)


def rank_of(type):
    """The spatial dimensions that a layer's name tells."""
    return int(type[-2])


def convolution(type):
    rank, transposed = rank_of(type), type.startswith("ConvTranspose")

    def arguments(draw, shape):
        inside = fitting(shape, -rank - 1)
        groups = draw.choice([1, 1, math.gcd(inside, 2)])
        layer = {"in_channels": inside, "out_channels": groups * draw.randint(1, 3), "kernel_size": draw.window((shape[-rank:] + [1] * rank)[:rank]),
                 "groups": groups, "stride": draw.randint(1, 2), "dilation": draw.choice([1, 1, 2]), "bias": draw.chance(0.7)}
        if transposed:
            layer["output_padding"] = draw.choice([0, 0, 1])
        elif draw.chance(0.3):
            layer.update({"padding": "same", "stride": 1})
        else:
            layer["padding"] = draw.randint(0, 2)
        if not transposed:
            layer["padding_mode"] = draw.choice(["zeros", "zeros", "reflect", "replicate", "circular"])
        return layer

    return Layer(arguments, lambda shape, a: [*shape[:max(0, len(shape) - rank - 1)], a["out_channels"], *shape[-rank:]], ranks=[rank + 2])


def batch_norm(draw, shape):
    return {"num_features": fitting(shape, 1), "affine": draw.chance(0.7), "momentum": draw.choice([0.1, None]), "track_running_stats": draw.chance(0.7)}


def pool(type):
    rank = rank_of(type)

    def arguments(draw, shape):
        window = draw.window((shape[-rank:] + [1] * rank)[:rank])
        least = min(window) if isinstance(window, list) else window
        layer = {"kernel_size": window, "stride": draw.choice([None, 1, 2]), "padding": draw.randint(0, least // 2), "ceil_mode": draw.chance(0.3)}
        if type.startswith("Max"):
            layer["dilation"] = draw.choice([1, 1, 2])
            layer["return_indices"] = draw.chance(0.3)
        else:
            layer["count_include_pad"] = draw.chance(0.5)
            if rank > 1:
                layer["divisor_override"] = draw.choice([None, None, 3, -2])
        return layer

    return Layer(arguments, ranks=[rank + 2])


def unpool(type):
    return Layer(lambda d, s: {"kernel_size": d.randint(1, 3), "stride": d.choice([None, 1, 2]), "padding": d.choice([0, 0, 1])}, inputs=2, ranks=[rank_of(type) + 2])


def lp_pool(draw, shape):
    return {"norm_type": draw.choice([1, 2, 3]), "kernel_size": draw.randint(1, 2), "stride": draw.choice([None, 1, 2]), "ceil_mode": draw.chance(0.3)}


def sides(rank, least, **more):
    """A padding module's arguments."""
    def arguments(draw, shape):
        numbers = [draw.randint(least, 2) for _ in range(2 * rank)]
        return {"padding": numbers if draw.chance(0.7) else abs(numbers[0]), **more}

    return Layer(arguments, ranks=[rank + 2])


def windows(draw, shape):
    return {"kernel_size": draw.randint(1, 2), "dilation": draw.choice([1, 1, 2]), "padding": draw.randint(0, 1), "stride": draw.randint(1, 2)}


def columns(draw, shape):
    """Often one window for each column."""
    return {"output_size": [1, fitting(shape, 2)], "kernel_size": draw.choice([1, [1, 2]]), "padding": draw.choice([0, [0, 1]]), "stride": 1}


def cell(draw, shape):
    return {"input_size": fitting(shape, -1), "hidden_size": draw.randint(1, 4), "bias": draw.chance(0.7)}


def adaptive_pool(type):
    return Layer(lambda d, s: {"output_size": d.choice([1, 2, [3, *[None] * (rank_of(type) - 1)]])}, ranks=[rank_of(type) + 2])


def recurrent(draw, shape):
    return {"input_size": fitting(shape, -1), "hidden_size": draw.randint(1, 4), "num_layers": draw.randint(1, 2), "bias": draw.chance(0.7),
            "batch_first": len(shape) > 0 and shape[0] == B, "bidirectional": draw.chance(0.3), "dropout": draw.choice([0, 0, 0.3])}


def transformer(kind):
    counts = {"layer": (), "stack": ("num_layers",), "both": ("num_encoder_layers", "num_decoder_layers")}[kind]

    def arguments(draw, shape):
        width = fitting(shape, -1)
        return {"d_model": width, "nhead": math.gcd(width, draw.choice([1, 2, 4])), "dim_feedforward": 8, "dropout": draw.choice([0, 0.1]),
                "activation": draw.choice(["relu", "gelu"]), "norm_first": draw.chance(0.5), "batch_first": draw.chance(0.8),
                **{count: draw.randint(1, 2) for count in counts}}
    return arguments


def attention(draw, shape):
    width = fitting(shape, -1)
    return {"embed_dim": width, "num_heads": draw.choice([n for n in (1, 2, 4) if width % n == 0]), "dropout": draw.choice([0, 0, 0.2]),
            "bias": draw.chance(0.7), "batch_first": len(shape) > 0 and shape[0] == B}


def dimension(draw, shape):
    return draw.randint(-max(len(shape), 1), max(len(shape) - 1, 0))


def along(**more):
    """`dim`, and arguments that don't hang on the shape, each a list to choose from."""
    return lambda draw, shape: {"dim": dimension(draw, shape), **{name: draw.choice(values) for name, values in more.items()}}


def without(shape, a):
    """The shape of a reduction over one dimension."""
    kept = list(shape)
    if kept:
        kept[a["dim"]:a["dim"] + 1 or None] = [1] if a.get("keepdim") else []
    return kept


def reshaped(draw, shape):
    known = math.prod(size for size in shape if size != B)
    return {"shape": draw.choice([[-1], [-1, known], [-1, 1, known], [known, -1]]) if B in shape else draw.choice([[-1], [known], [1, known, -1]])}


def flattened(shape, a):
    start = a["start_dim"]
    return shape if B in shape[start:] else [*shape[:start], math.prod(shape[start:])]


def with_one(shape, a):
    at = a["dim"] if a["dim"] >= 0 else len(shape) + 1 + a["dim"]
    return [*shape[:at], 1, *shape[at:]]


def padded(draw, shape):
    pairs = draw.randint(1, max(1, min(3, len(shape) - 1)))
    mode = draw.choice(["constant", "constant", "reflect", "replicate", "circular"])
    return {"pad": [draw.randint(-1 if mode == "constant" else 0, 2) for _ in range(2 * pairs)], "mode": mode}


def larger(shape, a):
    sizes = list(shape)
    for i in range(min(len(a["pad"]) // 2, len(sizes))):
        if sizes[-1 - i] != B:
            sizes[-1 - i] += a["pad"][2 * i] + a["pad"][2 * i + 1]
    return sizes


def upsampled(draw, shape):
    mode = draw.choice([["nearest", "nearest-exact", "linear"], ["nearest", "nearest-exact", "bilinear", "bicubic"], ["nearest", "trilinear"]][max(0, min(len(shape) - 3, 2))])
    size = {"scale_factor": draw.choice([2, 1.5, 0.5])} if draw.chance(0.6) else {"size": [draw.randint(1, 5) for _ in shape[2:]] or 3}
    return {**size, "mode": mode, "align_corners": None if mode.startswith("nearest") else draw.chance(0.5)}


def resized(shape, a):
    new = a.get("size") or [B if s == B else int(s * a["scale_factor"]) for s in shape[2:]]
    return [*shape[:2], *(new if isinstance(new, list) else [new])][:max(2, len(shape))]


def drawn_shape(draw, shape):
    """That of a tensor without rows that is added to a value: its last sizes."""
    sizes = [size for size in shape if size != B]
    return {"shape": sizes[-draw.randint(0, len(sizes)):] if sizes and draw.chance(0.8) else [draw.randint(1, 4)]}


def constant(draw, shape):
    row = [draw.choice([0, 1, -0.5, 2]) for _ in range(fitting(shape, -1))]
    return {"value": draw.choice([row, row[0]])}


def expanded(draw, shape):
    sizes = [draw.choice([-1, 3]) if size == 1 else -1 for size in shape]
    return {"shape": sizes if draw.chance(0.7) else [2, *sizes]}


def arithmetic(draw, shape):
    return {"other": draw.choice([2, -0.5, 1])} if draw.chance(0.3) else {}


LAYERS = {
    "Linear": Layer(lambda d, s: {"in_features": fitting(s, -1), "out_features": d.randint(1, 5), "bias": d.chance(0.7)},
                    lambda s, a: [*s[:-1], a["out_features"]]),
    "Bilinear": Layer(bilinear, lambda s, a: [*s[:-1], a["out_features"]], inputs=2),
    "Embedding": Layer(lambda d, s: {"num_embeddings": 8, "embedding_dim": d.randint(1, 5), "padding_idx": d.choice([None, 0, -1]), "sparse": d.chance(0.3)},
                       lambda s, a: [*s, a["embedding_dim"]], kind="float"),
    "EmbeddingBag": Layer(lambda d, s: {"num_embeddings": 8, "embedding_dim": d.randint(1, 5), "mode": d.choice(["sum", "mean", "max"])},
                          lambda s, a: [*s[:1], a["embedding_dim"]], kind="float", ranks=[2]),
    **{t: convolution(t) for t in ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")},
    **{t: Layer(batch_norm, ranks=ranks) for t, ranks in (("BatchNorm1d", [2, 3]), ("BatchNorm2d", [4]), ("BatchNorm3d", [5]), ("SyncBatchNorm", range(2, 6)))},
    **{f"InstanceNorm{n}d": Layer(lambda d, s: {"num_features": fitting(s, 1), "affine": d.chance(0.5)}, ranks=[n + 2]) for n in (1, 2, 3)},
    **{t: Layer(lambda d, s: {"normalized_shape": [fitting(s, i) for i in range(-d.randint(1, max(1, len(s) - 1)), 0)], "elementwise_affine": d.chance(0.7)})
       for t in ("LayerNorm", "RMSNorm")},
    "GroupNorm": Layer(lambda d, s: {"num_groups": math.gcd(fitting(s, 1), d.randint(1, 4)), "num_channels": fitting(s, 1), "affine": d.chance(0.7)}, ranks=range(2, 16)),
    "LocalResponseNorm": Layer(lambda d, s: {"size": d.randint(1, 5), "alpha": d.choice([1e-4, 0.5]), "beta": d.choice([0.75, 1.5]), "k": d.choice([1, 2])},
                               ranks=range(3, 16)),
    **{t: Layer() for t in UNARY},
    "Threshold": Layer(lambda d, s: {"threshold": d.choice([0, 0.4]), "value": d.choice([0, -1])}),
    "Clamp": Layer(lambda d, s: d.choice([{"min": 0.2}, {"max": 0.6}, {"min": 0, "max": 0.5}])),
    "Pow": Layer(lambda d, s: {"exponent": d.choice([2, 3, 0.5, -1])}),
    "GLU": Layer(along(), lambda s, a: [n // 2 if n != B and i == a["dim"] % len(s) else n for i, n in enumerate(s)]),
    "Softmax": Layer(along()), "LogSoftmax": Layer(along()), "Softmin": Layer(along()), "Softmax2d": Layer(ranks=[3, 4]),
    "StochasticDepth": Layer(lambda d, s: {"p": d.choice([0.2, 0.5]), "mode": d.choice(["row", "batch"])}),
    **{t: pool(t) for t in ("MaxPool1d", "MaxPool2d", "MaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d")},
    **{t: adaptive_pool(t) for t in ("AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d")},
    **{t: unpool(t) for t in ("MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d")},
    **{f"LPPool{n}d": Layer(lp_pool, ranks=[n + 2]) for n in (1, 2, 3)},
    **{f"{kind}Pad{n}d": sides(n, least, **more) for n in (1, 2, 3)
       for kind, least, more in (("Zero", -1, {}), ("Constant", -1, {"value": 0.5}), ("Reflection", 0, {}), ("Replication", 0, {}), ("Circular", 0, {}))},
    "Unfold": Layer(windows, ranks=[4]), "Fold": Layer(columns, ranks=[3]),
    **{t: Layer(cell, lambda s, a: [*s[:-1], a["hidden_size"]], ranks=[2]) for t in ("LSTMCell", "GRUCell", "RNNCell")},
    "PairwiseDistance": Layer(lambda d, s: {"p": d.choice([1, 2, 3.5]), "keepdim": d.chance(0.5)}, lambda s, a: [*s[:-1], 1] if a["keepdim"] else s[:-1], inputs=2),
    "CosineSimilarity": Layer(along(), without, inputs=2),
    "Flatten": Layer(lambda d, s: {"start_dim": d.randint(0, 1)}, flattened),
    **{t: Layer(recurrent, lambda s, a: [*s[:-1], a["hidden_size"] * (2 if a["bidirectional"] else 1)], ranks=[3]) for t in ("LSTM", "GRU", "RNN")},
    "MultiheadAttention": Layer(attention, inputs=3, ranks=[3]),
    "TransformerEncoderLayer": Layer(transformer("layer"), ranks=[3]), "TransformerDecoderLayer": Layer(transformer("layer"), inputs=2, ranks=[3]),
    "TransformerEncoder": Layer(transformer("stack"), ranks=[3]), "TransformerDecoder": Layer(transformer("stack"), inputs=2, ranks=[3]),
    "Transformer": Layer(transformer("both"), inputs=2, ranks=[3]),
    "ScaledDotProductAttention": Layer(lambda d, s: {"dropout_p": d.choice([0, 0, 0.2]), "is_causal": d.chance(0.4)}, inputs=3, ranks=range(3, 16)),
    **{t: Layer(arithmetic, inputs=2) for t in ("Add", "Sub", "Mul", "Div", "Minimum", "Maximum", "Remainder", "Fmod")},
    **{t: Layer(arithmetic, inputs=2, kind="bool") for t in COMPARISONS},
    "LogicalAnd": Layer(inputs=2, kind="bool"), "LogicalOr": Layer(inputs=2, kind="bool"), "LogicalNot": Layer(kind="bool"),
    "Where": Layer(inputs=3),
    "Cast": Layer(lambda d, s: {"dtype": d.choice(["float32", "int64", "int32", "bool", "bfloat16"])}),
    "MatMul": Layer(inputs=2),
    "Concat": Layer(along(), inputs=lambda draw: draw.randint(1, 3)),
    "Permute": Layer(lambda d, s: {"dims": d.sample(range(len(s)), len(s))}, lambda s, a: [s[i] for i in a["dims"]]),
    "Reshape": Layer(reshaped),
    "Expand": Layer(expanded, lambda s, a: a["shape"][:-len(s) or None] + [old if new == -1 else new for old, new in zip(s, a["shape"][-len(s):])]),
    "Unflatten": Layer(unflattened, split_in_two),
    "Unsqueeze": Layer(along(), with_one),
    "Squeeze": Layer(lambda d, s: {"dim": d.choice([None, dimension(d, s)])}, lambda s, a: [n for n in s if n != 1] if a["dim"] is None else s),
    "Slice": Layer(along(start=[0, 1, -2], end=[None, -1, 2], step=[1, 2])),
    "Split": Layer(along(split_size_or_sections=[1, 2, [1, 2], [2, 2]])),
    "Roll": Layer(lambda d, s: {"shifts": d.choice([1, -2]), "dims": dimension(d, s)}), "Flip": Layer(lambda d, s: {"dims": dimension(d, s)}),
    "Pad": Layer(padded, larger),
    "Select": Layer(along(index=[0, -1]), without),
    "IndexSelect": Layer(along(), inputs=2), "Gather": Layer(along(), inputs=2),
    **{t: Layer(along(keepdim=[False, True]), without) for t in ("Mean", "Sum", "AMax", "AMin", "Var")},
    **{t: Layer(along(keepdim=[False, True]), without, kind="integer") for t in ("ArgMax", "ArgMin")},
    **{t: Layer(along()) for t in ("CumSum", "CumProd", "CumMax", "CumMin", "LogCumSumExp")},
    "Sort": Layer(along(descending=[False, True])), "ArgSort": Layer(along(descending=[False, True]), kind="integer"),
    "TopK": Layer(along(k=[1, 2], largest=[False, True]), lambda s, a: [a["k"] if i == a["dim"] % len(s) else n for i, n in enumerate(s)]),
    "Scatter": Layer(along(), inputs=3), "ScatterAdd": Layer(along(), inputs=3), "Atan2": Layer(inputs=2),
    "Upsample": Layer(upsampled, resized, ranks=[3, 4, 5]),
    **{t: Layer(resizing, ranks=[4]) for t in ("UpsamplingNearest2d", "UpsamplingBilinear2d")},
    "PixelShuffle": Layer(lambda d, s: {"upscale_factor": 2}, ranks=[4, 5]), "PixelUnshuffle": Layer(lambda d, s: {"downscale_factor": 2}, ranks=[4, 5]),
    "ChannelShuffle": Layer(lambda d, s: {"groups": d.choice([1, 2])}, ranks=range(3, 16)),
    "Parameter": Layer(drawn_shape, lambda s, a: a["shape"], inputs=0, kind="float"),
    "Buffer": Layer(lambda d, s: {**drawn_shape(d, s), "dtype": d.choice(["float32", "int64", "bool"])}, lambda s, a: a["shape"], inputs=0),
    "Constant": Layer(constant, lambda s, a: [len(a["value"])] if isinstance(a["value"], list) else [], inputs=0, kind="float"),
    "Scale": Layer(lambda d, s: {"value": d.choice([0.5, -1.5, 2.0])}),
    "Print": Layer(lambda d, s: {"text": "of {0}"}),
}

# The kinds that inputs want, by position; what isn't named wants numbers with a point.
ANY, INDEX, TRUTH = ("float", "integer", "bool"), ("integer",), ("bool",)
KINDS = {"Where": (TRUTH,), **{f"MaxUnpool{n}d": (("float",), INDEX) for n in (1, 2, 3)}, "Scatter": (("float",), INDEX), "ScatterAdd": (("float",), INDEX), "IndexSelect": (ANY, INDEX), "Gather": (ANY, INDEX), "Embedding": (INDEX,), "EmbeddingBag": (INDEX,),
         "LogicalAnd": (TRUTH, TRUTH), "LogicalOr": (TRUTH, TRUTH), "LogicalNot": (TRUTH,),
         **{t: (ANY,) for t in ("Cast", "Concat", "Permute", "Reshape", "Expand", "Unsqueeze", "Squeeze", "Slice", "Split", "Roll", "Flip",
                                "Select", "Print", "Identity", "Flatten", "Unflatten", "Detach", *COMPARISONS)},
         **{t: (ANY, ANY) for t in ("Add", "Sub", "Mul", "Remainder", "Fmod")}}


def suiting(type, position, values):
    """The names of the values that an input of this type may well be."""
    wanted = KINDS.get(type, ())
    kinds = wanted[position] if position < len(wanted) else ("float",)
    return [name for name, value in values.items() if value.kind in kinds and (position or len(value.shape) in LAYERS[type].ranks)]


def random_type(draw, values):
    """A layer's type: half of the time one that any value suits, mostly one that some value suits."""
    types = ["Linear", *UNARY, "Softmax", "LayerNorm", "Add", "Concat", "Mul"] if draw.chance(0.4) else list(LAYERS)
    if draw.chance(0.9):
        types = [type for type in types if suiting(type, 0, values)] or types
    return draw.choice(types)


def random_layer(draw, values, name, type=None):
    """A layer, of a random type if none is given, on some of the `values` (name → Value), the last ones above all; and its own Value."""
    type = type or random_type(draw, values)
    row = LAYERS[type]
    source = draw.choice((suiting(type, 0, values) or list(values))[-2:])
    shape = values[source].shape
    arguments = row.arguments(draw, shape)
    count = row.inputs(draw) if callable(row.inputs) else row.inputs
    if "other" in arguments:
        count = 1
    inputs = [source][:count]
    for position in range(1, count):
        fit = suiting(type, position, values) if draw.chance(0.9) else list(values)
        alike = [other for other in fit if values[other].shape == shape and values[other].kind == values[source].kind]
        if position < len(KINDS.get(type, ())) and draw.chance(0.9) or not alike:
            alike = fit or list(values)
        inputs.append(draw.choice(alike))
    kind = row.kind or values[source].kind
    if "dtype" in arguments:
        kind = "bool" if arguments["dtype"] == "bool" else "integer" if arguments["dtype"].startswith("int") else "float"
    if type == "Where":
        kind = values[inputs[1]].kind
    return {"name": name, "type": type, "inputs": inputs, **arguments}, Value(row.after(shape, arguments), kind)
