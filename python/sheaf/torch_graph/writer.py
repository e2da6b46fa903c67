"""The tools of the operator tables' rows: writing layers, and bringing values into the form that layers take."""
import math
import operator

import torch

from ..error import Diagnostic, Error
from .checkpoint_call import checkpoints_of
from .extent import Extent, extent_of, sizes
from .graph import source_of, stack_of
from .value import DTYPES, Constant, Drawn, Layer, Parameter, Result


class Writer:
    """Writes the layers of one call into a Lowering."""

    def __init__(self, call, lowering):
        self.call, self.lowering = call, lowering
        self.source, self.stack = source_of(call.node), stack_of(call.node)

    def refuse(self, reason, mend=""):
        """The error of a call that no layer can express, with the line of the user's code."""
        message = f"'{self.call.origin}' {reason}" + (f"; {mend}" if mend else "")
        return Error([Diagnostic(message, self.source.file, self.source.line, source=self.source.text)])

    def fixed(self, value, dim, does, mend=""):
        """The size of a dimension that the call takes apart. Refuses one that only a run determines: `does` is what the call does to it."""
        size = value.shape[dim]
        if size.has_rows:
            raise self.refuse(f"{does} the rows", "each device has rows of its own" + (f": {mend}" if mend else ""))
        if not size.is_fixed:
            raise self.refuse(f"{does} a dimension of {size}, which a run determines")
        return size.fixed

    def module(self):
        """The module whose forward contains the call; not the model itself, by which no layer could be named."""
        if not self.stack:
            raise self.refuse("is the whole model", "import a module that contains it, such as nn.Sequential(…)")
        return self.lowering.module.get_submodule(self.stack[-1][1])

    def parameters_of(self, module):
        """The module's parameters: own name → Parameter."""
        path = self.stack[-1][1]
        return {own: self.lowering.parameters[f"{path}.{own}"] for own, _ in module.named_parameters(remove_duplicate=False)}

    def apart(self):
        """The call's value, through the calls of PyTorch's decomposition."""
        return self.lowering.apply_parts(self.call)

    def shapes(self):
        """(shape, dtype) of each result of the call, according to torch.export."""
        results = self.call.node.meta["val"]
        found = []
        for result in results if isinstance(results, (tuple, list)) else [results]:
            if not isinstance(result, torch.Tensor):
                found.append((None, None))
                continue
            extents = tuple(extent_of(size) for size in result.shape)
            if None in extents:
                raise self.refuse("makes a tensor whose size is no multiple of the batch's or a length's, plus a number",
                                  "such a size can't be known before the run")
            if result.dtype not in DTYPES:
                raise self.refuse(f"makes a tensor of {str(result.dtype).removeprefix('torch.')}, which model files don't have")
            found.append((extents, result.dtype))
        return found

    def takes(self, index):
        """Whether the program takes result number `index` of the call, which has several."""
        return any(user.target is not operator.getitem or user.args[1] == index for user in self.call.node.users)

    def layer(self, kind, inputs, result=None, results=None, owner=None, parameters=None, **arguments):
        """Writes a layer; returns its result, of (shape, dtype) `result`, by default the call's own; or a list of results, as
        in `results`."""
        if any(isinstance(value, float) and not math.isfinite(value) for value in arguments.values()):
            raise self.refuse("takes a number that isn't finite, which model files can't hold")
        layer = Layer(kind, [self.exact(value) for value in inputs], arguments, self.stack, self.source, owner, parameters or {},
                      operator=str(self.call.origin), checkpoints=checkpoints_of(self.call.node))
        self.lowering.layers.append(layer)
        several = results is not None
        if not several:
            results = [result or self.shapes()[0]]
        layer.results = [Result(s, d, layer, index) for index, (s, d) in enumerate(results)]
        return layer.results if several else layer.results[0]

    def exact(self, value):
        """The value with all its rows: a constant is the same for each row, and is expanded where a layer needs them all."""
        if isinstance(value, Drawn):
            raise self.refuse("uses random numbers as PyTorch draws them", "a layer such as Dropout or StochasticDepth draws them alike on all devices")
        if not isinstance(value, Constant):
            return value
        if any(size.rows > 1 for size in value.shape) and (group := value.per_group()) is not None:
            return self._each_group(group, value)
        folded = self.broadcast(value)
        return folded if folded.shape == value.shape else self.expand(folded, value.shape)

    def _each_group(self, group, value):
        """The constant `group` for each row of the batch, in a tensor that has n times the batch as one dimension."""
        dim = next(d for d, size in enumerate(value.shape) if size.rows)
        one = group.unsqueeze(dim)
        shape = value.shape[:dim] + (Extent(1, 0), Extent(0, group.shape[dim])) + value.shape[dim + 1:]
        return self.reshape(self.expand(Constant.of((one, one)), shape), value.shape)

    def broadcast(self, value):
        """A constant with size 1 where it has the batch, for layers that broadcast it; other values unchanged."""
        if not isinstance(value, Constant) or all(size.is_fixed for size in value.shape) and torch.equal(*value.worlds):
            return value
        if any(size.products for size in value.shape):
            return self._beginning(value)
        tensor = value.per_row()
        if tensor is None and any(size.rows > 1 for size in value.shape) and value.per_group() is not None:
            return self.exact(value)
        if tensor is None:
            raise self.refuse("uses a number that depends on the batch's size or a length, or differs from row to row",
                              "a model file has no such number, since each device has rows of its own")
        return Constant.of((tensor, tensor))

    def _beginning(self, value):
        """A constant with sizes that are lengths: what is at the beginning of its table, with size 1 where all is equal."""
        table = value.table()
        if table is None:
            raise self.refuse(f"uses numbers for {' × '.join(map(str, value.shape))} that aren't the beginning of those for larger sizes, or differ from row to row",
                              "a model file has a table for the largest sizes, of which a run takes the beginning")
        found = Constant.of((table, table))
        for dim, size in enumerate(value.shape):
            if size.length is not None and table.shape[dim] != 1:
                found = self._cut(found, dim, size)
        return found

    def _cut(self, table, dim, size):
        """The beginning of a table for the largest number of a length."""
        if sizes().largest[size.length] is None:
            raise self.refuse(f"makes numbers for each place along '{size.length}', of which the model file has a table for the largest number",
                              f"""say which it is: torch.export.Dim("{size.length}", max=512)""")
        shape = table.shape[:dim] + (size,) + table.shape[dim + 1:]
        return self.layer("Slice", [table], (shape, table.dtype), dim=dim, end=size.length)

    def _along_length(self, value, dim, size):
        """A value of size 1 in `dim`, repeated to a length."""
        zeros = torch.zeros([sizes().worlds[1][size.length]] + [1] * (value.rank - dim - 1), dtype=value.dtype)
        line = self._cut(Constant.of((zeros, zeros)), 0, size)
        kind = "LogicalOr" if value.dtype == torch.bool else "Add"
        return self.layer(kind, [value, line], (value.shape[:dim] + (size,) + value.shape[dim + 1:], value.dtype))

    def expand(self, value, shape):
        """The value repeated to `shape`, a tuple of Extents."""
        several = next((dim for dim, size in enumerate(shape) if size.rows > 1 and size.fixed == 0), None)
        if several is not None and (value.rank < len(shape) - several or value.shape[several - len(shape)] == Extent(0, 1)):
            return self._several_for_each_row(value, shape, several)
        if any(size.length and own != size for size, own in zip(shape, (None,) * (len(shape) - value.rank) + value.shape)):
            value = self.reshape(value, (Extent(0, 1),) * (len(shape) - value.rank) + value.shape)
            for dim, size in enumerate(shape):
                if size.length and value.shape[dim] != size:
                    value = self._along_length(value, dim, size)
            if value.shape == tuple(shape):
                return value
        written, inputs = [], [value]
        given = (None,) * (len(shape) - value.rank) + value.shape
        for size, own in zip(shape, given):
            if size == own and not size.is_fixed:
                written.append(-1)
                continue
            if not size.is_fixed and size != Extent(1, 0):
                raise self.refuse(f"makes a tensor with {size} rows out of one without")
            written.append(size.fixed if size.is_fixed else "batch")
        arguments = {}
        if "batch" in written:
            like, dim = self.lowering.batch
            inputs.append(like)
            arguments = {"like_dim": dim} if dim else {}
        return self.layer("Expand", inputs, (tuple(shape), value.dtype), shape=written, **arguments)

    def _several_for_each_row(self, value, shape, dim):
        """The value, of size 1 or none in `dim`, repeated to n times the batch there."""
        one, rest = Extent(0, 1), len(shape) - dim
        apart = value.shape if value.rank < rest else (*value.shape[:value.rank - rest], one, *value.shape[value.rank - rest:])
        wanted = (*shape[:dim], Extent(1, 0), Extent(0, shape[dim].rows), *shape[dim + 1:])
        return self.reshape(self.expand(self.reshape(value, apart), wanted), shape)

    def typed(self, kind, inputs, parameters, **arguments):
        """A layer with parameters under the names of PyTorch's class, or None if these aren't such parameters."""
        given = {own: value for own, value in parameters.items() if value is not None}
        owners = None
        for own, value in given.items():
            if not isinstance(value, Parameter):
                return None
            names = {name[:-len(own) - 1] for name in value.aliases if name.endswith("." + own)}
            owners = names if owners is None else owners & names
        if owners is not None and not owners:
            return None
        here = self.stack[-1][1] if self.stack else ""
        owner = None if owners is None else here if here in owners else sorted(owners)[0]
        return self.layer(kind, inputs, owner=owner, parameters=given, **arguments)

    def cast(self, value, dtype):
        if value.dtype == dtype or {value.dtype, dtype} == {torch.float32, torch.float64}:
            return value
        if isinstance(value, Constant):
            return Constant.of([world.to(dtype) for world in value.worlds])
        return self.layer("Cast", [value], (value.shape, dtype), dtype=DTYPES[dtype])

    def in_floats(self, value):
        """Integers as floating-point numbers, if PyTorch computes in those here."""
        dtype = self.shapes()[0][1]
        return self.cast(value, dtype) if dtype.is_floating_point and not value.dtype.is_floating_point else value

    def reshape(self, value, shape):
        """The same elements in another shape. Sizes may be lengths, and one may depend on the run in another way."""
        if tuple(shape) == tuple(value.shape):
            return value
        free = [size for size in shape if not size.is_fixed and size.length is None]
        if len(free) > 1:
            raise self.refuse("makes a tensor with more than one dimension that depends on the batch: " + ", ".join(map(str, free)))
        written = [size.fixed if size.is_fixed else size.length or -1 for size in shape]
        return self.layer("Reshape", [value], (tuple(shape), value.dtype), shape=written)
