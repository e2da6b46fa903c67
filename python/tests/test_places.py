"""Models that are imported and compiled: what the compiler refuses has the line of the code, and what a module returns beside tensors is left out."""
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
