"""Writes cpu_ops.json: library steps (docs/steps.md) with PyTorch's outputs, for tests/unit/runtime/cpu/ops_golden_test.cpp.

    python tests/golden/make_cpu_ops.py

Needs torch. Operands are multiples of 1/8, so that they are short and exact; outputs have nine digits.
"""
import json
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
cases = []


def draw(*shape, scale=8):
    return torch.randint(-16, 17, shape).float() / scale


def tensor(value, exact):
    numbers = [float(v) for v in value.detach().reshape(-1).tolist()]
    return {"dims": list(value.shape), "data": [v if exact else float(f"{v:.9g}") for v in numbers]}


def add(name, op, operands, attributes, *outputs):
    cases.append({"name": name, "op": op, "attributes": attributes,
                  "operands": [{"role": role, **tensor(value, True)} for role, value in operands.items()],
                  "outputs": [tensor(value, False) for value in outputs]})


def recurrent(name, cls, x, states=None, **arguments):
    layer = cls(x.shape[-1], 5, **arguments)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(draw(*parameter.shape, scale=16))
    y, state = layer(x, states) if states is not None else layer(x)
    state = state if isinstance(state, tuple) else (state,)
    operands = {"x": x}
    if states is not None:
        operands.update(zip(("h0", "c0"), states if isinstance(states, tuple) else (states,)))
    operands.update(layer.named_parameters())
    attributes = {"hidden_size": 5, "num_layers": layer.num_layers, "bidirectional": layer.bidirectional,
                  "batch_first": layer.batch_first, "bias": layer.bias}
    if cls is nn.RNN:
        attributes["relu"] = layer.nonlinearity == "relu"
    add(name, cls.__name__.lower(), operands, attributes, y, *state)


recurrent("lstm", nn.LSTM, draw(4, 3, 6))
recurrent("lstm_unbatched", nn.LSTM, draw(4, 6), (draw(1, 5), draw(1, 5)))
recurrent("lstm_two_layers_both_ways_batch_first", nn.LSTM, draw(3, 4, 6), (draw(4, 3, 5), draw(4, 3, 5)),
          num_layers=2, bidirectional=True, batch_first=True)
recurrent("lstm_without_bias", nn.LSTM, draw(2, 2, 3), bias=False)
recurrent("gru", nn.GRU, draw(4, 3, 6))
recurrent("gru_unbatched_both_ways", nn.GRU, draw(4, 6), draw(2, 5), bidirectional=True)
recurrent("gru_three_layers_batch_first", nn.GRU, draw(3, 4, 6), draw(3, 3, 5), num_layers=3, batch_first=True)
recurrent("gru_without_bias", nn.GRU, draw(2, 2, 3), bias=False)


def pool(name, op, x, **arguments):
    attributes = {"kernel_size": [3, 2], "stride": [2, 2], "padding": [0, 0], "ceil_mode": False, **arguments}
    if op == "max_pool":
        y = F.max_pool2d(x, **attributes)
    else:
        y = F.avg_pool2d(x, **{**attributes, "divisor_override": arguments.get("divisor_override") or None})
    add(name, op, {"x": x}, attributes, y)


for ceil in (False, True):
    for size in ((6, 7), (7, 8), (5, 5)):
        label = f"{'ceil' if ceil else 'floor'}_{size[0]}x{size[1]}"
        x = draw(2, 3, *size)
        pool(f"max_pool_{label}", "max_pool", x, padding=[1, 1], ceil_mode=ceil)
        pool(f"avg_pool_{label}", "avg_pool", x, padding=[1, 1], ceil_mode=ceil)
        pool(f"avg_pool_{label}_without_padding_counted", "avg_pool", x, padding=[1, 1], ceil_mode=ceil,
             count_include_pad=False)
        pool(f"avg_pool_{label}_divisor", "avg_pool", x, padding=[1, 1], ceil_mode=ceil, divisor_override=5)
pool("max_pool_dilated", "max_pool", draw(1, 2, 9, 9), dilation=[2, 3], padding=[1, 0])
pool("avg_pool_last_window_dropped", "avg_pool", draw(1, 1, 4, 4), kernel_size=[2, 2], stride=[3, 3], padding=[1, 1],
     ceil_mode=True)

