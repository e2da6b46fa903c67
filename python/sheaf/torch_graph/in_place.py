"""Turns in-place writes into values: after `x.add_(y)`, the node of x stands for the sum; a write into a view is one
into its base."""
import torch

from .graph import Call
from .rows_scatter import placed
from .value import Constant, Drawn
from .writer import Writer


class Writes:
    """Keeps the values of views and bases consistent while calls write into them."""

    def __init__(self, lowering, graph):
        self.lowering, self.values = lowering, lowering.values
        self.last_use = {}
        for position, node in enumerate(graph.nodes):
            for operand in node.all_input_nodes:
                self.last_use[operand] = position
        for _, node in graph.outputs:
            self.last_use[node] = len(graph.nodes)
        self.base = {}
        for node in graph.nodes:
            if isinstance(node.target, torch._ops.OpOverload) and (viewed := Call(node).viewed()) is not None:
                self.base[node] = viewed
        self.graph = graph

    def write(self, call, position):
        """The value of a call that writes into its first argument; all names of that tensor stand for it afterwards."""
        target = call.mutated()[0]
        if isinstance(target, list):
            raise Writer(call, self.lowering).refuse("writes into several tensors at once")
        result = self.lowering.apply(call)
        self._store(call, target, result, position)
        return result

    def _store(self, call, target, result, position):
        self.values[target] = result
        base = self.base.get(target)
        writer = Writer(call, self.lowering)
        if base is not None and self._needed(base, position, but=target):
            self._store(Call(call.node), base, self._into(Call(target), self.values[base], result, writer), position)
        for view, viewed in self.base.items():
            if viewed is target and view in self.values and self.last_use.get(view, -1) > position and view is not call.node:
                self.values[view] = self.lowering.apply(Call(view))

    def _needed(self, node, position, but):
        """Whether the node, its base, or another view of the base is used after the write."""
        if self.last_use.get(node, -1) > position:
            return True
        if node in self.base and self._needed(self.base[node], position, but=node):
            return True
        return any(viewed is node and view is not but and self._used_view(view, position) for view, viewed in self.base.items())

    def _used_view(self, view, position):
        return self.last_use.get(view, -1) > position and view in self.values

    def _into(self, view, base, part, writer):
        """`base` with `part` at the position that the call `view` shows of it."""
        arguments = view.bound
        if part.shape == base.shape and view.name in ("aten.slice", "aten.view", "aten.reshape", "aten.expand", "aten.alias", "aten.detach"):
            return part
        if view.name in ("aten.view", "aten.reshape", "aten.flatten", "aten.unsqueeze", "aten.squeeze", "aten.unflatten"):
            return writer.reshape(part, base.shape)
        if view.name not in ("aten.select", "aten.slice"):
            raise writer.refuse(f"writes into what '{view.target}' shows of a tensor", "assign to a slice, or make a new tensor with torch.cat")
        dim = arguments["dim"] % base.rank
        size = base.shape[dim]
        start, end, step = arguments.get("start", arguments.get("index")), arguments.get("end"), arguments.get("step", 1)
        writer.fixed(base, dim, "writes into some of", "make a new tensor with torch.cat or torch.where")
        if not isinstance(start or 0, int) or not isinstance(end or 0, int):
            raise writer.refuse("writes into a part that depends on sizes which a run determines", "make a new tensor with torch.cat or torch.where")
        start = (start or 0) % size.fixed if (start or 0) < 0 else min(start or 0, size.fixed)
        if view.name == "aten.select":
            part = writer.reshape(part, base.shape[:dim] + (type(size)(0, 1),) + base.shape[dim + 1:])
            end = start + 1
        end = size.fixed if end is None else min(end % size.fixed if end < 0 else end, size.fixed)
        if step != 1:
            return placed(writer, base, dim, range(start, end, step), part)
        pieces = []
        for first, last in ((0, start), (end, size.fixed)):
            if first < last:
                shape = base.shape[:dim] + (type(size)(0, last - first),) + base.shape[dim + 1:]
                if isinstance(base, Constant):
                    pieces.append(Constant.of([w.narrow(dim, first, last - first).clone() for w in base.worlds]))
                else:
                    pieces.append(writer.layer("Slice", [base], (shape, base.dtype), dim=dim, start=first, end=last))
            else:
                pieces.append(None)
        kept = [piece for piece in (pieces[0], part, pieces[1]) if piece is not None]
        return kept[0] if len(kept) == 1 else writer.layer("Concat", kept, (base.shape, base.dtype), dim=dim)
