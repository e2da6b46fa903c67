"""Operators that other libraries' models call compute what PyTorch computes, on devices with unequal numbers of rows."""
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import sheaf


def put_columns(x):
    y = x.clone()
    y[:, torch.tensor([0, 2])] = x[:, torch.tensor([1, 3])] * 2
    return y


def put_windows(x):
    y = torch.zeros_like(x)
    y[:, :, 1:4, 2:] = x[:, :, 1:4, 2:]
    y[:, :, ::2] = 0
    return y


def put_where(x):
    y = x.clone()
    y[x > 0] = 0.5
    return y


def marked(x):
    """Marks in zeros of several times the batch's rows."""
    rows = x.flatten(0, 2)
    return torch.zeros_like(rows).scatter_(1, rows.topk(2).indices, 1).view_as(x)


def of_each_row(x):
    row, place = torch.arange(x.shape[0]), torch.arange(6)
    seen = (x[:, 0, :, 0] > 0)[row[:, None, None], place[None, None, :]]
    return seen.float(), x.flatten(2)[row, x[:, :, 0, 0].argmax(-1)]


def alike_in_each_row(x):
    heads = torch.arange(4.0).repeat(x.shape[0])[:, None, None]
    return torch.baddbmm(heads, x.flatten(0, 1), x.flatten(0, 1)).unflatten(0, (x.shape[0], 4))