for size, wanted in (((5, 7), (3, 3)), ((6, 6), (3, 2)), ((7, 7), (1, 1)), ((2, 3), (5, 4)), ((8, 5), (5, 5))):
    x = draw(2, 3, *size)
    add(f"adaptive_avg_pool_{size[0]}x{size[1]}_to_{wanted[0]}x{wanted[1]}", "adaptive_avg_pool", {"x": x}, {},
        F.adaptive_avg_pool2d(x, wanted))

ACTIVATIONS = {
    "relu": ({}, F.relu), "leaky_relu": ({"negative_slope": 0.25}, lambda x: F.leaky_relu(x, 0.25)),
    "elu": ({"alpha": 0.5}, lambda x: F.elu(x, 0.5)), "silu": ({}, F.silu), "gelu": ({}, F.gelu),
    "gelu_tanh": ({}, lambda x: F.gelu(x, approximate="tanh")), "tanh": ({}, torch.tanh),
    "sigmoid": ({}, torch.sigmoid), "hardtanh": ({"min_val": -2, "max_val": 0.5}, lambda x: F.hardtanh(x, -2, 0.5))}
for kind, (constants, function) in ACTIVATIONS.items():
    x, weight, bias = draw(4, 6), draw(5, 6), draw(5)
    add(f"linear_{kind}", "linear", {"x": x, "weight": weight, "bias": bias},
        {"activation": {"kind": kind, **constants}}, function(F.linear(x, weight, bias)))

x, weight, bias = draw(2, 4, 7, 6), draw(6, 2, 3, 2), draw(6)
y = F.conv2d(F.pad(x, (1, 2, 0, 1)), weight, bias, stride=(2, 1), dilation=(1, 2), groups=2)
residual = draw(*y.shape)
add("conv_groups_dilation_uneven_padding_residual", "conv",
    {"x": x, "weight": weight, "bias": bias, "residual": residual},
    {"stride": [2, 1], "padding_begin": [0, 1], "padding_end": [1, 2], "dilation": [1, 2], "groups": 2,
     "activation": {"kind": "silu"}}, F.silu(y + residual))
x, weight = draw(2, 3, 9), draw(4, 3, 3)
add("conv_1d", "conv", {"x": x, "weight": weight},
    {"stride": [2], "padding_begin": [1], "padding_end": [1], "dilation": [1], "groups": 1},
    F.conv1d(x, weight, stride=2, padding=1))
x, weight, bias = draw(2, 4, 3, 4), draw(4, 3, 3, 2), draw(6)
add("conv_transpose_groups_output_padding", "conv_transpose", {"x": x, "weight": weight, "bias": bias},
    {"stride": [2, 3], "padding": [1, 0], "output_padding": [1, 2], "dilation": [1, 2], "groups": 2},
    F.conv_transpose2d(x, weight, bias, stride=(2, 3), padding=(1, 0), output_padding=(1, 2), dilation=(1, 2), groups=2))
x, weight = draw(2, 2, 5), draw(2, 3, 3)
add("conv_transpose_1d_output_padding_beyond_stride", "conv_transpose", {"x": x, "weight": weight},
    {"stride": [1], "padding": [0], "output_padding": [2], "dilation": [3], "groups": 1},
    F.conv_transpose1d(x, weight, output_padding=2, dilation=3))

for name, a, b in (("vectors", (6,), (6,)), ("vector_matrix", (6,), (6, 4)), ("matrix_vector", (3, 6), (6,)),
                   ("batch_vector", (2, 3, 6), (6,)), ("broadcast", (2, 1, 3, 6), (4, 6, 2)),
                   ("vector_batch", (6,), (2, 6, 3)), ("nothing", (3, 0), (0, 2))):
    a, b = draw(*a), draw(*b)
    add(f"matmul_{name}", "matmul", {"a": a, "b": b}, {}, torch.matmul(a, b))

recurrent("rnn", nn.RNN, draw(4, 3, 6), draw(1, 3, 5))
recurrent("rnn_relu_two_layers_both_ways", nn.RNN, draw(4, 3, 6), num_layers=2, bidirectional=True, nonlinearity="relu")

path = pathlib.Path(__file__).with_name("cpu_ops.json")
lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
path.write_text(f'{{"torch": "{torch.__version__.split("+")[0]}", "cases": [\n{lines}\n]}}\n')
print(f"{len(cases)} cases, {path.stat().st_size} bytes")
