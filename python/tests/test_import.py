"""torch.nn.Modules become model files that compute the same, under PyTorch's names."""
import pytest
import torch
import torch.fx.traceback
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import sheaf


def names_of(layers):
    return [layer["name"] for layer in layers]


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(width)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)) + x)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2)
        self.blocks = nn.Sequential(Residual(8), Residual(8))
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        x = self.blocks(F.relu(self.stem(x), inplace=True))
        return self.fc(self.drop(F.adaptive_avg_pool2d(x, 1).flatten(1)))


def test_modules_become_layers_under_their_names(runner):
    module = ConvNet()
    model = runner.compare(module, (torch.randn(2, 3, 9, 9),))
    assert names_of(model.json["layers"])[-3:] == ["flatten", "drop", "fc"]
    assert model.json["modules"]["Residual"]["layers"][0]["type"] == "Conv2d"
    assert set(model.weights) == {name for name in module.state_dict() if not name.endswith("num_batches_tracked")}


def test_the_module_keeps_its_mode():
    module = ConvNet().train()
    module.drop.eval()
    sheaf.from_torch(module, torch.randn(2, 3, 9, 9))
    assert module.training and not module.drop.training and module.fc.training


class DropsOnce(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        return F.dropout(self.drop(x), 0.5, training=False)


@pytest.mark.parametrize("training", [True, False])
def test_a_dropout_that_never_drops_is_nothing(training):
    layers = sheaf.from_torch(DropsOnce().train(training), torch.randn(2, 3)).json["layers"]
    assert [(layer["type"], layer["p"]) for layer in layers] == [("Dropout", 0.3)]


class OtherNumbers(nn.Module):
    """Layers of the same types in both modes, with other arguments and other parameters."""

    def __init__(self):
        super().__init__()
        self.learning, self.steady = nn.Linear(3, 3), nn.Linear(3, 3)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop((self.learning if self.training else self.steady)(x)) * (0.5 if self.training else 2.0)


@pytest.mark.parametrize("training", [True, False])
def test_a_mode_that_computes_with_other_numbers_is_the_modules_own(training):
    model = sheaf.from_torch(OtherNumbers().train(training), torch.randn(2, 3))
    layers = {layer["name"]: layer for layer in model.json["layers"]}
    assert ("learning" in layers, "steady" in layers) == (training, not training)
    assert [layer["value"] for layer in layers.values() if layer["type"] == "Scale"] == [0.5 if training else 2.0]
    assert len(model.notes) == 1 and "computes otherwise" in model.notes[0]


@pytest.mark.parametrize("made", [lambda: nn.LSTM(3, 4, batch_first=True), lambda: nn.GRUCell(3, 4)])
def test_a_recurrent_layer_with_a_computed_weight_is_refused(made):
    layer = made()
    name = next(name for name, _ in layer.named_parameters() if name.startswith("weight_hh"))
    nn.utils.parametrizations.weight_norm(layer, name)
    x = torch.randn(2, 5, 3) if isinstance(layer, nn.LSTM) else torch.randn(2, 3)
    with pytest.raises(sheaf.Error, match="has a weight that is computed"):
        sheaf.from_torch(nn.Sequential(layer), x)
    with pytest.raises(sheaf.Error, match="is the whole model"):
        sheaf.from_torch(layer, x)


def test_an_example_of_one_row_will_do(runner):
    model = runner.compare(nn.Sequential(nn.Linear(3, 4), nn.Tanh()), (torch.randn(1, 3),))
    assert model.json["inputs"] == {"input": {"shape": ["batch", 3], "dtype": "float32"}}


class Listed(nn.Module):
    """Children of a ModuleList, with other work between their calls."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
        self.norms = nn.ModuleList([nn.LayerNorm(6) for _ in range(3)])

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = norm(x + layer(x).tanh())
        return x


def test_children_of_a_module_list_have_dotted_names(runner):
    model = runner.compare(Listed(), (torch.randn(2, 6),))
    assert [n for n in names_of(model.json["layers"]) if "." in n] == ["layers.0", "norms.0", "layers.1", "norms.1", "layers.2", "norms.2"]


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(5, 5)
        self.out = nn.Linear(5, 5)
        self.out.weight = self.fc.weight

    def forward(self, x):
        return self.out(self.fc(self.fc(x).relu()))


def test_a_module_called_twice_and_a_tied_weight_share(runner):
    model = runner.compare(Twice(), (torch.randn(2, 5),))
    first, _, second, out = model.json["layers"]
    assert "share" not in first and second["share"] == "fc"
    assert out["share"] == {"weight": "fc.weight"}


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Sequential(nn.Tanh(), nn.Softplus()))

    def forward(self, x):
        return self.embed(x) * x


class CalledFromOutside(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x) + self.inner.embed(x * 2)


def test_a_module_within_another_is_called_from_outside_too(runner):
    model = runner.compare(CalledFromOutside(), (torch.randn(2, 5),), devices=("cpu",))
    assert set(model.weights) == {"inner.embed.0.weight", "inner.embed.0.bias"}


class NamedAsInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.input, self.x = nn.Sequential(nn.Linear(5, 5), nn.ReLU()), nn.Linear(5, 5)

    def forward(self, x):
        return self.x(self.input(x) + x)


def test_submodules_keep_names_that_inputs_have(runner):
    module = nn.Sequential(NamedAsInputs(), NamedAsInputs())
    assert set(runner.compare(module, (torch.randn(2, 5),), devices=("cpu",)).weights) == set(module.state_dict())
    model = runner.compare(module[0], (torch.randn(2, 5),), devices=("cpu",))
    assert set(model.weights) == set(module[0].state_dict()) and list(model.json["inputs"]) == ["x_"]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)

    def forward(self, x, memory):
        return self.norm(x + self.attn(x, memory, memory, need_weights=False)[0])


@pytest.mark.parametrize("training", [False, True])
def test_attention_is_one_layer_in_either_mode(runner, training):
    model = runner.compare(Attention().train(training), (torch.randn(2, 4, 8), torch.randn(2, 6, 8)))
    attention = model.json["layers"][0]
    assert (attention["type"], attention["inputs"]) == ("MultiheadAttention", ["x", "memory", "memory"])


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.lstm = nn.LSTM(6, 5, num_layers=2)
        self.gru = nn.GRU(5, 4, bidirectional=True)
        self.rnn = nn.RNN(8, 3, nonlinearity="relu")

    def forward(self, tokens):
        return self.rnn(self.gru(self.lstm(self.embedding(tokens))[0])[0])[0]


class Stepwise(nn.Module):
    """Cells, one of them called twice."""
    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(6, 5), nn.GRUCell(5, 4, bias=False), nn.RNNCell(5, 3, nonlinearity="relu")

    def forward(self, x):
        h, c = self.lstm(x[:, 0])
        h, c = self.lstm(x[:, 1], (h, c))
        return self.gru(h), self.rnn(c, self.rnn(h))


def test_cells_are_layers(runner):
    model = runner.compare(Stepwise(), (torch.randn(2, 2, 6),))
    cells = [layer for layer in model.json["layers"] if layer["type"].endswith("Cell")]
    assert [cell["type"] for cell in cells] == ["LSTMCell", "LSTMCell", "GRUCell", "RNNCell", "RNNCell"] and cells[1]["share"] == "lstm"


class Checkpointed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(0), nn.Linear(8, 6)) for _ in range(2))
        self.out, self.reentrant = nn.Linear(6, 4), reentrant

    def forward(self, x):
        for block in self.blocks:
            x = x + (checkpoint(block, x, use_reentrant=self.reentrant) if self.training else block(x))
        x = checkpoint(self.out, x, use_reentrant=self.reentrant)
        return checkpoint(lambda y: torch.tanh(y) * 2, x, use_reentrant=self.reentrant)


@pytest.mark.skipif(not hasattr(torch.fx.traceback, "annotate"), reason="this PyTorch can't note anything on nodes")
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_of_modules_are_kept(runner, reentrant):
    model = runner.compare(Checkpointed(reentrant), (torch.randn(2, 6),))
    marked = {layer["name"]: layer.get("checkpoint", False) for layer in model.json["layers"]}
    assert [name for name, mark in marked.items() if mark] == ["blocks.0", "blocks.1", "out"]
    assert len(model.notes) == 1 and "test_import.py" in model.notes[0] and "the checkpoint isn't kept" in model.notes[0]


def test_the_batch_need_not_come_first(runner):
    model = runner.compare(Recurrent(), (torch.randint(0, 11, (7, 3)),), devices=("cpu",), batch_dim=1)
    assert model.json["inputs"]["tokens"] == {"shape": [7, "batch"], "dtype": "int64"}
    assert [layer["type"] for layer in model.json["layers"]] == ["Embedding", "LSTM", "GRU", "RNN"]
    # Without a GPU PyTorch forgets the 1.
    parallel = runner.compare(nn.DataParallel(Recurrent(), dim=1), (torch.randint(0, 11, (7, 3)),), batch_dim=1)
    assert parallel.json["layers"][0]["dim"] == 1


def test_volumes_grow_and_neighbouring_channels_are_compared(runner):
    model = nn.Sequential(nn.ConvTranspose3d(2, 4, 3, stride=2, padding=1, output_padding=1, groups=2), nn.LocalResponseNorm(3, alpha=0.5, k=2.0))
    runner.compare(model, (torch.randn(2, 2, 3, 4, 3),))


def test_data_parallel_outside_and_inside_is_kept(runner):
    inside = nn.Sequential(nn.Linear(4, 6), nn.DataParallel(nn.Sequential(nn.Linear(6, 6), nn.ReLU())), nn.Linear(6, 2))
    model = runner.compare(inside, (torch.randn(2, 4),))
    assert model.json["layers"][1]["type"] == "DataParallel"
    assert {"1.module.0.weight", "2.weight"} <= set(model.weights)
    outside = runner.compare(nn.DataParallel(ConvNet()), (torch.randn(2, 3, 9, 9),))
    assert [layer["type"] for layer in outside.json["layers"]] == ["DataParallel"]
    assert "module.blocks.0.conv.weight" in outside.weights


class InPlace(nn.Module):
    def forward(self, x):
        y = x.clone()
        y += x
        y.mul_(x).relu_()
        return y + x


class Biased(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, bias=None):
        return self.fc(x) + bias


class PassesOn(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Biased()

    def forward(self, **named):
        return self.inner(**named)


@pytest.mark.parametrize("module", [PassesOn(), nn.DataParallel(Biased())])
def test_keywords_that_forward_catches_are_inputs(runner, module):
    x, bias = torch.randn(3, 4), torch.randn(3, 4)
    model = sheaf.from_torch(module, (), {"x": x, "bias": bias})
    assert list(model.json["inputs"]) == ["x", "bias"] and "forward" not in vars(module)
    inner = module.inner if isinstance(module, PassesOn) else module.module
    found, = runner.outputs(model, {"x": x.numpy(), "bias": bias.numpy()}, "cpu:0,cpu:1")
    torch.testing.assert_close(torch.as_tensor(found), inner(x, bias).detach())


def test_writes_in_place_are_values(runner):
    runner.compare(InPlace(), (torch.randn(2, 3),))


class Several(nn.Module):
    def forward(self, x):
        return {"sum": x + x, "same": x}


def test_outputs_have_the_names_of_a_dict(runner):
    model = runner.compare(Several(), (torch.randn(2, 3),))
    assert model.json["outputs"] == ["sum", "same"]


class Refused(nn.Module):
    def forward(self, x):
        y = torch.fft.fft(x).real
        return y * torch.rand_like(x)


def test_what_cannot_be_said_is_refused_with_its_line():
    with pytest.raises(sheaf.Error) as caught:
        sheaf.from_torch(Refused(), torch.randn(2, 4))
    first, *others = caught.value.diagnostics
    assert "fft" in first.message and first.file == __file__ and "torch.fft.fft" in first.source
    assert any("rand_like" in other.message and other.line == first.line + 1 for other in others)


def test_a_layer_that_model_files_lack_is_refused_with_its_line(monkeypatch):
    from sheaf.torch_graph import layer_types

    monkeypatch.setattr(layer_types, "known", lambda: {"Linear": {"in_features", "out_features"}})
    with pytest.raises(sheaf.Error) as caught:
        sheaf.from_torch(Listed(), torch.randn(2, 6))
    messages = [str(d) for d in caught.value.diagnostics]
    assert all("test_import.py" in message and "x = norm(x + layer(x).tanh())" in message for message in messages)
    assert [kind for kind in ("Tanh", "Add", "LayerNorm") if any(f"'{kind}'" in message for message in messages)] == ["Tanh", "Add", "LayerNorm"]


class OverTheBatch(nn.Module):
    def forward(self, x):
        return x - x.mean(0)


def test_a_mean_over_the_batch_is_refused():
    with pytest.raises(sheaf.Error, match="all rows"):
        sheaf.from_torch(OverTheBatch(), torch.randn(2, 4))


class FixedBatch(nn.Module):
    def forward(self, x):
        return x.reshape(2, 2, 2)


def test_a_batch_of_a_fixed_size_is_refused():
    with pytest.raises(sheaf.Error, match="any size"):
        sheaf.from_torch(FixedBatch(), torch.randn(2, 4))


def test_inputs_of_different_batches_ask_for_batch_dim():
    with pytest.raises(sheaf.Error, match="batch_dim"):
        sheaf.from_torch(Attention(), (torch.randn(2, 4, 8), torch.randn(3, 4, 8)))


def test_save_writes_what_json_reads(tmp_path):
    import json

    from safetensors.numpy import load_file

    model = sheaf.from_torch(ConvNet(), torch.randn(2, 3, 9, 9))
    model.save(tmp_path / "net.json", tmp_path / "net.safetensors")
    assert json.loads((tmp_path / "net.json").read_text()) == model.json
    assert load_file(tmp_path / "net.safetensors").keys() == model.weights.keys()
