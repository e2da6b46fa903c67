"""ONNX graphs become model files that compute the same: those of PyTorch's exporters, and each operator's own cases,
which come with onnx."""
import collections

import numpy
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests
from torch import nn
from torch.nn import functional as F

import sheaf
from sheaf.onnx_graph.graph import read
from sheaf.onnx_graph.operators import OPERATORS
from sheaf.onnx_graph.program import module_of


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.conv = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.slope = nn.PReLU(8)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.fc = nn.Linear(12, 5)

    def forward(self, x):
        x = self.norm(F.relu(self.stem(x)))
        x = F.max_pool2d(self.slope(self.conv(x)) + x, 3, 2, 1)
        y = F.interpolate(self.up(x), scale_factor=2.0)
        z = F.avg_pool2d(F.pad(x, (1, 0, 1, 0)), 2)
        return F.log_softmax(self.fc(torch.cat([y.mean((2, 3)), z.amax((2, 3))], 1)), 1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 16)
        self.place = nn.Parameter(torch.randn(1, 5, 16))
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.rnn = nn.LSTM(16, 6, 2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(12, 3, batch_first=True)

    def forward(self, x):
        x = self.layer(self.table(x) + self.place)
        return self.gru(self.rnn(x)[0])[0][:, -1]


PICTURES, WORDS = torch.randn(2, 3, 12, 12), torch.randint(0, 11, (2, 5))


def written(module, example, path, dynamo):
    torch.manual_seed(1)
    module.eval()
    if dynamo:
        torch.onnx.export(module, (example,), path, dynamo=True, dynamic_shapes=({0: torch.export.Dim.DYNAMIC},), verbose=False)
    else:
        torch.onnx.export(module, (example,), path, dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    return path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamo", (False, True))
@pytest.mark.parametrize("make,example", ((ConvNet, PICTURES), (Encoder, WORDS)))
def test_both_of_pytorchs_exporters(runner, make, example, dynamo):
    module = make().eval()
    model = sheaf.from_onnx(written(module, example, runner.folder / "net.onnx", dynamo))
    more = torch.cat([example] * 3)
    found = runner.outputs(model, {next(iter(model.json["inputs"])): more.numpy()}, "cpu:0-2")[0]
    with torch.no_grad():
        numpy.testing.assert_allclose(found, module(more).numpy(), rtol=0, atol=1e-5)
    types = collections.Counter(layer["type"] for layer in model.json["layers"])
    if make is ConvNet:
        assert types["Conv2d"] == 2 and types["BatchNorm2d"] == types["PReLU"] == types["ConvTranspose2d"] == types["Linear"] == 1
        assert {"fc.weight", "fc.bias", "up.weight"} <= set(model.weights)
    else:
        assert types["Embedding"] == types["Parameter"] == types["GRU"] == 1 and types["LSTM"] == 2 and types["LayerNorm"] == 2


class Reader(nn.Module):
    """Attention with a causal and a padding mask, positions, and recurrent layers, of any number of words."""
    def __init__(self):
        super().__init__()
        self.table, self.place = nn.Embedding(11, 16), nn.Parameter(torch.randn(1, 64, 16))
        self.qkv, self.out, self.rnn = nn.Linear(16, 48), nn.Linear(16, 6), nn.LSTM(6, 5, 2, bidirectional=True, batch_first=True)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)).bool())

    def forward(self, words, keep):
        n = words.shape[1]
        x = self.table(words) + self.place[:, :n]
        q, k, v = (part.view(part.shape[0], n, 4, 4).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        scores = (q @ k.transpose(-1, -2) / 2.0).masked_fill(~(self.mask[:n, :n] & keep[:, None, None]), -1e9)
        return self.rnn(self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(words.shape[0], n, 16)))[0].mean(1)


@pytest.mark.filterwarnings("ignore")
def test_free_sizes_may_be_lengths(tmp_path):
    torch.manual_seed(1)
    module = Reader().eval()
    torch.onnx.export(module, (WORDS, torch.ones(2, 5, dtype=torch.bool)), tmp_path / "net.onnx", dynamo=False, input_names=["words", "keep"],
                      dynamic_axes={name: {0: "batch", 1: "sequence"} for name in ("words", "keep")})
    model = sheaf.from_onnx(tmp_path / "net.onnx", lengths={"words": {1: torch.export.Dim("seq", max=64)}})
    assert [value["shape"] for value in model.json["inputs"].values()] == [["batch", "seq"]] * 2  # the graph calls both sizes "sequence"
    assert sheaf.from_onnx(tmp_path / "net.onnx", lengths={"words": {-1: torch.export.Dim("seq", max=64)}}).json == model.json
    compiled = sheaf.Model(sheaf.compile(model))
    for n in (2, 5, 64):
        words, keep = torch.randint(0, 11, (5, n)), torch.rand(5, n) > 0.3
        keep[:, 0] = True
        found = compiled.bind("cpu:0,cpu:1", batch=5, lengths={"seq": n}).run(words, keep)
        with torch.no_grad():
            numpy.testing.assert_allclose(found.numpy(), module(words, keep).numpy(), rtol=0, atol=1e-5)
    for given, message in (({"words": {2: "seq"}}, "dimension 2 of 'words' isn't a free size"), ({"keep": {1: "a"}, "words": {1: "b"}}, "named both"),
                           ({"x": {1: "seq"}}, "the inputs are words, keep")):
        with pytest.raises(sheaf.Error, match=message):
            sheaf.from_onnx(tmp_path / "net.onnx", lengths=given)