FAMILIES = {
    "taken apart by PyTorch": {
        "unfold": lambda x: F.unfold(x, 3, padding=1, stride=2), "fold": lambda x: F.fold(F.unfold(x, 3, padding=1), (6, 6), 3, padding=1),
        "repeat_interleave": lambda x: x.repeat_interleave(2, dim=1), "logsumexp": lambda x: x.logsumexp(1), "lerp": lambda x: torch.lerp(x, x * x, 0.3),
        "addcdiv": lambda x: torch.addcdiv(x, x, x * x + 1), "nan_to_num": torch.nan_to_num, "tril": torch.tril, "hstack": lambda x: torch.hstack([x, x]),
        "one_hot": lambda x: F.one_hot(x.argmax(1), 4).float(), "three factors": lambda x: torch.einsum("nchw,nchv,nchu->nhwvu", x, x, x),
        "one factor": lambda x: torch.einsum("nchw->nhc", x), "tensordot": lambda x: torch.tensordot(x, torch.ones(6, 3), dims=1)},
    "integers": {
        "cumsum": lambda x: (x > 0).int().cumsum(1), "sum": lambda x: (x > 0).sum((1, 2)), "keepdim": lambda x: (x > 0).sum(1, keepdim=True),
        "argmax": lambda x: (x > 0).int().argmax(1), "argmin": lambda x: ((x * 3).long() * 2**40).argmin(-1), "max": lambda x: (x * 9).long().max(1)[0],
        "functions": lambda x: (x * 3).long().abs().log1p() + torch.atan((x * 3).long()), "inverse": lambda x: 2 / ((x * 3).long().abs() + 1),
        "powers": lambda x: (x * 3).long() ** 3, "of a number": lambda x: 2 ** (x * 3).long().float(), "of nothing": lambda x: torch.pow(0.0, x.abs() + 1),
        "any": lambda x: (x > 1).any(1), "all": lambda x: (x > -1).all(dim=1), "xor": lambda x: torch.logical_xor(x > 0, x > 1)},
    "elements": {
        "log2": lambda x: torch.log2(x.abs() + 1), "exp2": torch.exp2, "tan": lambda x: torch.tan(x / 4), "erfc": torch.erfc, "sinh": torch.sinh,
        "cosh": torch.cosh, "bounded on one side": lambda x: x.clamp(-float("inf"), 0.5).clamp(0.1, float("inf")), "remainder": lambda x: torch.remainder(x, 2.0), "fmod": lambda x: torch.fmod(x, 0.7), "floor_divide": lambda x: x // 0.5,
        "whole": lambda x: torch.div((x * 9).long(), (x[:, :1] * 9).long() * 2 + 1, rounding_mode="trunc"), "halves": lambda x: x.argmax(1) // 2,
        "integers' rest": lambda x: (x * 9).long() % -4,
        "a number less integers": lambda x: 5 - torch.sub((x * 9).long(), (x * 3).long(), alpha=3), "rest of a number": lambda x: torch.remainder(torch.tensor(2.5), x.abs() + 1), "detach": lambda x: x * x.detach(),
        "similarity": lambda x: F.cosine_similarity(x, x[:, :1], dim=1), "distance": lambda x: F.pairwise_distance(x, x * x, p=3, keepdim=True),
        "lp_pool": lambda x: F.lp_pool2d(x, 2, (2, 3), stride=2), "frac": torch.frac, "isinf": lambda x: torch.isinf(x / (x > 0)), "isnan": lambda x: torch.isnan((x > 0) / (x > 0).float()),
        "decimals": lambda x: torch.round(x, decimals=2), "tens": lambda x: torch.round(x * 100, decimals=-1), "hardshrink": F.hardshrink, "softshrink": F.softshrink, "threshold": lambda x: F.threshold(x, 0.1, 2.0), "norm 1": lambda x: x.norm(1, dim=1),
        "norm 3": lambda x: x.norm(3, dim=1), "largest": lambda x: x.norm(float("inf"), dim=1), "std_mean": lambda x: torch.std_mean(x, dim=(2, 3))},
    "angles": {
        "asin": lambda x: torch.asin(torch.tanh(x)), "acos": lambda x: torch.acos(torch.tanh(x)), "atan": torch.atan, "asinh": torch.asinh, "acosh": lambda x: torch.acosh(x.abs() + 1),
        "atanh": lambda x: torch.atanh(torch.tanh(x) * 0.9), "atan2": lambda x: torch.atan2(x, x[:, :1] + 0.1), "atan2 of a number": lambda x: torch.atan2(x, torch.tensor(-1.0))},
    "order": {
        "sort": lambda x: tuple(torch.sort(x, dim=1)), "argsort": lambda x: x.argsort(-1, descending=True), "stable": lambda x: tuple(torch.sort((x * 2).long(), dim=2, stable=True)),
        "topk": lambda x: tuple(x.topk(2, dim=1)), "least": lambda x: tuple(x.topk(3, largest=False)), "median": lambda x: x.median(dim=1)[0], "middle": lambda x: x.median(-1, keepdim=True)[0],
        "kthvalue": lambda x: x.kthvalue(2, dim=3)[0], "cummax": lambda x: tuple(x.cummax(1)), "cummin": lambda x: tuple(x.cummin(-1)), "cumprod": lambda x: x.cumprod(2),
        "prod": lambda x: x.prod(1), "prod kept": lambda x: x.prod(-1, keepdim=True), "logcumsumexp": lambda x: x.logcumsumexp(3)},
    "scattered": {
        "scatter": lambda x: x.scatter(3, x.argsort(-1)[..., :4], x[..., :4] * 2), "value": lambda x: x.scatter(1, x.argmax(1, keepdim=True), 7.0), "added": lambda x: x.scatter_add(2, (x > 0).long(), x),
        "one hot": lambda x: torch.zeros_like(x).scatter_(1, x.argmax(1, keepdim=True), 1.0), "marked": marked},
    "sampled": {
        **{f"{mode} {padding} {corners}": lambda x, mode=mode, padding=padding, corners=corners: F.grid_sample(x, x.permute(0, 2, 3, 1)[..., :2], mode, padding, corners)
           for mode, padding, corners in (("bilinear", "zeros", False), ("bilinear", "border", True), ("nearest", "reflection", True), ("bilinear", "reflection", False),
                                          ("bicubic", "zeros", True))},
        "affine": lambda x: F.grid_sample(x, F.affine_grid(x[:, 0, :2, :3], (x.shape[0], 1, 5, 3), align_corners=False), align_corners=False),
        "volume": lambda x: F.grid_sample(x.unflatten(2, (2, 3)), torch.stack([x[:, 0]] * 3, -1).unsqueeze(1), align_corners=True)},
    "pools": {
        "adaptive": lambda x: F.adaptive_max_pool2d(x, (4, 5)), "even": lambda x: F.adaptive_max_pool2d(x, (2, 6)), "one": lambda x: F.adaptive_max_pool2d(x, 1),
        "larger": lambda x: F.adaptive_max_pool1d(x.flatten(2), 50), "volume": lambda x: F.adaptive_max_pool3d(x.unflatten(3, (2, 3)), (4, 2, 2)),
        "places": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), "places alone": lambda x: F.adaptive_max_pool2d(x, (4, 5), return_indices=True)[1],
        "nobody's places": lambda x: F.max_pool3d(x, 2, return_indices=True)[0], "unpool": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
        "line": lambda x: F.max_unpool1d(*F.max_pool1d(x.flatten(2), 5, 3, return_indices=True), 5, 3, output_size=[36]),
        "unpool volume": lambda x: F.max_unpool3d(*F.max_pool3d(x, (2, 3, 2), (2, 1, 2), (0, 1, 0), return_indices=True), (2, 3, 2), (2, 1, 2), (0, 1, 0))},
    "sizes": {
        f"{mode} {size} {corners}": lambda x, mode=mode, size=size, corners=corners: F.interpolate(x, **size, mode=mode, align_corners=corners, antialias=True)
        for mode in ("bilinear", "bicubic") for size, corners in (({"size": (3, 9)}, False), ({"size": (6, 4)}, True), ({"scale_factor": (0.6, 1.7)}, False),
                                                                  ({"scale_factor": 0.6, "recompute_scale_factor": True}, False))},
    "pairs": {
        "cdist": lambda x: torch.cdist(x, x * x + 1), "cdist 1": lambda x: torch.cdist(x, x[:, :, :2] + 1, p=1.0), "largest difference": lambda x: torch.cdist(x, x + 1, p=float("inf")),
        "rrelu": F.rrelu, "bilinear": lambda x: F.bilinear(x, x[:, :, :, :4], torch.linspace(-1, 1, 72).reshape(3, 6, 4), torch.ones(3))},
    "lines": {
        "added": lambda x: x.index_add(1, torch.tensor([2, 0, 2]), x[:, :3], alpha=-2), "copied": lambda x: x.index_copy(2, torch.tensor([4, 1]), x[:, :, :2]),
        "filled": lambda x: x.index_fill(-1, torch.tensor([0, 3]), 1.5)},
    "places": {
        "from the end": lambda x: x[:, torch.tensor([-1, 0])],
               "columns": put_columns, "windows": put_windows, "where": put_where, "diagonal": lambda x: x.diagonal(1, 2, 3), "infinite border": lambda x: F.max_pool2d(F.pad(x, (1, 2, 0, 1), value=-float("inf")), 2),
        "moved": lambda x: x.movedim(-1, 1).movedim((3, 1), (1, 2)), "windows of": lambda x: x.unfold(2, 3, 2),
        "gathered from less": lambda x: x.gather(3, x[:, :2, :3].argsort(-1)), "of each row": of_each_row, "empty": lambda x: torch.cat([x[..., :6], x[..., 6:]], -1) * 2, "groups": alike_in_each_row,
        "one head": lambda x: F.scaled_dot_product_attention(x, x[:, :1], x[:, :1])}}


