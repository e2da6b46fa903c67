"""Models that are imported and compiled: what is refused has the line of the code, what a module returns beside tensors is left out, and a mixture of
experts is computed row by row."""
import pickle

import pytest
import torch
from torch import nn

import sheaf


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)

    def forward(self, x):
        return self.norm(x + self.layer(x).tanh())


class Remembers(nn.Module):
    """As transformers' decoders do, returns an object for the next call. Its mask has strides of its own and differs in the two modes."""

    def forward(self, x):
        mask = torch.arange(12).view(3, 4).t()[:, 0] > (1 if self.training else 2)
        return {"y": x * mask, "cache": pickle.Pickler, "z": (x.exp(), 2)}


def test_objects_beside_the_outputs_are_left_out_and_noted():
    module = Remembers().eval()
    model = sheaf.from_torch(module, torch.randn(2, 4))
    assert len(model.json["outputs"]) == 2 and model.json["outputs"][0] == "y"
    assert [note for note in model.notes if "the type that the module returns" in note] and len(model.notes) == 2
    x = torch.randn(3, 4)
    y, z = (torch.as_tensor(t) for t in sheaf.Model(sheaf.compile(model)).bind("cpu", batch=3).run(x))
    assert torch.allclose(y, module(x)["y"]) and torch.allclose(z, x.exp())
    assert model.output_tree.rebuilt([y, z]) == {"y": y, "cache": None, "z": (z, 2)}


class Renamed(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())

    def forward(self, x):
        return torch.exp(self.blocks(x))


def test_what_the_compiler_refuses_has_the_line_of_the_code():
    model = sheaf.from_torch(Renamed(), torch.randn(2, 6))
    model.json["modules"]["Block"]["layers"][1]["é"] = "…"
    model.json["layers"].insert(0, {"name": "mine", "type": "Nothing"})
    model.json["layers"][-1]["also"] = 1
    for edited in (model, pickle.loads(pickle.dumps(model))):
        with pytest.raises(sheaf.Error) as caught:
            sheaf.compile(edited)
        mine, last, within = sorted(caught.value.diagnostics, key=lambda d: (d.file == __file__, "torch.exp" not in d.source))
        assert mine.file == "renamed.json" and "'Nothing'" in mine.message
        assert last.file == __file__ and "'aten.exp.default'" in last.message and "also" in last.message
        assert within.file == __file__ and within.source == "return self.norm(x + self.layer(x).tanh())" and "'aten.tanh.default'" in within.message
        assert "renamed.json:" in within.notes[-1] and '"type": "Tanh"' in within.notes[-1]


class ListsRows(nn.Module):
    """A list of as many entries as there are rows, as Pixtral's encoder makes one. torch.export tells of it when the code has returned."""

    def forward(self, x):
        sizes = [(2, 3)] * x.shape[0]
        return x.reshape(len(sizes), 6).exp()


def test_a_batch_that_the_code_takes_for_a_number_is_refused_with_the_line():
    with pytest.raises(sheaf.Error) as caught:
        sheaf.from_torch(ListsRows(), torch.randn(2, 2, 3))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.file == __file__ and diagnostic.source == "sizes = [(2, 3)] * x.shape[0]", diagnostic


class Experts(nn.Module):
    """A mixture of experts with the two methods of transformers' models. What it computes for the whole batch can't be split."""

    def __init__(self):
        super().__init__()
        self.route, self.weights, self.implementation = nn.Linear(4, 3), nn.Parameter(torch.randn(3, 4, 4)), {"": "grouped_mm"}

    def get_experts_implementation(self):
        return dict(self.implementation)

    def set_experts_implementation(self, implementation):
        self.implementation = {"": implementation} if isinstance(implementation, str) else implementation

    def forward(self, x):
        expert = self.route(x).argmax(-1)
        if self.implementation[""] == "batched_mm":
            return torch.bmm(self.weights[expert], x.unsqueeze(-1)).squeeze(-1)
        order = expert.argsort()
        y = [weight @ row for weight, row in zip(self.weights[expert[order]].unbind(), x[order].unbind(), strict=True)]
        return torch.stack(y)[order.argsort()]


@pytest.mark.parametrize("within", [nn.Identity, nn.Sequential])
def test_a_mixture_of_experts_is_computed_row_by_row(within):
    module = Experts().eval()
    outer = within(module) if within is nn.Sequential else module
    model = sheaf.from_torch(outer, torch.randn(2, 4))
    assert module.implementation == {"": "grouped_mm"} and [note for note in model.notes if "'batched_mm'" in note] and len(model.notes) == 1
    x = torch.randn(7, 4)
    y = torch.as_tensor(sheaf.Model(sheaf.compile(model)).bind("cpu:0-1", batch=7).run(x))
    assert torch.allclose(y, outer(x), atol=1e-5)
