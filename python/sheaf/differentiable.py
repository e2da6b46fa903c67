"""A torch.nn.Module's forward and backward passes in sheaf, on the module's own tensors."""
import threading
import weakref

import torch

from . import _sheaf
from .error import Error
from .plan import compile
from .torch_graph import from_torch

# This many forward passes keep what their backward pass needs; for earlier ones it is computed again.
_MOST_KEPT = 8
# This many sizes, of the batch and lengths, stay bound.
_MOST_SIZES = 8
_DEPEND_ON_MODE = (torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd)


class Function:
    """The function of `region` in its module's mode: a torch.nn.DataParallel around a module, or a module.

    `wanted` are names of the module's parameters, and positions of input tensors, whose gradients may be needed. `lengths` as for from_torch().
    Errors: sheaf.Error with the line of the module's code for each operation that can't be taken."""

    def __init__(self, region, arguments, keywords, batch_dim, devices, wanted, precision, numerics, lengths=None):
        module = region.module if isinstance(region, torch.nn.DataParallel) else region
        _check_modes(module)
        file = from_torch(region, arguments, keywords, batch_dim=batch_dim, lengths=lengths)
        inside = "module." if module is not region else ""
        sources = {name: source.removeprefix(inside) for name, source in file.sources.items()}
        inputs = list(file.json["inputs"])
        tensors = {id(module.get_parameter(w)) for w in wanted if isinstance(w, str)}  # a tied one has several names
        differentiate = [inputs[w] for w in wanted if isinstance(w, int)]
        differentiate += [file.prefix + name for name, source in sources.items() if id(_tensor(module, source)) in tensors]
        self.plan = compile(file, precision=precision, gradients="train" if module.training else "eval", gradients_of=differentiate)
        self.devices, self.numerics = devices, numerics
        self.function = _sheaf.Differentiable(self.plan)
        self.output_tree = file.output_tree
        self._find_tensors(module, inputs, {_short(name): source for name, source in sources.items()}, file.prefix)
        self._lock, self._free, self._kept, self._checked = threading.Lock(), {}, [], {}

    def _find_tensors(self, module, inputs, sources, prefix):
        """Finds the module's input, parameter or buffer for each of the plan's inputs, and what its outputs belong to."""
        values, outputs = self.function.inputs, [value.name for value in self.function.outputs]
        place = {value.name: i for i, value in enumerate(values)}
        self.tensors = []  # a position among the module's inputs, or (module, own name)
        for value in values:
            if value.name in inputs:
                self.tensors.append(inputs.index(value.name))
                continue
            name = _short(value.name.removeprefix(prefix))
            path, _, own = sources.get(name, name).rpartition(".")
            self.tensors.append((module.get_submodule(path), own))
        self.sizes_at = {}  # the batch and the lengths: (a value, a dimension) that says what number they are
        for value in (value for value in values if value.name in inputs):
            for dim, size in enumerate(value.shape):
                if isinstance(size, str):
                    self.sizes_at.setdefault(size, (place[value.name], dim))
        if "batch" not in self.sizes_at:
            raise Error("no input has rows that could be split")
        self.updated = [place[name] for name in outputs if name in place]  # the last outputs: buffers' new values
        self.results = len(outputs) - len(self.updated)
        self.gradients = [place[value.name.removesuffix(".grad")] for value in self.function.gradients]
        seeded = {value.name.removesuffix(".grad") for value in self.function.output_gradients}
        self.seeded = [i for i, name in enumerate(outputs[:self.results]) if name in seeded]
        self.dtypes = [getattr(torch, value.dtype) for value in self.function.outputs]

    def given(self, inputs):
        """Everything a pass takes: from the module's input tensors, and from the module."""
        return [inputs[t] if isinstance(t, int) else getattr(*t) for t in self.tensors]

    def takes(self, inputs):
        """Whether the module's input tensors have sizes that the function was compiled for; their types and ranks fit."""
        tensors = self.given(inputs)
        numbers = self._numbers(tensors)
        fit = all(tuple(tensor.shape) == _sizes(value, numbers) for tensor, value in zip(tensors, self.function.inputs))
        return fit and all(largest is None or 1 <= numbers[name] <= largest for name, largest in self.function.lengths.items())

    def dense(self, tensors):
        """(the tensors as they are read, the number that each of sizes_at is). Copies only tensors that aren't dense. Raises Error for
        one that doesn't fit."""
        sizes = self._numbers(tensors)
        found = []
        for i, (tensor, value) in enumerate(zip(tensors, self.function.inputs)):
            tensor = tensor if tensor.is_contiguous() else tensor.contiguous()
            seen = (id(tensor), tensor.data_ptr())
            if isinstance(self.tensors[i], int) or self._checked.get(i) != seen:
                _check(tensor, value, sizes)
                self._checked[i] = seen
            found.append(tensor)
        return found, tuple(sizes.items())

    def _numbers(self, tensors):
        return {name: tensors[at].shape[dim] for name, (at, dim) in self.sizes_at.items()}

    def randomness(self):
        """Seeds for dropout, from PyTorch's generator."""
        return torch.randint(2**62, (2,)).tolist() if self.function.draws else [0, 0]

    def session(self, sizes, backward):
        """A session that keeps nothing still needed, for sizes as dense() tells them."""
        with self._lock:
            if free := self._free.get((sizes, backward)):
                return free.pop()
            self._kept = [kept for kept in self._kept if kept() is not None and kept().session is not None]
            if backward and len(self._kept) >= _MOST_KEPT:
                oldest = next((kept() for kept in self._kept if kept() is not None and kept().sizes == sizes), None)
                if oldest is not None and (session := oldest.lose()):
                    return session
        lengths = dict(sizes)
        rows = lengths.pop("batch")
        return _sheaf.DifferentiableSession(self.function, self.devices, rows, backward, numerics=self.numerics, lengths=lengths)

    def keep(self, kept):
        with self._lock:
            self._kept.append(weakref.ref(kept))

    def give_back(self, sizes, backward, session):
        with self._lock:
            self._free.setdefault((sizes, backward), []).append(session)
            while len(self._free) > _MOST_SIZES:
                self._free.pop(next(key for key in self._free if key != (sizes, backward)))


class Kept:
    """The session with the data of a backward pass; None if another pass has taken it over."""

    def __init__(self, function, sizes, session):
        self.function, self.sizes, self.session = function, sizes, session

    def lose(self):
        session, self.session = self.session, None
        return session

    def __del__(self):
        if session := self.lose():
            self.function.give_back(self.sizes, True, session)


def _short(name):
    """A parameter's name without `module`: the model file adds some containers that the module doesn't have."""
    return ".".join(part for part in name.split(".") if part != "module")


def _tensor(module, name):
    path, _, own = name.rpartition(".")
    return getattr(module.get_submodule(path), own)


def _sizes(value, numbers):
    return tuple(numbers.get(size, size) for size in value.shape)


def _check(tensor, value, numbers):
    sizes = _sizes(value, numbers)
    if tensor.device.type != "cpu":
        raise Error(f"'{value.name}' is on {tensor.device}; inputs and parameters are in host memory, whatever the devices")
    if str(tensor.dtype) != f"torch.{value.dtype}" or tuple(tensor.shape) != sizes:
        raise Error(f"'{value.name}' is {str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}; expected {value.dtype} {list(sizes)}")


def _check_modes(module):
    for name, part in module.named_modules():
        if part.training != module.training and isinstance(part, _DEPEND_ON_MODE):
            raise Error(f"'{name}', a {type(part).__name__}, is in {'training' if part.training else 'evaluation'} mode and the module isn't: a "
                        "module has one mode in sheaf")
