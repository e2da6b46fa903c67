"""From arranged layers to the model file's JSON."""
import base64
import inspect
import math
import zlib

import torch

from ..error import Diagnostic
from .extent import Extent
from .scopes import Scope
from .value import DTYPES, Input, Result

_CONTAINERS = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)


def free_name(stem, taken):
    """The name, followed by underscores while it is taken."""
    while stem in taken:
        stem += "_"
    return stem


class Document:
    """Writes `root` as a model file. `prefix` comes before PyTorch's names in the model file."""

    def __init__(self, root, inputs, outputs, module, prefix=""):
        self.root, self.inputs, self.outputs, self.module, self.prefix = root, inputs, outputs, module, prefix
        self.definitions, self.layer_at, self.home = {}, {}, {}
        self.around, self.full = (), set()  # the names of the containers being written, and all full names
        self.places = []  # (entry, Diagnostic): the code that layers were imported from

    def modules(self):
        return self.definitions

    def body(self, scope, given):
        """(layers, value → name) of a scope; `given` maps its inputs' values to names."""
        names, taken, layers = dict(given), set(given.values()), []
        previous = list(given)
        for item in scope.items:
            entry, results = self._scope(item, scope, names, taken) if isinstance(item, Scope) else self._layer(item, scope, names, taken)
            entry.update({"checkpoint": True} if item.checkpoint else {})
            sources = self.inputs.get(item, []) if isinstance(item, Scope) else item.inputs
            if sources != previous and sources:
                entry["inputs"] = [names[value] for value in sources]
            layers.append(dict(sorted(entry.items(), key=lambda field: _ORDER.get(field[0], 9))))
            self._place(layers[-1], item)
            for index, value in enumerate(results):
                names[value] = entry["name"] if index == 0 else f"{entry['name']}:{index}"
            previous = results[:1]
        return layers, names

    def _layer(self, layer, scope, names, taken):
        path = layer.owner or layer.hint or ".".join([*[layer.stack[-1][1]][:1], layer.type.lower()] if layer.stack else [layer.type.lower()])
        name = self._name(path, scope, taken)
        entry = {"name": name, "type": layer.type, **arguments_of(layer)}
        if layer.owner is not None:
            repeated = self.layer_at.setdefault(layer.owner, layer) is not layer
            homes = {own: self.home.setdefault(parameter, f"{layer.owner}.{own}") for own, parameter in layer.parameters.items()}
            if repeated and all(own and home == f"{layer.owner}.{own}" for own, home in homes.items()):
                entry["share"] = self.prefix + layer.owner  # buffers, too
            else:
                tied = {own: self.prefix + home for own, home in homes.items() if repeated or own and home != f"{layer.owner}.{own}"}
                entry.update({"share": tied} if tied else {})
        return entry, layer.results

    def _place(self, entry, item):
        if not isinstance(item, Scope) and item.source is not None:
            self.places.append((entry, Diagnostic(item.operator, item.source.file, item.source.line, source=item.source.text)))

    @staticmethod
    def names_in(scope):
        """The names that parameters' owners need within a scope: nothing else may have them."""
        paths = [item.path if isinstance(item, Scope) else item.owner for item in scope.items]
        return {path[len(scope.path) + 1:] if scope.path else path for path in paths if path}

    def _name(self, path, scope, taken):
        """The path's name in a scope: unique there, and its full name unique in the whole file (a module may be called
        in two places)."""
        name = path[len(scope.path) + 1:] if scope.path else path
        free, count = name, 0
        while free in taken or self._full(free) in self.full:
            count += 1
            free = f"{name}_{count}"
        taken.add(free)
        self.full.add(self._full(free))
        return free

    def _full(self, name):
        return ".".join((*self.around, name))

    def _scope(self, scope, around, names, taken):
        name = self._name(scope.path, around, taken)
        sources, results = self.inputs.get(scope, []), self.outputs.get(scope, [])
        owner = self.module.get_submodule(scope.path)
        outside, self.around = self.around, (*self.around, name)
        region = isinstance(owner, torch.nn.DataParallel)
        entry = self.region(owner, scope, sources, results) if region else self._container(scope, owner, sources, results)
        self.around = outside
        return {"name": name, **entry}, results

    def region(self, owner, scope, sources, results):
        """A DataParallel around the contents of `scope`."""
        entry = {"type": "DataParallel"}
        item = scope.items[0]
        if len(scope.items) == 1 and not isinstance(item, Scope) and item.inputs == sources and item.results[:1] == results:
            inside = self._layer(item, scope, {}, set())[0]
            self._place(inside, item)
        elif len(scope.items) == 1 and isinstance(item, Scope) and self.inputs.get(item, []) == sources and self.outputs.get(item, []) == results:
            inside = self._scope(item, scope, {}, set())[0]
        else:
            inside = self._container(scope, owner.module, sources, results)
        inside.pop("name", None)
        entry["module"] = inside
        if owner.device_ids:  # empty if PyTorch found no GPU: every device of the run
            if list(owner.device_ids) != list(range(torch.cuda.device_count())):
                entry["device_ids"] = list(owner.device_ids)
            if owner.output_device != owner.device_ids[0]:
                entry["output_device"] = owner.output_device
        # Without a GPU PyTorch doesn't keep its `dim`: it is the dimension of the rows.
        dim = getattr(owner, "dim", next((i for value in sources for i, size in enumerate(value.shape) if size.rows), 0))
        if dim:
            entry["dim"] = dim
        return entry

    def _container(self, scope, owner, sources, results):
        stem = free_name("input", self.names_in(scope))
        given = {value: stem if i == 0 else f"{stem}{i}" for i, value in enumerate(sources)}
        layers, names = self.body(scope, given)
        plain = list(given.values()) == ["input"] and [names[value] for value in results] == [layers[-1]["name"]]
        if plain and isinstance(owner, _CONTAINERS):
            return {"type": "Sequential", "layers": layers}
        definition = {} if list(given.values()) == ["input"] else {"inputs": list(given.values())}
        if [names[value] for value in results] != [layers[-1]["name"]]:
            definition["outputs"] = [names[value] for value in results]
        definition["layers"] = layers
        return {"type": self._define(type(owner).__name__, definition)}

    def _define(self, name, definition):
        free, count = name, 1
        while self.definitions.get(free, definition) != definition or hasattr(torch.nn, free) and free not in self.definitions:
            count += 1
            free = f"{name}_{count}"
        self.definitions[free] = definition
        return free


