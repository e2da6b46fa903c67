"""nn.LSTM, nn.GRU and nn.RNN as one call each in an exported graph.

PyTorch's own operators go through the sequence while they are traced, which fixes its length. While a graph is exported, operators that
know only the shapes of their results stand in for them, with the same arguments."""
import contextlib
import unittest.mock

import torch

_OPERATORS = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def _shapes(input, state, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """The output for each step; `state` are the first hidden states, whose form the last ones have."""
    return input.new_empty([*input.shape[:-1], state.shape[-1] * (2 if bidirectional else 1)])


def _lstm(input, hx, params, *arguments):
    # Behind a projection the hidden state is smaller than the cell's, and it is what comes out.
    return _shapes(input, hx[0], params, *arguments), torch.empty_like(hx[0]), torch.empty_like(hx[1])


def _other(input, hx, params, *arguments):
    return _shapes(input, hx, params, *arguments), torch.empty_like(hx)


for _operator in _OPERATORS:
    _states, _result = ("Tensor[] hx", "(Tensor, Tensor, Tensor)") if _operator == "lstm" else ("Tensor hx", "(Tensor, Tensor)")
    torch.library.define(f"sheaf::{_operator}", f"(Tensor input, {_states}, Tensor[] params, bool has_biases, int num_layers, float dropout, "
                                                f"bool train, bool bidirectional, bool batch_first) -> {_result}")
    torch.library.register_fake(f"sheaf::{_operator}", _lstm if _operator == "lstm" else _other)


def _standing_in(operator):
    original, own = getattr(torch._VF, operator), getattr(torch.ops.sheaf, operator)

    def call(*arguments):
        packed = isinstance(arguments[3], (list, tuple))  # the weights come one later, behind the batch sizes
        return original(*arguments) if packed else own(*arguments)

    return unittest.mock.patch.object(torch._VF, operator, call, create=True)


@contextlib.contextmanager
def recurrent_as_one_call():
    """Inside this context, the recurrent layers' operators are `sheaf::lstm` and the like; on packed sequences they stay PyTorch's."""
    with contextlib.ExitStack() as stack:
        for operator in _OPERATORS:
            stack.enter_context(_standing_in(operator))
        yield
