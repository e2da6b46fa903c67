"""A Function as an operation of PyTorch's autograd."""
import torch
from torch.autograd.function import once_differentiable

from .differentiable import Kept


def apply(function, inputs):
    """The outputs of a Function for the module's input tensors: a list. Buffers get their new values."""
    tensors = function.given(inputs)
    if torch.is_grad_enabled() and any(tensors[i].requires_grad for i in function.gradients):
        return list(_Pass.apply(function, *tensors))
    with torch.no_grad():
        dense, sizes = function.dense(tensors)
        session = function.session(sizes, False)
        outputs = _forward(function, session, dense, function.randomness())
        function.give_back(sizes, False, session)
        _update(function, tensors, outputs)
    return outputs[:function.results]


def _forward(function, session, dense, randomness):
    outputs = [torch.empty(shape, dtype=dtype) for shape, dtype in zip(session.output_shapes, function.dtypes)]
    session._forward([tensor.data_ptr() for tensor in dense], [tensor.data_ptr() for tensor in outputs], *randomness)
    return outputs


def _update(function, tensors, outputs):
    for place, value in zip(function.updated, outputs[function.results:]):
        tensors[place].copy_(value)


class _Pass(torch.autograd.Function):
    @staticmethod
    def forward(ctx, function, *tensors):
        dense, sizes = function.dense(tensors)
        ctx.function, ctx.sizes, ctx.randomness = function, sizes, function.randomness()
        session = function.session(sizes, True)
        outputs = _forward(function, session, dense, ctx.randomness)
        ctx.kept = Kept(function, sizes, session)
        function.keep(ctx.kept)
        _update(function, tensors, outputs)
        # No backward pass needs the old value of buffers that have changed already.
        ctx.buffers = {i: dense[i] for i in function.updated}
        ctx.save_for_backward(*(tensor for i, tensor in enumerate(dense) if i not in ctx.buffers))
        results = outputs[:function.results]
        # Detached: their place in autograd's graph would keep this context alive.
        ctx.results = [(result.detach(), result._version) for result in results]
        ctx.mark_non_differentiable(*(result for i, result in enumerate(results) if i not in function.seeded))
        return tuple(results)

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients):
        function, saved = ctx.function, iter(ctx.saved_tensors)
        dense = [ctx.buffers[i] if i in ctx.buffers else next(saved) for i in range(len(function.tensors))]
        session = ctx.kept.lose()
        # A later pass took the session over, the pass was already done once (retain_graph), or results were overwritten since:
        # the forward pass is repeated.
        if session is None or any(result._version != version for result, version in ctx.results):
            session = session or function.session(ctx.sizes, True)
            again = _forward(function, session, dense, ctx.randomness)  # noqa: F841: must live until the end
        seeds = [gradients[i].contiguous() for i in function.seeded]
        found = [torch.empty(shape, dtype=dense[place].dtype) for shape, place in zip(session.gradient_shapes, function.gradients)]
        session._backward([seed.data_ptr() for seed in seeds], [gradient.data_ptr() for gradient in found])
        function.give_back(ctx.sizes, True, session)
        results = [None] * len(dense)
        for place, gradient in zip(function.gradients, found):
            results[place] = gradient
        return (None, *results)