@pytest.mark.filterwarnings("ignore")
def test_it_trains_as_the_module_does(runner):
    module = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    x, label = torch.randn(16, 6), torch.randint(0, 3, (16,))
    model = sheaf.from_onnx(written(module, x, runner.folder / "net.onnx", False))
    plan = sheaf.compile(model, loss=nn.CrossEntropyLoss(), optimizer={"type": "SGD", "lr": 0.1})
    trained = sheaf.Model(plan)
    trainer = trained.trainer("cpu:0,cpu:1", batch=16)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(module(x), label)
        loss.backward()
        optimizer.step()
        assert trainer.step(x, label) == pytest.approx(loss.item(), abs=1e-5)
    for name, value in module.state_dict().items():
        numpy.testing.assert_allclose(trained.state_dict()[name], value.numpy(), rtol=0, atol=1e-5)


def graph(nodes, inputs, tensors=(), outputs=("y",)):
    made = helper.make_graph(nodes, "net", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
                             [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * len(shape)) for name, shape in zip(outputs, inputs.values())],
                             [numpy_helper.from_array(numpy.asarray(value), name) for name, value in dict(tensors).items()])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)])


def test_what_can_not_be_expressed_is_named_with_its_node(tmp_path):
    onnx.save(graph([helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Det", ["a"], ["b"]), helper.make_node("CumSum", ["b", "axis"], ["y"], exclusive=1)],
                    {"x": ["batch", 3, 3]}, {"axis": numpy.array(1)}), tmp_path / "net.onnx")
    with pytest.raises(sheaf.Error) as caught:
        sheaf.from_onnx(tmp_path / "net.onnx")
    first = caught.value.diagnostics[0]
    assert (first.file, first.line, first.source) == (str(tmp_path / "net.onnx"), 2, "b = Det(a)")
    assert "'Det' has no counterpart" in first.message


def test_a_form_that_can_not_be_expressed(tmp_path):
    model = graph([helper.make_node("CumSum", ["x", "axis"], ["y"], exclusive=1)], {"x": ["batch", 3]}, {"axis": numpy.array(1)})
    with pytest.raises(sheaf.Error, match="1: error: 'CumSum' leaves each element out of its own sum"):
        sheaf.from_onnx(model)


def test_free_sizes_are_given():
    model = graph([helper.make_node("Relu", ["x"], ["y"])], {"x": ["batch", "words", 3]})
    with pytest.raises(sheaf.Error, match='a free size \'words\' besides the batch: give it, as in sizes={"words": 128}'):
        sheaf.from_onnx(model)
    assert sheaf.from_onnx(model, sizes={"words": 7}).json["inputs"] == {"x": {"shape": ["batch", 7, 3], "dtype": "float32"}}
    with pytest.raises(sheaf.Error, match="'letters', which is no size of an input"):
        sheaf.from_onnx(model, sizes={"words": 7, "letters": 2})


def test_files_that_are_none(tmp_path):
    (tmp_path / "text.onnx").write_text("not a graph")
    for name in ("text.onnx", "absent.onnx"):
        with pytest.raises(sheaf.Error, match="it can't be read as ONNX"):
            sheaf.from_onnx(tmp_path / name)


def test_a_matrix_that_two_layers_have_is_one():
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["b"]), helper.make_node("MatMul", ["b", "w"], ["y"])]
    model = sheaf.from_onnx(graph(nodes, {"x": ["batch", 3]}, {"w": numpy.eye(3, dtype=numpy.float32)}))
    assert [layer.get("share") is not None for layer in model.json["layers"] if layer["type"] == "Linear"] == [False, True]


# What these need: types that PyTorch lacks, reductions of nothing, indices from the end that depend on data.
_OTHERS = ("uint16", "uint32", "uint64", "empty_set", "gather_elements_negative_indices", "causal_conv_with_state")


def cases():
    for case in load_model_tests(kind="node"):
        if case.model is None or not case.data_sets or not {node.op_type for node in case.model.graph.node} <= {*OPERATORS, "Constant"}:
            continue
        if not any(word in case.name for word in _OTHERS):
            yield case


def with_weights(case, given):
    """The case's model, with the tensors that would be a layer's weights, and small integers, as initializers; and the
    other inputs."""
    model, rest = onnx.ModelProto(), []
    model.CopyFrom(case.model)
    weighted = {"Conv", "ConvTranspose", "BatchNormalization", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "PRelu", "LSTM", "GRU", "RNN",
                "Gemm", "Resize", "Upsample"} & {node.op_type for node in model.graph.node}
    for position, (value, array) in enumerate(zip(case.model.graph.input, given)):
        if position and (weighted or array.dtype in (numpy.int64, numpy.int32, numpy.bool_) or array.size < 2):
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
        else:
            rest.append(torch.from_numpy(array))
    return model, rest


def test_operators_are_onnxs():
    """Every case is computed as onnx says, or refused."""
    right, wrong = 0, []
    for case in cases():
        try:
            given, expected = ([numpy.array(array) for array in arrays] for arrays in case.data_sets[0])
            model, rest = with_weights(case, given)
        except (TypeError, ValueError, AttributeError):
            continue  # sequences, texts, and types of eight bits and less
        if any(array.dtype.kind not in "fiub" or array.dtype.itemsize < 1 for array in [*given, *expected]):
            continue
        try:
            found = module_of(read(model))(*rest)
        except sheaf.Error:
            continue
        found = found if isinstance(found, tuple) else (found,)
        for a, e in zip(found, expected, strict=True):
            if a is not None and not (tuple(a.shape) == e.shape and numpy.allclose(a.detach().numpy(), e, rtol=1e-3, atol=1e-4, equal_nan=True)):
                wrong.append(case.name)
        right += 1
    assert not wrong
    assert right > 800
