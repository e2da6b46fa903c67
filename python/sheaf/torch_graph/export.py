"""torch.export with a batch and lengths of any size, in the module's training or evaluation mode."""
import contextlib
import functools
import inspect
import os
import traceback
import unittest.mock
import warnings

import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils import _pytree

from ..error import Diagnostic, Error
from .attention_call import as_one_call
from .checkpoint_call import checkpoints_pass_through
from .examples import unwrapped
from .experts import experts_by_row
from .recurrent_call import recurrent_as_one_call

_NOT_THE_USERS = tuple(os.path.dirname(path) + os.sep for path in (torch.__file__, os.path.dirname(__file__)))


def user_line(frames):
    """The innermost of the (file, line, text) frames that is neither PyTorch's code nor this package's, or None."""
    own = [frame for frame in frames if not frame[0].startswith(_NOT_THE_USERS) and not frame[0].startswith("<")]
    return own[-1] if own else None


@contextlib.contextmanager
def _data_parallel_passes_through():
    """The modules' paths contain the region that a DataParallel stands for; its scatter and gather are the compiler's."""
    forward = torch.nn.DataParallel.forward
    torch.nn.DataParallel.forward = lambda self, *inputs, **keywords: self.module(*inputs, **keywords)
    try:
        yield
    finally:
        torch.nn.DataParallel.forward = forward


@contextlib.contextmanager
def _named_keywords(module, keywords):
    """torch.export has no name for an input that `forward` takes as one of its **keywords: meanwhile, the signature
    lists the given ones."""
    signature = inspect.signature(module.forward)
    listed = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    if len(listed) == len(signature.parameters):
        yield
        return
    forward = module.forward
    extra = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in keywords if name not in signature.parameters]

    @functools.wraps(forward)
    def with_names(*arguments, **named):
        return forward(*arguments, **named)

    with_names.__signature__ = signature.replace(parameters=[*listed, *extra])
    with unittest.mock.patch.object(module, "forward", with_names):
        yield


@contextlib.contextmanager
def _outputs_without_objects(module, notes):
    """torch.export refuses objects that a module returns beside tensors, such as transformers' caches for the next call:
    inside this context, the module returns None in their places, and `notes` say so."""
    forward = module.forward

    def kept(leaf):
        if leaf is None or isinstance(leaf, (torch.Tensor, int, float, bool, str, torch.SymInt, torch.SymFloat, torch.SymBool)):
            return leaf
        note = f"the {type(leaf).__name__} that the module returns isn't an output of the model file: outputs are tensors"
        if note not in notes:
            notes.append(note)
        return None

    @functools.wraps(forward)
    def of_tensors(*arguments, **named):
        return _pytree.tree_map(kept, forward(*arguments, **named))

    with unittest.mock.patch.object(module, "forward", of_tensors):
        yield


def in_training(module):
    """Whether a module is in training mode: one that is put into evaluation mode and wrapped in a DataParallel then is in evaluation mode."""
    return unwrapped(module).training


@contextlib.contextmanager
def _mode(module, training):
    before = {m: m.training for m in module.modules()}
    if in_training(module) != training:
        module.train(training)
    try:
        yield
    finally:
        for m, was in before.items():
            m.training = was


@contextlib.contextmanager
def _where_sizes_are_fixed(frames):
    """`frames` receives the call stack of the code that first takes a size of any number for one number, from the module's call
    on. torch.export reports this only at the end, when the module's code has returned."""
    replace = ShapeEnv._set_replacement

    def noted(self, symbol, value, *rest):
        if value.is_number and not frames:
            stack = traceback.extract_stack()
            begin = next(i for i, frame in enumerate(stack) if frame.filename == __file__ and frame.name == export.__name__)
            frames.extend((f.filename, f.lineno, f.line or "") for f in stack[begin:])
        return replace(self, symbol, value, *rest)

    with unittest.mock.patch.object(ShapeEnv, "_set_replacement", noted):
        yield


def export(module, examples, training, notes):
    """The ExportedProgram of `module` in that mode, with the batch's size and the lengths symbols. `notes` receives what it leaves out."""
    arguments, keywords = examples.with_rows()
    fixed = []
    shapes = examples.dynamic_shapes()
    try:
        with _mode(module, training), _data_parallel_passes_through(), _named_keywords(module, keywords), \
                _outputs_without_objects(module, notes), experts_by_row(module, notes), as_one_call(), recurrent_as_one_call(), \
                checkpoints_pass_through(), _where_sizes_are_fixed(fixed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.export.export(module, arguments, keywords, dynamic_shapes=shapes, strict=False)
    except Error:
        raise
    except Exception as problem:  # torch.export raises many kinds, none of them documented
        raise Error([_diagnostic(problem, fixed, examples.has_lengths)]) from problem


def _diagnostic(problem, fixed, lengths):
    """What went wrong, at the module's line that raised it, or else at the one that fixed a size."""
    frames = [(f.filename, f.lineno, f.line or "") for f in traceback.extract_tb(problem.__traceback__)]
    place = user_line(frames) or user_line(fixed)
    reason = str(problem).strip().split("\n\n")[0].strip()
    message = (f"torch.export can't follow the module with a batch{' and lengths' if lengths else ''} of any size: {reason}\n"
               "  What helps: take the number of rows from the input (x.shape[0]), say with batch_dim which dimension of an input is the batch, "
               "and make no decision in Python on a tensor's values")
    return Diagnostic(message, *(place[:2] if place else ()), source=place[2] if place else "")
