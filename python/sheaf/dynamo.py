"""torch.compile(module, backend="sheaf"): graphs that TorchDynamo captures, run by sheaf."""
import logging

import torch

from . import _sheaf
from .autograd import apply
from .differentiable import Function
from .error import Diagnostic, Error

_log = logging.getLogger(__name__)
_told = set()


def backend(graph, inputs, *, options=None, **_):
    """A callable equivalent to `graph`, a torch.fx.GraphModule. Graphs that sheaf can't compile stay with PyTorch; the logger
    `sheaf.dynamo` logs each reason once.

    torch.compile's `options`: `devices` ("cpu"): other lists split rows along `dim` (0); `precision`, `numerics`, `threads`, as in
    sheaf.nn.DataParallel."""
    return _Compiled(graph, inputs, **(options or {}))


class _Compiled:
    """Compiles at its first call: TorchDynamo doesn't expect a module to be exported while it makes its guards."""

    def __init__(self, graph, inputs, devices="cpu", dim=0, precision="f32", numerics="strict", threads=0):
        self._graph, self._sizes = graph, [value if isinstance(value, torch.SymInt) else None for value in inputs]
        self._devices = _sheaf.DeviceList(devices, threads=threads)
        self._how = {"batch_dim": dim, "devices": self._devices, "precision": precision, "numerics": numerics}
        self._function = None
        self.run = self._first

    @torch.compiler.disable
    def __call__(self, *inputs):
        return self.run(*inputs)

    def _first(self, *inputs):
        try:
            self._function = self._compile(inputs)
            self.run = self._in_sheaf
        except Error as problem:
            for reason in problem.diagnostics or (Diagnostic(str(problem)),):
                if reason.message not in _told:
                    _told.add(reason.message)
                    _log.warning("a graph of %s stays PyTorch's: %s", _places(self._graph), reason)
            self.run = self._graph.forward
        return self.run(*inputs)

    def _in_sheaf(self, *inputs):
        return self._function.output_tree.rebuilt(apply(self._function, inputs))

    def _compile(self, inputs):
        region = _Region(self._graph, [size if size is not None else value for size, value in zip(self._sizes, inputs)])
        given = [inputs[i] for i in region.given]
        wanted = [name for name, parameter in region.named_parameters() if parameter.requires_grad]
        wanted += [i for i, tensor in enumerate(given) if tensor.requires_grad]
        if not any(tensor.dim() for tensor in given):
            raise Error("it has no input whose rows could be split")
        function = Function(region, tuple(tensor.detach() for tensor in given), {}, wanted=wanted, **self._how)
        # One graph serves all equal modules, each with its own tensors: all of them are among the graph's inputs.
        places, names = {name: i for i, name in region.own.items()}, {part: path for path, part in region.named_modules()}
        function.tensors = [region.given[t] if isinstance(t, int) else places[_joined(names[t[0]], t[1])] for t in function.tensors]
        return function


class _Region(torch.nn.Module):
    """`graph` as a module that owns the parameters and buffers it takes as inputs: `own`, position → name. `given` are
    the positions of the other tensors."""

    def __init__(self, graph, inputs):
        super().__init__()
        self.own, self.given, self._sizes, self._plain = {}, [], {}, {}
        nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
        sources = [getattr(node, "_dynamo_source", None) for node in nodes]
        for i, (source, value) in enumerate(zip(sources, inputs)):
            path = _path(source)
            if isinstance(value, torch.Tensor) and path:
                self.own[i] = self._register(path, value)
            elif isinstance(value, torch.Tensor):
                self.given.append(i)
            elif isinstance(value, torch.SymInt):
                tensor = next((k for k, other in enumerate(sources) if other is not None and other == getattr(source, "base", None)), None)
                if tensor is None:
                    raise Error("a number that isn't a size of an input differs from call to call")
                self._sizes[i] = tensor, source.idx
            else:
                self._plain[i] = value
        self._count, self._call = len(nodes), graph.forward
        self.train(_trains(graph))

    def _register(self, path, value):
        module = self
        for part in path[:-1]:
            if part not in module._modules:
                module.add_module(part, torch.nn.Module())
            module = module._modules[part]
        if isinstance(value, torch.nn.Parameter):
            module.register_parameter(path[-1], value)
        else:
            module.register_buffer(path[-1], value)
        return ".".join(path)

    def forward(self, *given):
        tensors = {**dict(zip(self.given, given)), **{i: _tensor_of(self, name) for i, name in self.own.items()}}
        sizes = {i: tensors[tensor].shape[dim] for i, (tensor, dim) in self._sizes.items()}
        every = {**tensors, **sizes, **self._plain}
        return self._call(*(every[i] for i in range(self._count)))


def _joined(path, own):
    return f"{path}.{own}" if path else own


def _tensor_of(module, name):
    path, _, own = name.rpartition(".")
    return getattr(module.get_submodule(path), own)


def _path(source):
    """The position of a tensor in a module, as TorchDynamo remembers it: ("0", "weight"). Empty if it isn't a parameter or
    buffer."""
    path, own = [], False
    while source is not None:
        member, index = getattr(source, "member", None), getattr(source, "index", None)
        own |= member in ("_parameters", "_buffers")
        if isinstance(index, str):
            path.append(index)
        source = getattr(source, "base", None)
    return tuple(reversed(path)) if own else ()


def _trains(graph):
    """Whether the graph's layers are in training mode. Raises Error if some are and some aren't."""
    modes = set()
    for node in graph.graph.nodes:
        if node.op == "call_function" and getattr(node.target, "__name__", "") in ("batch_norm", "dropout", "dropout1d", "dropout2d", "dropout3d"):
            position = {"batch_norm": 5}.get(node.target.__name__, 2)
            modes.add(bool(node.kwargs.get("training", node.args[position] if len(node.args) > position else False)))
    if len(modes) > 1:
        raise Error("some of its layers are in training mode and some aren't")
    return modes == {True}


def _places(graph):
    """The modules that the graph comes from."""
    for node in graph.graph.nodes:
        for _, (_, kind) in (node.meta.get("nn_module_stack") or {}).items():
            return getattr(kind, "__name__", str(kind))
    return f"{len(graph.graph.nodes)} operations"