class Several(nn.Module):
    def __init__(self, functions):
        super().__init__()
        self.functions = list(functions)

    def forward(self, x):
        return [function(x) for function in self.functions]


def leaves(values):
    return [leaf for value in values for leaf in (leaves(value) if isinstance(value, (list, tuple)) else [value])]


@pytest.mark.parametrize("family", FAMILIES)
def test_operators_compute_what_pytorch_computes(family):
    torch.manual_seed(0)
    module, x = Several(FAMILIES[family].values()), torch.randn(5, 4, 6, 6)
    model = sheaf.Model(sheaf.compile(sheaf.from_torch(module, x[:2])))
    expected = leaves(module(x))
    for devices in ("cpu", "cpu:0-2"):
        for found, wanted in zip(model.bind(devices, batch=5).run(x), expected, strict=True):
            torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5 * max(1.0, float(wanted.double().nan_to_num(0, 0, 0).abs().max())), equal_nan=True)


@pytest.mark.parametrize("function", [lambda x: (x * 9).long() & 3, lambda x: (x * 9).long() | (x * 3).long(), lambda x: (x * 9).long() ** 7])
def test_what_integers_cannot_do_is_refused_by_name_and_line(function):
    with pytest.raises(sheaf.Error, match="(__and__|__or__|pow)") as refused:
        sheaf.from_torch(Several([function]), torch.randn(2, 4))
    assert [(d.file, d.source.strip()) for d in refused.value.diagnostics] == [(__file__, "return [function(x) for function in self.functions]")]


