"""A sheaf model file as a PyTorch module: what a model file means.

DataParallel is emulated on the CPU with its documented semantics: torch.chunk along `dim`, one replica per chunk,
outputs concatenated in order, and buffers (batch-norm statistics) kept from replica 0 alone.
Needs: torch.
"""
import base64
import zlib

import torch
from torch import nn

NOT_ARGS = {"name", "type", "inputs", "outputs", "device", "layers", "module", "share", "output", "trainable", "checkpoint"}


def substitute(obj, params):
    if isinstance(obj, str) and obj.startswith("$"):
        return params[obj[1:]]
    if isinstance(obj, list):
        return [substitute(v, params) for v in obj]
    if isinstance(obj, dict):
        return {k: substitute(v, params) for k, v in obj.items()}
    return obj


def flat(result):
    """A layer's outputs as one tuple: an LSTM's (output, (h, c)) is (output, h, c)."""
    if isinstance(result, tuple):
        return tuple(t for r in result for t in flat(r))
    return (result,)


class Fn(nn.Module):
    """A layer without parameters, as a function of its inputs."""
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, *xs):
        return self.fn(*xs)


def two(function):
    """Of two inputs, or of one and the number `other`."""
    return lambda a: (lambda x: function(x, a["other"])) if a.get("other") is not None else function


def plain(name):
    return lambda a: getattr(torch, name)


def expand(a):
    def function(x, like=None):
        sizes = [like.shape[a.get("like_dim", 0)] if size == "batch" else size for size in a["shape"]]
        return x.expand(*sizes)
    return function


DTYPES = {"float32": torch.float32, "int64": torch.int64, "int32": torch.int32, "bool": torch.bool}


def constant(a):
    dtype = DTYPES[a.get("dtype", "float32")]
    if a.get("value") is not None:
        return torch.tensor(a["value"], dtype=dtype)
    return torch.frombuffer(bytearray(zlib.decompress(base64.b64decode(a["data"]))), dtype=dtype).reshape(a["shape"])


