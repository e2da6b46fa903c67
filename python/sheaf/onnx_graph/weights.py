"""Where a graph's tensors go: into layers, under the names that PyTorch's exporter gave them, or beside them."""
import re

import torch

from .sizes import Sizes


class Placed:
    """The tensors of a graph, placed in `module` when first requested."""

    def __init__(self, module, graph):
        self.module, self.graph, self.tensors = module, graph, graph.tensors
        self._placed, self._absorbed, self._taken = {}, {}, set()

    def has(self, name):
        return name in self.tensors

    def tensor(self, name):
        """A weight: an initializer of real numbers, or None."""
        found = self.tensors.get(name)
        return found if found is not None and found.is_floating_point() else None

    def known(self, node):
        """Whether the node computes a constant from constants: pads and the like, as exporters write them."""
        return bool(node.inputs) and all(not name or name in self.tensors and (name in self.graph.constants or not self.tensors[name].is_floating_point())
                                         for name in node.inputs)

    def fold(self, node, values):
        for name, value in zip(node.outputs, values if isinstance(values, tuple) else (values,)):
            self.tensors[name] = Sizes.tensor_of(value)
            self.graph.constants.add(name)

    def absorb(self, node, source):
        """Records that a layer replaces `node`: its value is that of `source`."""
        self._absorbed[id(node)] = source

    def absorbed(self, node):
        return self._absorbed.get(id(node))

    def path(self, node, named):
        """Where a layer goes. `named` maps the layer's names of its tensors to the file's: the path they agree on, if
        any; else the node's name."""
        paths = {name[:-len(own) - 1] for own, name in named.items() if name and name.endswith(f".{own}")}
        path = paths.pop() if len(paths) == 1 and not any(c in "/:" for c in "".join(paths)) else _path(node)
        path = _as_path(path) or node.kind.lower()
        free, count = path, 1
        while free in self._taken:
            count += 1
            free = f"{path}_{count}"
        self._taken.add(free)
        return free

    def put(self, path, layer):
        """Puts a layer where its tensors keep their names."""
        owner, _, own = path.rpartition(".")
        self._at(owner).add_module(own, layer)
        return layer

    def parameter(self, tensor, name):
        """The Parameter of a layer, made from the file's tensor `name`. A matrix that several layers use is shared.
        Vectors aren't: exporters write equal ones, such as zeros, once."""
        tensor = tensor.detach().clone().float()
        if tensor.dim() < 2:
            return torch.nn.Parameter(tensor)
        return self._placed.setdefault((name, tuple(tensor.shape)), torch.nn.Parameter(tensor))

    def value(self, name, setting=False):
        """A function that returns a tensor no layer has; None if it isn't a tensor of the file. A `setting` is not a
        weight, whatever its type."""
        if name not in self.tensors:
            return None
        tensor = self.tensors[name]
        sizes = Sizes(tensor.tolist(), tensor.dtype) if setting else Sizes.of(tensor)
        if sizes is not None:
            return lambda: sizes
        if not tensor.is_floating_point() or name in self.graph.constants:
            return lambda: tensor
        if ("value", name) not in self._placed:
            owner, _, own = _as_path(name.replace("::", "_")).strip("._").rpartition(".")
            home = self._at(owner)
            while hasattr(home, own):
                own += "_"
            home.register_parameter(own, self.parameter(tensor, name))
            self._placed["value", name] = (home, own)
        home, own = self._placed["value", name]
        return lambda: getattr(home, own)

    def _at(self, path):
        module = self.module
        for part in path.split(".") if path else []:
            if part not in module._modules:
                module.add_module(part, torch.nn.Module())
            module = module._modules[part]
        return module


def _as_path(name):
    """A name that modules accept."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", name).strip(".")


def _path(node):
    """Turns /layer1/layer1.0/conv1/Conv, PyTorch's exporter's name of a node, into layer1.0.conv1."""
    path = ""
    for part in node.name.strip("/").split("/")[:-1] if "/" in node.name else [node.name]:
        path = part if not path or part.startswith(path + ".") else f"{path}.{part}"
    return path or f"{node.kind.lower()}_{node.line}"


class Layer:
    """A node that is a layer with weights of its own. `data` are the names of its other inputs; `after` changes its
    result."""

    def __init__(self, module, data, after=None):
        self.module, self.data, self.after = module, data, after

    def run(self, node, *values):
        result = self.module(*[Sizes.tensor_of(value) for value in values])
        return self.after(result) if self.after else result
