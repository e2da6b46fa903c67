"""From an exported graph to layers: one call after another, with constants computed and in-place writes as values."""
import operator
import os

import torch

from . import (rows_activation, rows_arithmetic, rows_attention, rows_convolution, rows_indexing, rows_linear,  # noqa: F401
               rows_normalization, rows_ordering, rows_pooling, rows_recurrent, rows_reduction, rows_scatter,
               rows_shape)
from ..error import Error, reason
from .decomposition import taken_apart
from .extent import Extent, UnknownSize, extent_of, sizes
from .graph import Call
from .in_place import Writes
from .rows import ROWS
from .value import Constant, Drawn, Input, Parameter, Value
from .writer import Writer

# Operators that use only a tensor's shape and type.
_SHAPE_ONLY = {f"aten.{name}" for name in ("zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty")}
_CHECKS = {"aten._assert_tensor_metadata", "aten._assert_scalar", "aten._assert_async", "aten.sym_constrain_range_for_size",
           "aten.sym_constrain_range"}
_DRAWS = {"aten.bernoulli", "aten.rand", "aten.randn", "aten.rand_like", "aten.randn_like", "aten.randint", "aten.randperm", "aten.normal",
          "aten.multinomial", "aten.uniform", "aten.exponential"}
# Drawn by layers, even from constants.
_DROPOUTS = {"aten.dropout", "aten.alpha_dropout", "aten.feature_dropout"}