FUNCTIONS = {
    "Add": two(torch.add), "Sub": two(torch.sub), "Mul": two(torch.mul), "Div": lambda a: two(lambda x, y: torch.div(x, y, rounding_mode=a.get("rounding_mode")))(a),
    "Remainder": two(torch.remainder), "Fmod": two(torch.fmod), "Detach": lambda a: lambda x: x.detach(),
    "Minimum": two(lambda x, y: torch.minimum(x, torch.as_tensor(y, dtype=x.dtype))),
    "Maximum": two(lambda x, y: torch.maximum(x, torch.as_tensor(y, dtype=x.dtype))),
    "Pow": lambda a: (lambda x: x ** a["exponent"]) if a.get("exponent") is not None else torch.pow,
    **{kind: two(getattr(torch, kind.lower())) for kind in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge")},
    "LogicalAnd": two(torch.logical_and), "LogicalOr": two(torch.logical_or), "LogicalNot": plain("logical_not"),
    **{kind: plain(kind.lower()) for kind in ("Exp", "Log", "Log1p", "Expm1", "Sqrt", "Rsqrt", "Reciprocal", "Abs", "Neg", "Sign", "Sin",
                                              "Cos", "Erf", "Floor", "Ceil", "Round", "Trunc", "Asin", "Acos", "Atan", "Atan2", "Sinh",
                                              "Cosh", "Asinh", "Acosh", "Atanh")},
    "Clamp": lambda a: lambda x: torch.clamp(x, a.get("min"), a.get("max")),
    "Where": plain("where"),
    "Cast": lambda a: lambda x: x.to(x.dtype if x.dtype == torch.float64 and a["dtype"] == "float32" else DTYPES[a["dtype"]]),
    "Expand": expand,
    "Constant": lambda a: lambda value=constant(a): value.clone(),
    "StochasticDepth": lambda a: lambda x: x,
    "MatMul": lambda a: lambda x, y: x @ y,
    "Concat": lambda a: lambda *xs: torch.cat(xs, dim=a["dim"]),
    "Permute": lambda a: lambda x: x.permute(*a["dims"]),
    "Reshape": lambda a: lambda x: x.reshape(*a["shape"]),
    "Mean": lambda a: lambda x: x.mean(dim=a["dim"], keepdim=a.get("keepdim", False)),
    "Select": lambda a: lambda x: x.select(a["dim"], a["index"]),
    "Scale": lambda a: lambda x: x * a["value"],
    "Slice": lambda a: lambda x: x[(slice(None),) * (a["dim"] % x.dim()) + (slice(a.get("start", 0), a.get("end"), a.get("step", 1)),)],
    "Split": lambda a: lambda x: torch.split(x, a["split_size_or_sections"], a.get("dim", 0)),
    "Roll": lambda a: lambda x: torch.roll(x, a["shifts"], a["dims"]),
    "Flip": lambda a: lambda x: torch.flip(x, [a["dims"]] if isinstance(a["dims"], int) else a["dims"]),
    "Pad": lambda a: lambda x: nn.functional.pad(x, a["pad"], **{k: a[k] for k in ("mode", "value") if k in a}),
    "Unsqueeze": lambda a: lambda x: x.unsqueeze(a["dim"]),
    "Squeeze": lambda a: lambda x: x.squeeze() if a.get("dim") is None else x.squeeze(a["dim"]),
    "IndexSelect": lambda a: lambda x, i: x[(slice(None),) * (a["dim"] % x.dim()) + (i.long(),)],
    "Gather": lambda a: lambda x, i: torch.gather(x, a["dim"], i.long()),
    "Sum": lambda a: lambda x: x.sum(**reduced(a)),
    "AMax": lambda a: lambda x: x.amax(**reduced(a)),
    "AMin": lambda a: lambda x: x.amin(**reduced(a)),
    "Var": lambda a: lambda x: x.var(correction=a.get("correction", 1), **reduced(a)),
    "ArgMax": lambda a: lambda x: x.argmax(**reduced(a)),
    "ArgMin": lambda a: lambda x: x.argmin(**reduced(a)),
    "CumSum": lambda a: lambda x: x.cumsum(a["dim"]),
    "CumProd": lambda a: lambda x: x.cumprod(a["dim"]),
    "LogCumSumExp": lambda a: lambda x: x.logcumsumexp(a["dim"]),
    "CumMax": lambda a: lambda x: tuple(x.cummax(a["dim"])),
    "CumMin": lambda a: lambda x: tuple(x.cummin(a["dim"])),
    "ArgSort": lambda a: lambda x: x.argsort(dim=a.get("dim", -1), descending=a.get("descending", False), stable=True),
    "Sort": lambda a: lambda x: tuple(x.sort(dim=a.get("dim", -1), descending=a.get("descending", False), stable=True)),
    "TopK": lambda a: lambda x: tuple(x.topk(a["k"], a.get("dim", -1), a.get("largest", True))),
    "Scatter": lambda a: lambda x, i, source: x.scatter(a["dim"], i.long(), source),
    "ScatterAdd": lambda a: lambda x, i, source: x.scatter_add(a["dim"], i.long(), source),
    "ScaledDotProductAttention": lambda a: lambda q, k, v, mask=None: nn.functional.scaled_dot_product_attention(
        q, k, v, mask if mask is None or mask.is_floating_point() else mask != 0, **{**a, "dropout_p": 0.0}),
    "Print": lambda a: lambda x, *rest: x,
}


def reduced(a):
    """Arguments of a reduction, those that are given."""
    return {k: a[k] for k in ("dim", "keepdim") if a.get(k) is not None}


MASKS = ("attn_mask", "key_padding_mask", "is_causal", "need_weights", "average_attn_weights")


class Attention(nn.MultiheadAttention):
    """Masks are further inputs; integers hide where they aren't 0."""
    def __init__(self, given, **arguments):
        super().__init__(**arguments)
        self.given = given

    def forward(self, query, key, value, *masks):
        masks = iter(m if m.is_floating_point() else m != 0 for m in masks)
        found = {name: next(masks) for name in MASKS[:2] if self.given.get(name)}
        call = {name: self.given[name] for name in MASKS[3:] if name in self.given}
        if self.given.get("is_causal"):
            hidden = torch.full((query.shape[-2 if self.batch_first else 0], key.shape[-2 if self.batch_first else 0]), -torch.inf, dtype=query.dtype)
            assert "attn_mask" not in found
            found["attn_mask"] = hidden.triu(1)
        results = super().forward(query, key, value, **found, **call)
        return results[0] if results[1] is None else results


class Transforming(nn.Module):
    """A transformer layer or stack of torch.nn: masks are further inputs, in the order of its forward()."""
    FLAGS = {
        "TransformerEncoderLayer": ["src_mask", "src_key_padding_mask"], "TransformerEncoder": ["mask", "src_key_padding_mask"],
        **dict.fromkeys(["TransformerDecoderLayer", "TransformerDecoder"], ["tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask"]),
        "Transformer": ["src_mask", "tgt_mask", "memory_mask", "src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask"]}
    CAUSAL = {"is_causal": ("src_mask", "mask"), "src_is_causal": ("src_mask",), "tgt_is_causal": ("tgt_mask",), "memory_is_causal": ("memory_mask",)}

    def __init__(self, kind, given):
        super().__init__()
        torch.backends.mha.set_fastpath_enabled(False)
        self.masks, self.batch_first = [name for name in self.FLAGS[kind] if given.get(name)], given.get("batch_first", False)
        self.causal = [next(n for n in names if n in self.FLAGS[kind]) for flag, names in self.CAUSAL.items() if given.get(flag)]
        args = {k: v for k, v in given.items() if k not in self.FLAGS[kind] and k not in self.CAUSAL}
        layers, norm = args.pop("num_layers", None), args.pop("norm", False)
        if layers is None:
            made = getattr(nn, kind)(**args)
        else:
            one = getattr(nn, kind + "Layer")(**args)
            last = nn.LayerNorm(args["d_model"], args.get("layer_norm_eps", 1e-5), bias=args.get("bias", True)) if norm else None
            made = getattr(nn, kind)(one, layers, last, **({"enable_nested_tensor": False} if kind == "TransformerEncoder" else {}))
        for name, child in made.named_children():
            self.add_module(name, child)
        object.__setattr__(self, "made", made)

    def forward(self, *inputs):
        data, masks = inputs[:len(inputs) - len(self.masks)], inputs[len(inputs) - len(self.masks):]
        call = {name: mask if mask.is_floating_point() else mask != 0 for name, mask in zip(self.masks, masks)}
        decodes = len(data) > 1
        source, target = (x.shape[-2 if self.batch_first else 0] for x in (data[::-1] if decodes and "encoder" not in self._modules else data + data)[:2])
        shapes = {"mask": (source, source), "src_mask": (source, source), "tgt_mask": (target, target), "memory_mask": (target, source)}
        for name in self.causal:
            call[name] = torch.full(shapes[name], -torch.inf, dtype=data[0].dtype).triu(1)
        return self.made(*data, **call)


class MaxPool2d(nn.MaxPool2d):
    """Padding up to half of what a dilated window spans, which releases of PyTorch up to 2.11 refuse (half of kernel_size) and
    later ones take (aten/src/ATen/native/Pool.h)."""
    def forward(self, x):
        pad = lambda value: [value, value] if isinstance(value, int) else list(value)
        kernel, padding = pad(self.kernel_size), pad(self.padding)
        if all(2 * p <= k for p, k in zip(padding, kernel)):
            return super().forward(x)
        assert not self.ceil_mode
        x = nn.functional.pad(x, [padding[1], padding[1], padding[0], padding[0]], value=-torch.inf)
        return nn.functional.max_pool2d(x, self.kernel_size, self.stride, 0, self.dilation)


class Unpool(nn.Module):
    """The image's sizes are an argument of the layer, not of a call."""
    def __init__(self, kind, output_size=None, **args):
        super().__init__()
        self.made, self.output_size = getattr(nn, kind)(**args), output_size

    def forward(self, x, positions):
        return self.made(x, positions, self.output_size)


class Lstm(nn.LSTM):
    """Initial states are inputs of their own, not a pair."""
    def forward(self, x, *states):
        return super().forward(x, states or None)


class LstmCell(nn.LSTMCell):
    def forward(self, x, *states):
        return super().forward(x, states or None)


class Graph(nn.Module):
    """The layers of a model or module: values by name, children by layer name."""
    def __init__(self, spec, layers, inputs, outputs):
        super().__init__()
        self.inputs, self.wires, previous = list(inputs), [], None
        object.__setattr__(self, "home", self)  # who holds its own tensors
        for position, layer in enumerate(layers):
            name = layer.get("name", str(position))
            if layer["type"] == "Parameter":
                self.register_parameter(name, nn.Parameter(torch.zeros(layer["shape"])))
            elif layer["type"] == "Buffer":
                self.register_buffer(name, torch.zeros(layer["shape"], dtype=DTYPES[layer.get("dtype", "float32")]))
            else:
                self.add_module(name, build(spec, layer))
            if layer.get("trainable") is False:
                for parameter in self._modules[name].parameters() if name in self._modules else [self._parameters[name]]:
                    parameter.requires_grad_(False)
            given = [] if layer["type"] in ("Parameter", "Buffer", "Constant") else None
            sources = layer.get("inputs") or ([previous] if previous else self.inputs) if given is None else given
            self.wires.append((name, sources))
            previous = name
        self.outputs = outputs or [previous]

    def forward(self, *xs):
        values = dict(zip(self.inputs, xs))
        for name, sources in self.wires:
            own = name in self._modules
            results = flat(self._modules[name](*[values[s] for s in sources]) if own else getattr(self.home, name))
            values[name] = results[0]
            values.update({f"{name}:{i}": r for i, r in enumerate(results)})
        outs = [values[o] for o in self.outputs]
        return outs[0] if len(outs) == 1 else tuple(outs)


class Parallel(nn.Module):
    """DataParallel over `replicas` devices, or over its own device_ids when it names them."""
    replicas = 1

    def __init__(self, module, device_ids, dim):
        super().__init__()
        self.module, self.device_ids, self.dim = module, device_ids, dim

    def forward(self, *xs):
        n = len(self.device_ids) if self.device_ids is not None and Parallel.replicas > 1 else Parallel.replicas
        # Inputs of the model without a batch dimension are whole on each device.
        chunks = [None if getattr(x, "whole", False) else torch.chunk(x, n, self.dim) for x in xs]
        count = next(len(c) for c in chunks if c is not None)
        pieces = list(zip(*[[x] * count if c is None else c for x, c in zip(xs, chunks)]))
        buffers = [(m, k, b.clone()) for m in self.module.modules() for k, b in m._buffers.items() if b is not None]
        results, kept = [], None
        for piece in pieces:
            for m, k, b in buffers:
                m._buffers[k] = b.clone()
            results.append(flat(self.module(*piece)))
            if kept is None:
                kept = [(m, k, m._buffers[k]) for m, k, _ in buffers]
        for m, k, b in kept:
            m._buffers[k] = b
        return tuple(torch.cat(parts, self.dim) for parts in zip(*results))


def build(spec, layer):
    kind, args = layer["type"], {k: v for k, v in layer.items() if k not in NOT_ARGS}
    if kind == "DataParallel":
        return Parallel(build(spec, layer["module"]), args.get("device_ids"), args.get("dim", 0))
    if kind == "Sequential":
        return Graph(spec, layer["layers"], ["input"], None)
    if kind in spec.get("modules", {}):
        module = spec["modules"][kind]
        params = {**module.get("params", {}), **args}
        return Graph(spec, substitute(module["layers"], params), module.get("inputs", ["input"]), module.get("outputs"))
    if kind == "MultiheadAttention":
        return Attention({k: args.pop(k) for k in MASKS if k in args}, **args)
    if kind in ("MaxPool1d", "MaxPool3d", "AvgPool1d", "AvgPool3d", "ConvTranspose1d", "ConvTranspose3d", "AdaptiveAvgPool1d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
                "AdaptiveMaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d", "Unflatten"):
        args = {k: tuple(v) if isinstance(v, list) else v for k, v in args.items()}
    if kind in Transforming.FLAGS:
        return Transforming(kind, args)
    if kind.startswith("MaxUnpool"):
        return Unpool(kind, **args)
    if kind in FUNCTIONS:
        return Fn(FUNCTIONS[kind](args))
    if kind == "LSTMCell":
        return LstmCell(**args)
    args = {k: tuple(v) if k == "padding" and isinstance(v, list) else v for k, v in args.items()}
    if kind == "LSTM":
        return Lstm(**args)
    if kind == "MaxPool2d":
        return MaxPool2d(**args)
    if kind == "AdaptiveAvgPool2d" and isinstance(args["output_size"], list):
        args["output_size"] = tuple(args["output_size"])
    return getattr(nn, kind)(**args)


class Model(nn.Module):
    def __init__(self, spec):
        super().__init__()
        graph = Graph(spec, spec["layers"], spec["inputs"], spec.get("outputs"))
        for name, child in graph.named_children():
            self.add_module(name, child)
        for name, parameter in graph.named_parameters(recurse=False):
            self.register_parameter(name, parameter)
        for name, buffer in graph.named_buffers(recurse=False):
            self.register_buffer(name, buffer)
        object.__setattr__(graph, "home", self)
        object.__setattr__(self, "graph", graph)
        self.without_rows = ["batch" not in decl["shape"] for decl in spec["inputs"].values()]
        for layer in spec["layers"]:
            if isinstance(layer.get("share"), str):
                for holder in (graph, self):
                    holder._modules[layer["name"]] = self.get_submodule(layer["share"])
                continue
            for own, other in layer.get("share", {}).items():
                setattr(self.get_submodule(layer["name"]), own, self.get_parameter(other))

    def forward(self, *xs):
        for x, whole in zip(xs, self.without_rows):
            x.whole = whole and not all(self.without_rows)
        return self.graph(*xs)

    def train(self, mode=True):
        self.graph.train(mode)
        return super().train(mode)
