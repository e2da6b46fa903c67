"""Recurrent layers."""
from .rows import row
from .value import Constant


def _weights(w, module, given):
    """The module's parameters, if they are what the call computes with: a weight that is computed has no place in the layer."""
    parameters = w.parameters_of(module)
    if {id(value) for value in given if value is not None} != {id(value) for value in parameters.values()}:
        raise w.refuse("has a weight that is computed", "its weights must be parameters of its module")
    return parameters


def _recurrent(operator, kind, states, **fixed):
    @row(f"aten.{operator}", f"sheaf.{operator}")  # an exported program has PyTorch's; see recurrent_call.py
    def recurrent(a, w):
        if "batch_sizes" in a:
            raise w.refuse("runs on packed sequences", "pass padded ones")
        module, x = w.module(), a["input"]
        given = a["hx"] if isinstance(a["hx"], (list, tuple)) else [a["hx"]]
        zeros = all(isinstance(h, Constant) and not any(world.count_nonzero() for world in h.worlds) for h in given)
        inputs = [x] + ([] if zeros else list(given))
        arguments = {"input_size": module.input_size, "hidden_size": module.hidden_size, "num_layers": a["num_layers"], "bias": a["has_biases"],
                     "batch_first": a["batch_first"], "dropout": a["dropout"], "bidirectional": a["bidirectional"], **fixed}
        if getattr(module, "proj_size", 0):
            arguments["proj_size"] = module.proj_size
        return w.layer(kind, inputs, results=w.shapes(), owner=w.stack[-1][1], parameters=_weights(w, module, a["params"]), **arguments)


def _cell(operator, kind, **fixed):
    @row(f"aten.{operator}")
    def cell(a, w):
        module = w.module()
        states = list(a["hx"]) if isinstance(a["hx"], (list, tuple)) else [a["hx"]]
        arguments = {"input_size": module.input_size, "hidden_size": module.hidden_size, "bias": module.bias, **fixed}
        results = {"results": w.shapes()} if len(states) > 1 else {}
        weights = _weights(w, module, [a[name] for name in ("w_ih", "w_hh", "b_ih", "b_hh")])
        return w.layer(kind, [a["input"], *states], **results, owner=w.stack[-1][1], parameters=weights, **arguments)


_cell("lstm_cell", "LSTMCell")
_cell("gru_cell", "GRUCell")
_cell("rnn_tanh_cell", "RNNCell")
_cell("rnn_relu_cell", "RNNCell", nonlinearity="relu")
_recurrent("lstm", "LSTM", 2)
_recurrent("gru", "GRU", 1)
_recurrent("rnn_tanh", "RNN", 1)
_recurrent("rnn_relu", "RNN", 1, nonlinearity="relu")