class Lowering:
    """`values` maps nodes to Values, lists of Values, or numbers that depend on the batch or a length (one for each world).
    `training`: the graph is that of the training mode."""

    def __init__(self, graph, module, aliases, training=False):
        self.training = training
        self.graph, self.module, self.layers, self.values, self.problems = graph, module, [], {}, []
        self.parameters = {}
        for node, name in graph.inputs:
            self.values[node] = Input(self._shape(node), node.meta["val"].dtype, name)
        for node, name, tensor, trained in graph.state:
            names = aliases.get(name, (name,))
            self.values[node] = Parameter(self._shape(node), tensor.dtype, name, trained, names)
            self.parameters.update({alias: self.values[node] for alias in names})
        for node, tensor in graph.constants:
            plain = tensor.detach().cpu()
            self.values[node] = Constant.of((plain.clone(), plain.clone()))
        self.batch = next(((value, dim) for value in self.values.values() if isinstance(value, Input)
                           for dim, size in enumerate(value.shape) if size == Extent(1, 0)), None)
        self.writes = Writes(self, graph)

    @staticmethod
    def _shape(node):
        return tuple(extent_of(size) for size in node.meta["val"].shape)

    def run(self):
        """Lowers all calls. Raises one Error with a diagnostic for each call that can't be lowered."""
        for position, node in enumerate(self.graph.nodes):
            try:
                self.values[node] = self._lower(node, position)
            except Error as problem:
                self.problems += [d for d in problem.diagnostics if d not in self.problems]
                self.values[node] = self._unknown(node)
            except UnknownSize:
                problem = Writer(Call(node), self).refuse("makes a tensor or a number whose size is known only during the run")
                self.problems += problem.diagnostics
                self.values[node] = None
            except Exception as problem:  # a row that doesn't know a form of its operator: the user must learn of which line
                where = problem.__traceback__
                while where.tb_next:
                    where = where.tb_next
                at = f"{os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno}"
                self.problems += Writer(Call(node), self).refuse(
                    f"is called in a form that the import doesn't know ({type(problem).__name__} at {at}: {reason(problem)})").diagnostics
                self.values[node] = self._unknown(node)
        if self.problems:
            raise Error(self.problems)
        return [(key, self.values[node]) for key, node in self.graph.outputs]

    def _unknown(self, node):
        """Values of the right shapes in place of a refused call's, so that the calls after it are checked too."""
        results = node.meta.get("val")

        def unknown(result):
            if not isinstance(result, torch.Tensor):
                return None
            try:
                sizes = tuple(extent_of(size) for size in result.shape)
            except UnknownSize:
                return None
            return Value(sizes, result.dtype) if None not in sizes else None

        return [unknown(r) for r in results] if isinstance(results, (tuple, list)) else unknown(results)

    def _lower(self, node, position):
        if node.target is operator.getitem:
            container = self.values[node.args[0]]
            return container[node.args[1]] if container is not None else None
        if not isinstance(node.target, torch._ops.OpOverload):
            return self._number(node)
        call = Call(node)
        if call.name in _CHECKS:
            return None
        operands = [self.values[n] for n in node.all_input_nodes]
        if any(operand is None for operand in operands):
            return self._unknown(node)
        if isinstance(node.meta.get("val"), (torch.SymInt, int, torch.SymFloat, float, torch.SymBool, bool)):
            return self._number(node)
        if call.name in _DRAWS and all(isinstance(o, (Constant, tuple)) for o in operands) and call.name != "aten.bernoulli":
            raise Writer(call, self).refuse("draws random numbers from PyTorch's generator",
                                                               "use a layer that draws, such as nn.Dropout")
        if call.name != "aten.bernoulli" and call.name not in _DROPOUTS and self._is_constant(call, operands):
            return self._constant(node)
        if call.mutated():
            return self.writes.write(call, position)
        return self.apply(call)

    def apply(self, call, operands=None):
        """The value of a call that isn't constant, by its row of the table. `operands` replace nodes by other values."""
        writer = Writer(call, self)
        rule = ROWS.get(call.name)
        if rule is None:
            return self.apply_parts(call, operands)
        find = (lambda n: operands[n] if n in operands else self.values[n]) if operands else self.values.__getitem__
        arguments = {name: torch.fx.node.map_arg(value, lambda n: self._plain(find(n))) for name, value in call.bound.items()}
        return rule(arguments, writer)

    def apply_parts(self, call, operands=None):
        """The value of a call, through the calls of PyTorch's decomposition."""
        parts = taken_apart(call)
        if parts is None:
            raise Writer(call, self).refuse("has no counterpart in the model file", "write it with other operations, or keep this part in PyTorch")
        outer, graph = parts
        for node, placeholder in zip(outer, graph.find_nodes(op="placeholder")):
            self.values[placeholder] = operands[node] if operands and node in operands else self.values[node]
        for node in graph.nodes:
            if node.op == "get_attr":
                tensor = getattr(graph.owning_module, node.target)
                self.values[node] = Constant.of((tensor, tensor))
            elif node.op == "call_function":
                self.values[node] = self._lower(node, len(self.graph.nodes))
        return torch.fx.node.map_arg(graph.output_node().args[0], self.values.__getitem__)

    @staticmethod
    def _plain(value):
        """A number that doesn't itself depend on the batch or a length."""
        return value[0] if isinstance(value, tuple) and all(v == value[0] for v in value) else value

    def _number(self, node):
        """Python numbers computed from sizes: torch.export knows them as expressions of its symbols."""
        result = node.meta.get("val")
        if result is None and callable(node.target):
            return tuple(node.target(*torch.fx.node.map_arg(node.args, lambda n: self.values[n][world]), **node.kwargs)
                         for world in range(len(sizes().worlds)))
        return tuple(sizes().at(result, numbers) for numbers in sizes().worlds)

    def _is_constant(self, call, operands):
        if call.name in _SHAPE_ONLY:
            return not any(isinstance(operand, Drawn) for operand in operands)
        return all(isinstance(operand, (Constant, tuple)) for operand in operands)

    def _constant(self, node):
        worlds = [self._evaluate(node, world) for world in range(2)]
        if isinstance(worlds[0], torch.Tensor):
            return Constant.of(worlds)
        return [Constant.of(pair) for pair in zip(*worlds)]

    def _evaluate(self, node, world):
        def concrete(n):
            value = self.values[n]
            if isinstance(value, tuple):
                return value[world]
            if isinstance(value, Constant):
                return value.worlds[world]
            if None in value.shape:
                raise UnknownSize(str(n))
            return torch.empty([size.at(sizes().worlds[world]) for size in value.shape], dtype=value.dtype)

        args, kwargs = torch.fx.node.map_arg(node.args, concrete), dict(torch.fx.node.map_arg(node.kwargs, concrete))
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        args = [torch.device("cpu") if isinstance(a, torch.device) else a for a in args]
        with torch.no_grad():
            return node.target(*args, **kwargs)
