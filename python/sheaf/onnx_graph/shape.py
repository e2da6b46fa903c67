"""Shapes, indices, and sizes."""
import torch
from torch.nn import functional as F

from .operators import axes_of, operator, setting
from .sizes import Sizes, numbers
from .weights import Layer


@operator("Constant")
def constant(node):
    raise ValueError("has no value that model files have")


@operator("Shape")
def shape(node, x):
    sizes = list(x.shape)
    return Sizes(sizes[node.attributes.get("start", 0):node.attributes.get("end", len(sizes))])


@operator("Size")
def size(node, x):
    return Sizes(x.numel())


@operator("ConstantOfShape", on_sizes=True)
def constant_of_shape(node, sizes):
    value = node.attributes.get("value", torch.zeros(1))
    wanted = numbers(sizes)
    if len(wanted) == 1 and not value.is_floating_point() and isinstance(wanted[0], int) and wanted[0] <= 64:
        return Sizes([value.item()] * wanted[0], value.dtype)
    return torch.full(wanted, value.item(), dtype=value.dtype)


@operator("Range", on_sizes=True)
def arange(node, start, limit, step):
    given = [numbers(value)[0] for value in (start, limit, step)]
    if all(isinstance(value, int) for value in given):
        made = list(range(*given))
        return Sizes(made, start.dtype) if len(made) <= 64 else torch.tensor(made, dtype=start.dtype)
    return torch.arange(*given, dtype=start.dtype)


@operator("Reshape", on_sizes=True)
def reshape(node, x, target):
    wanted = numbers(target)
    if isinstance(x, Sizes) and len(wanted) < 2:
        return Sizes(x.numbers if wanted else x.number, x.dtype)
    x = Sizes.tensor_of(x)
    if not node.attributes.get("allowzero"):
        wanted = [x.shape[i] if isinstance(size, int) and size == 0 else size for i, size in enumerate(wanted)]
    return x.reshape(wanted)


@operator("Flatten")
def flatten(node, x):
    axis = node.attributes.get("axis", 1)
    axis = axis + x.dim() if axis < 0 else axis
    if axis == 1:
        return x.flatten(1) if x.dim() > 1 else x.unsqueeze(1)
    rows = 1
    for size in x.shape[:axis]:
        rows = rows * size
    return x.reshape(rows, -1)


@operator("Transpose")
def transpose(node, x):
    return x.permute(node.attributes.get("perm") or list(reversed(range(x.dim()))))


@operator("Squeeze", on_sizes=True)
def squeeze(node, *inputs):
    x, axes = inputs[0], axes_of(node, inputs)
    if isinstance(x, Sizes):
        return Sizes(x.number, x.dtype)
    if axes is None:
        axes = [i for i, size in enumerate(x.shape) if isinstance(size, int) and size == 1]
    return torch.squeeze(x, tuple(axes)) if axes else x


@operator("Unsqueeze", on_sizes=True)
def unsqueeze(node, *inputs):
    x, axes = inputs[0], axes_of(node, inputs)
    if isinstance(x, Sizes) and not isinstance(x.data, (list, tuple)):
        return Sizes([x.data], x.dtype)
    x = Sizes.tensor_of(x)
    rank = x.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


@operator("Concat", on_sizes=True)
def concat(node, *values):
    if all(isinstance(value, Sizes) for value in values):
        return Sizes([number for value in values for number in value.numbers], values[0].dtype)
    return torch.cat([Sizes.tensor_of(value) for value in values], node.attributes["axis"])


