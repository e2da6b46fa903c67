"""LSTM and GRU: ONNX orders their gates differently from PyTorch."""
import torch
from torch import nn

from .operators import operator
from .weights import Layer

_GATES = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}  # PyTorch's gates, by their position in ONNX


def _recurrent(node, weights):
    a, kind = node.attributes, node.kind
    names = [*node.inputs, "", "", "", "", ""]
    w, r = weights.tensor(names[1]), weights.tensor(names[2])
    b = weights.tensor(names[3])
    if w is None or r is None or names[3] and b is None:
        raise ValueError("has weights that are computed")
    activations = [name.lower() for name in a.get("activations") or []]
    usual = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"], "RNN": ["tanh"]}[kind]
    directions = w.shape[0]
    if activations and activations != usual * directions or names[4] or names[7] or a.get("clip") or a.get("input_forget") or a.get("direction") == "reverse" or \
            a.get("layout") or kind == "GRU" and not a.get("linear_before_reset"):
        raise ValueError("isn't one of PyTorch's: other activations, sequence lengths, peepholes, a clip, only the reverse direction, rows first, or a GRU whose reset "
                         "gate comes before the product")
    hidden = r.shape[2]
    layer = getattr(nn, kind)(w.shape[2], hidden, bias=b is not None, bidirectional=directions == 2)
    order = _GATES[kind]

    def gates(matrix):
        parts = matrix.split(hidden)
        return torch.cat([parts[i] for i in order])

    with torch.no_grad():
        for d in range(directions):
            suffix = "_reverse" if d else ""
            own = {"weight_ih": gates(w[d]), "weight_hh": gates(r[d])}
            if b is not None:
                half = len(order) * hidden
                own |= {"bias_ih": gates(b[d][:half]), "bias_hh": gates(b[d][half:])}
            for name, value in own.items():
                getattr(layer, f"{name}_l0{suffix}").copy_(value)
    weights.put(weights.path(node, {}), layer)
    states = [name for name in (names[5], names[6] if kind == "LSTM" else "") if name]

    def run(x, *given):
        start = (tuple(given) if kind == "LSTM" else given[0]) if given else None
        y, last = layer(x, start) if start is not None else layer(x)
        # [sequence, rows, directions · hidden] in ONNX's order: [sequence, directions, rows, hidden]
        y = y.unflatten(2, (directions, hidden)).transpose(1, 2) if directions == 2 else y.unsqueeze(1)
        return (y, *last) if kind == "LSTM" else (y, last)

    return Layer(run, [names[0], *states], (lambda made: made[:len(node.outputs)]) if len(node.outputs) > 1 else lambda made: made[0])


@operator("LSTM", "GRU", "RNN", layer=_recurrent)
def recurrent(node, *inputs):
    raise ValueError("has weights that are computed")
