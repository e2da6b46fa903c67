"""Decompositions where PyTorch has none, or one that needs much more memory: {operator: function of its arguments}."""
import itertools

import torch

aten = torch.ops.aten
OWN = {}


def own(*targets):
    def register(function):
        OWN.update(dict.fromkeys(targets, function))
        return function

    return register


def _reflected(at, low, high):
    """Between the bounds, to and fro."""
    if low == high:
        return torch.zeros_like(at)
    span = high - low
    distance = (at - low).abs()
    rest, turns = torch.fmod(distance, span), torch.floor(distance / span)
    return torch.where(torch.remainder(turns, 2) == 0, rest + low, high - rest)


def _inside(at, size, padding_mode, align_corners):
    """A position in elements, brought into 0 … size - 1 unless elements outside count as 0."""
    if padding_mode == 0:
        return at
    if padding_mode == 2:
        at = _reflected(at, 0, size - 1) if align_corners else _reflected(at, -0.5, size - 0.5)
    return at.clamp(0, size - 1)


def _cubic(t):
    """The weights of four neighbours, at a share t of the way from the second to the third (a = -0.75)."""
    a = -0.75
    near = lambda x: ((a + 2) * x - (a + 3)) * x * x + 1
    far = lambda x: ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return far(t + 1), near(t), near(1 - t), far(2 - t)


@own(aten.grid_sampler_2d.default, aten.grid_sampler_3d.default)
def grid_sampler(x, grid, interpolation_mode, padding_mode, align_corners):
    """All channels share the positions, which are computed once."""
    sizes, shape = x.shape[2:], grid.shape[1:-1]
    channels, count = x.shape[1], shape.numel()
    lines, places, axes = x.flatten(2), grid.flatten(1, -2), range(len(sizes))
    at = []
    for axis in axes:  # the grid's last coordinate is for the first of these dimensions
        size = sizes[axis]
        at.append(places[..., len(sizes) - 1 - axis] * ((size - 1) / 2 if align_corners else size / 2) + (size - 1) / 2)
    if interpolation_mode != 2:
        at = [_inside(a, size, padding_mode, align_corners) for a, size in zip(at, sizes)]

    def seen(corner):
        """The elements at whole positions, one tensor for each dimension; 0 outside."""
        if interpolation_mode == 2:
            corner = [_inside(c, size, padding_mode, align_corners) for c, size in zip(corner, sizes)]
        index, inside = 0, None
        for position, size in zip(corner, sizes):
            here = (position >= 0) & (position <= size - 1)
            inside = here if inside is None else inside & here
            index = index * size + position.clamp(0, size - 1)
        found = lines.gather(2, index.long().unsqueeze(1).expand(-1, channels, count))
        return torch.where(inside.unsqueeze(1), found, 0.0) if padding_mode == 0 else found

    if interpolation_mode == 1:
        result = seen([torch.round(a) for a in at])
    else:
        below = [torch.floor(a) for a in at]
        shares = [a - b for a, b in zip(at, below)]
        weights = [_cubic(t) for t in shares] if interpolation_mode == 2 else [(1 - t, t) for t in shares]
        first, result = (-1 if interpolation_mode == 2 else 0), None
        for steps in itertools.product(*[range(len(w)) for w in weights]):
            weight = 1
            for w, step in zip(weights, steps):
                weight = w[step] * weight
            part = seen([b + (first + step) for b, step in zip(below, steps)]) * weight.unsqueeze(1)
            result = part if result is None else result + part
    return result.unflatten(2, shape)


@own(aten.bilinear.default)
def bilinear(x, y, weight, bias=None):
    """Of weights that are no module's."""
    out, first, second = weight.shape
    sums = torch.nn.functional.linear(x, weight.transpose(1, 2).reshape(out * second, first)).unflatten(-1, (out, second))
    result = (sums * y.unsqueeze(-2)).sum(-1)
    return result if bias is None else result + bias