@operator("Split", on_sizes=True)
def split(node, *inputs):
    x, axis = inputs[0], node.attributes.get("axis", 0)
    parts = setting(node, inputs, 1, "split")
    count = node.attributes.get("num_outputs", len(node.outputs))
    if isinstance(x, Sizes):
        every = parts or [len(x.numbers) // count] * count
        return tuple(Sizes(x.numbers[sum(every[:i]):sum(every[:i + 1])], x.dtype) for i in range(count))
    return tuple(torch.split(x, list(parts), axis) if parts else torch.split(x, -(-x.shape[axis] // count), axis))


@operator("Slice", on_sizes=True)
def take(node, *inputs):
    x = inputs[0]
    starts, ends = setting(node, inputs, 1, "starts"), setting(node, inputs, 2, "ends")
    starts, ends = ([value] if not isinstance(value, (list, tuple)) else list(value) for value in (starts, ends))
    axes = setting(node, inputs, 3, "axes") or list(range(len(starts)))
    steps = setting(node, inputs, 4, "steps") or [1] * len(starts)
    if isinstance(x, Sizes):
        return Sizes(x.numbers[slice(starts[0], ends[0], steps[0])], x.dtype)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        axis, many = axis % x.dim(), x.shape[axis]
        whole = isinstance(end, int) and (end >= 2 ** 31 - 1 or isinstance(many, int) and end >= many)
        if step < 0:
            if step != -1 or not (start == -1 or isinstance(many, int) and start >= many - 1) or end > -(2 ** 30) and not (isinstance(many, int) and end < -many):
                raise ValueError("takes backwards and not all")
            x = x.flip(axis)
        elif not (whole and start == 0 and step == 1):
            x = x[(slice(None),) * axis + (slice(start, None if whole else end, step),)]
    return x


def _gather(node, weights):
    table = weights.tensor(node.inputs[0])
    if table is None or table.dim() != 2 or node.attributes.get("axis", 0) != 0 or weights.has(node.inputs[1]):
        return None
    layer = torch.nn.Embedding(*table.shape)
    layer.weight = weights.parameter(table, node.inputs[0])
    weights.put(weights.path(node, {"weight": node.inputs[0]}), layer)
    return Layer(layer, [node.inputs[1]])


@operator("Gather", layer=_gather, on_sizes=True)
def gather(node, x, index):
    axis = node.attributes.get("axis", 0)
    if isinstance(index, Sizes) and not isinstance(x, Sizes):  # counted from the end
        index = index.each(lambda i: i + x.shape[axis] if i < 0 else i)
    if isinstance(x, Sizes):
        return Sizes([x.numbers[i] for i in index.data] if isinstance(index.data, (list, tuple)) else x.numbers[index.data], x.dtype)
    if isinstance(index, Sizes) and not isinstance(index.data, (list, tuple)):
        return x.select(axis, index.data)
    index = Sizes.tensor_of(index)
    if index.dim() == 1:
        return torch.index_select(x, axis, index)
    axis %= x.dim()
    picked = torch.index_select(x, axis, index.reshape(-1))
    return picked.reshape(*x.shape[:axis], *index.shape, *x.shape[axis + 1:])


@operator("GatherElements")
def gather_elements(node, x, index):
    return torch.gather(x, node.attributes.get("axis", 0), Sizes.tensor_of(index))


@operator("ScatterElements")
def scatter_elements(node, x, index, updates):
    reduction = node.attributes.get("reduction", "none")
    if reduction not in ("none", "add"):
        raise ValueError("combines what it scatters by other means than a sum")
    axis, index = node.attributes.get("axis", 0) % x.dim(), Sizes.tensor_of(index)
    index = torch.where(index < 0, index + x.shape[axis], index)
    return x.scatter_add(axis, index, updates) if reduction == "add" else x.scatter(axis, index, updates)


@operator("Expand")
def expand(node, x, target):
    wanted = numbers(target)
    missing = max(0, x.dim() - len(wanted))
    wanted = [1] * missing + wanted
    own = [1] * (len(wanted) - x.dim()) + list(x.shape)
    return x.expand([-1 if isinstance(size, int) and size == 1 and i >= len(wanted) - x.dim() else size for i, (size, _) in enumerate(zip(wanted, own))])


@operator("Tile")
def tile(node, x, repeats):
    return x.repeat(numbers(repeats))


@operator("Pad")
def pad(node, *inputs):
    x, pads = inputs[0], setting(node, inputs, 1, "pads")
    value = setting(node, inputs, 2, "value", 0.0)
    axes = setting(node, inputs, 3, "axes")
    axes = [axis % x.dim() for axis in axes] if axes else list(range(x.dim()))
    sides = {axis: (pads[i], pads[i + len(axes)]) for i, axis in enumerate(axes)}
    flat = [side for axis in reversed(range(x.dim())) for side in sides.get(axis, (0, 0))]
    while len(flat) > 2 and not any(flat[-2:]):
        flat = flat[:-2]
    mode = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}[node.attributes.get("mode", "constant")]
    value = value[0] if isinstance(value, list) else value
    return F.pad(x, flat, mode, value) if mode == "constant" else F.pad(x, flat, mode)


@operator("Trilu")
def trilu(node, *inputs):
    x = inputs[0]
    diagonal = setting(node, inputs, 1, "k", 0)
    return torch.triu(x, diagonal) if node.attributes.get("upper", 1) else torch.tril(x, diagonal)


@operator("Einsum")
def einsum(node, *values):
    return torch.einsum(node.attributes["equation"], *[Sizes.tensor_of(value) for value in values])


@operator("OneHot", settings=(1, 2))
def one_hot(node, index, depth, values):
    off, on = numbers(values)
    made = F.one_hot(index.long(), int(numbers(depth)[0])).to(values.dtype)
    axis = node.attributes.get("axis", -1)
    made = made if axis in (-1, made.dim() - 1) else made.movedim(-1, axis)
    return made * (on - off) + off if (off, on) != (0, 1) else made




@operator("ScatterND")
def scatter_nd(node, x, index, updates):
    if node.attributes.get("reduction", "none") != "none":
        raise ValueError("adds up what it scatters")
    return x.index_put(tuple(Sizes.tensor_of(index).unbind(-1)), Sizes.tensor_of(updates))