_ORDER = {"name": 0, "type": 1, "inputs": 2, "module": 8, "layers": 10}
# Defaults of layers that have no class in torch.nn.
_DEFAULTS = {"Expand": {"like_dim": 0}, "Slice": {"start": 0, "step": 1}, "Mean": {"keepdim": False}, "Pad": {"mode": "constant"}}


def arguments_of(layer):
    """The layer's arguments that aren't PyTorch's defaults, as JSON."""
    if layer.type == "Constant":
        return constant(layer.arguments["value"])
    if layer.type == "Buffer" and layer.results[0].dtype != torch.float32:
        return {**layer.arguments, "dtype": DTYPES[layer.results[0].dtype]}
    known = getattr(torch.nn, layer.type, None)
    defaults = dict(_DEFAULTS.get(layer.type, {}))
    if known is not None:
        for cls in reversed(known.__mro__):
            if "__init__" in vars(cls):
                parameters = inspect.signature(cls.__init__).parameters.values()
                defaults.update({p.name: p.default for p in parameters if p.default is not p.empty})
    return {key: value for key, value in layer.arguments.items() if key not in defaults or not _same(defaults[key], value)}


def _same(default, value):
    return default == value and isinstance(default, bool) == isinstance(value, bool)


def constant(value):
    tensor = value.worlds[0]
    tensor = tensor.to(torch.float32) if tensor.dtype in (torch.float64, torch.float16, torch.bfloat16) else tensor
    entry = {} if tensor.dtype == torch.float32 else {"dtype": DTYPES[tensor.dtype]}
    if tensor.numel() <= 16 and (not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())):
        return {"value": tensor.tolist(), **entry}
    packed = zlib.compress(tensor.contiguous().numpy().tobytes(), 9)
    return {"shape": list(tensor.shape), **entry, "data": base64.b64encode(packed).decode()}
