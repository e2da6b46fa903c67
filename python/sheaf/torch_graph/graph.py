"""An exported program as a list of calls, with what the import needs to know about each."""
import re
from dataclasses import dataclass

import torch
from torch.export.graph_signature import InputKind
from torch.utils import _pytree

from .export import user_line

_FRAME = re.compile(r'^\s*File "(.+)", line (\d+), in .*\n(?:\s*(.*))?', re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A line of the user's Python code."""

    file: str = ""
    line: int = 0
    text: str = ""


def source_of(node):
    frames = [(file, int(line), text or "") for file, line, text in _FRAME.findall(node.meta.get("stack_trace") or "")]
    place = user_line(frames) or (frames[-1] if frames else None)
    return Source(*place) if place else Source()


def stack_of(node):
    """The module calls around a node, outermost first and without the model's own: ((call's key, module's path), …)."""
    stack = node.meta.get("nn_module_stack") or {}
    return tuple((key, entry[0]) for key, entry in stack.items() if not key.startswith("_empty") and entry[0])


def class_around(node):
    """The name of the class whose forward contains a node; "" if that isn't recorded."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    kind = stack[-1][1] if stack else ""
    return (kind if isinstance(kind, str) else kind.__qualname__).rpartition(".")[2]


@dataclass(eq=False)
class Call:
    """A call of an operator. Arguments are found by the names in the operator's schema; nodes represent values."""

    node: torch.fx.Node

    @property
    def target(self):
        return self.node.target

    @property
    def origin(self):
        """The operator that the user's code calls; it differs if the call is part of it (decomposition.py)."""
        return self.node.meta.get("origin", self.target)

    @property
    def name(self):
        """The operator's name without the overload, and without the underscore of its in-place form: `aten.relu`."""
        space, name = self.target._schema.name.split("::")
        stem = name[:-1] if name.endswith("_") and not name.endswith("__") else name
        return f"{space}.{stem}"

    @property
    def bound(self):
        schema = self.target._schema.arguments
        values = {a.name: a.default_value for a in schema if a.has_default_value()}
        values.update(zip((a.name for a in schema if not a.kwarg_only), self.node.args))
        values.update(self.node.kwargs)
        return values

    def mutated(self):
        """The nodes that the call writes into."""
        bound = self.bound
        return [bound[a.name] for a in self.target._schema.arguments if a.alias_info is not None and a.alias_info.is_write]

    def viewed(self):
        """The node whose view the result is, or None."""
        bound = self.bound
        for a in self.target._schema.arguments:
            if a.alias_info is not None and not a.alias_info.is_write:
                return bound[a.name] if isinstance(bound[a.name], torch.fx.Node) else None
        return None


@dataclass
class Graph:
    """`inputs`: (node, name), `state`: (node, full name, tensor, trained), `constants`: (node, tensor), `outputs`: (key
    or None, node). `tree` is the structure the module returns."""

    inputs: list
    state: list
    constants: list
    nodes: list
    outputs: list
    tree: "OutputTree"


class OutputTree:
    """The structure a module returns around its tensors: a tensor, a tuple, a dataclass, with None and numbers as they
    were traced."""

    def __init__(self, spec, leaves):
        self._spec = spec
        self._leaves = [_TENSOR if is_tensor(leaf) else leaf for leaf in leaves]

    def rebuilt(self, tensors):
        """The same with these tensors, in order."""
        tensors = iter(tensors)
        return _pytree.tree_unflatten([next(tensors) if leaf is _TENSOR else leaf for leaf in self._leaves], self._spec)


_TENSOR = object()


def is_tensor(leaf):
    return isinstance(leaf, torch.fx.Node) and isinstance(leaf.meta.get("val"), torch.Tensor)


def read(program):
    """The Graph of an ExportedProgram. Nodes of regions such as torch.no_grad's replace the region."""
    inputs, state, constants = [], [], []
    placeholders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    for spec in program.graph_signature.input_specs:
        node = placeholders[spec.arg.name] if spec.arg.name in placeholders else None
        if node is None:
            continue
        if spec.kind is InputKind.USER_INPUT:
            if isinstance(node.meta.get("val"), torch.Tensor):
                inputs.append((node, node.name))
        elif spec.kind is InputKind.PARAMETER:
            state.append((node, spec.target, program.state_dict[spec.target], True))
        elif spec.kind is InputKind.BUFFER and spec.persistent:
            state.append((node, spec.target, program.state_dict[spec.target], False))
        else:
            constants.append((node, program.constants[spec.target]))
    _inline_regions(program.graph_module)
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    leaves = next(node for node in program.graph.nodes if node.op == "output").args[0]
    keys = _output_keys(program, len(leaves))
    outputs = [(key, leaf) for key, leaf in zip(keys, leaves) if is_tensor(leaf)]
    return Graph(inputs, state, constants, nodes, outputs, OutputTree(program.call_spec.out_spec, leaves))


def _output_keys(program, count):
    """The fields of a dict or dataclass that the module returns."""
    tree = program.call_spec.out_spec
    context = getattr(tree, "context", None)
    names = context if isinstance(context, list) and all(isinstance(name, str) for name in context) else None
    if names is None or tree.num_leaves != count or len(names) != tree.num_children:
        return [None] * count
    keys = []
    for name, child in zip(names, tree.children() if hasattr(tree, "children") else tree.children_specs):
        keys += [name] if child.is_leaf() else [None] * child.num_leaves
    return keys


def _inline_regions(module):
    """Replaces the call of a part of the graph that runs under a setting of PyTorch (torch.no_grad, autocast) by the
    part's nodes."""
    graph = module.graph
    for node in list(graph.nodes):
        if node.op != "call_function" or getattr(node.target, "__name__", "") not in ("wrap_with_set_grad_enabled", "wrap_with_autocast"):
            continue
        position = next(i for i, a in enumerate(node.args) if isinstance(a, torch.fx.Node) and a.op == "get_attr")
        inner = getattr(module, node.args[position].target)
        _inline_regions(inner)
        placeholders = [n for n in inner.graph.nodes if n.op == "placeholder"]
        with graph.inserting_before(node):
            results = graph.graph_copy(inner.graph, dict(zip(placeholders, node.args[position + 1:])))
        for user in list(node.users):  # operator.getitem
            user.replace_all_uses_with(results[user.args[1]])
            graph.erase_node(user)
        graph.erase_node(node)