def test_gradients_flow_through_what_is_put_and_folded():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 6), Several([lambda x: F.conv2d(x, x.new_ones(2, 4, 3, 3)), put_columns, put_windows, *(FAMILIES["taken apart by PyTorch"][n] for n in ("fold", "logsumexp"))]))
    peer = sheaf.nn.DataParallel(nn.Sequential(nn.Linear(6, 6), Several(module[1].functions)), devices="cpu:0-1")
    peer.module.load_state_dict(module.state_dict())
    x, gradients = torch.randn(5, 4, 6, 6), []
    for net in (module, peer):
        net.zero_grad()
        sum((y**2).mean() for y in net(x)).backward()
        gradients.append([p.grad for p in net.parameters()])
    for found, wanted in zip(*gradients, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


class PositionsOfParameters(nn.Module):
    """A submodule that is called with a parameter, and with nothing that comes from the input."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(1, 2, 3, 3))
        self.grow = nn.Sequential(nn.Conv2d(2, 4, 1), nn.ReLU())
        self.last = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        return self.last(x) + F.interpolate(self.grow(self.table), (6, 6), mode="bilinear")


def test_a_module_that_takes_parameters_alone_is_dissolved():
    torch.manual_seed(0)
    module, x = PositionsOfParameters().eval(), torch.randn(5, 4, 6, 6)
    file = sheaf.from_torch(module, x[:2])
    assert set(file.weights) == set(module.state_dict())
    found = sheaf.Model(sheaf.compile(file)).bind("cpu:0-1", batch=5).run(x)
    torch.testing.assert_close(found, module(x).detach(), rtol=0, atol=1e-5)


class ComputedWeights(nn.Module):
    """Weight norm, and weights that are standardised in each forward pass."""

    def __init__(self):
        super().__init__()
        self.normed = nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 6, 3, padding="same", dilation=2, groups=2), dim=2)
        self.standardised = nn.Conv2d(4, 8, 3, stride=2, padding=1)
        self.gain = nn.Parameter(torch.rand(8))

    def forward(self, x):
        conv = self.standardised
        weight = F.batch_norm(conv.weight.reshape(1, 8, -1), None, None, weight=self.gain * 0.5, training=True).reshape_as(conv.weight)
        return self.normed(x.flatten(2)), F.conv2d(x, weight, conv.bias, conv.stride, conv.padding)


def test_convolutions_take_computed_weights():
    torch.manual_seed(0)
    module, x = ComputedWeights(), torch.randn(5, 4, 6, 6)
    file = sheaf.from_torch(module, x[:2])
    assert set(file.weights) == set(module.state_dict())
    session = sheaf.Model(sheaf.compile(file)).bind("cpu:0-1", batch=5)
    for found, wanted in zip(session.run(x), module(x), strict=True):
        torch.testing.assert_close(found, wanted.detach(), rtol=0, atol=1e-5)


class KnownDuringTheRun(nn.Module):
    def forward(self, x):
        return torch.zeros(int((x > 0).sum())).sum() + x


def test_sizes_known_during_the_run_are_refused_with_their_line():
    with pytest.raises(sheaf.Error) as caught:
        sheaf.from_torch(KnownDuringTheRun(), torch.randn(2, 4))
    assert any(problem.file == __file__ for problem in caught.value.diagnostics)
