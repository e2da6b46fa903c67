"""Plans, models and sessions from Python, next to PyTorch."""
import json
import pickle
import threading

import numpy
import pytest
import torch
from torch import nn

import sheaf


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10)).eval()


def compiled(module, x, **options):
    return sheaf.compile(sheaf.from_torch(nn.DataParallel(module), (x,)), **options)


X = torch.randn(7, 1, 6, 6, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def model():
    module = net()
    made = sheaf.Model(compiled(module, X))
    made.module = module
    return made


def close(found, expected):
    numpy.testing.assert_allclose(numpy.asarray(found), expected.detach().numpy(), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("devices", ["cpu", "cpu:0", "cpu:0-2"])
def test_outputs_are_pytorchs(model, devices):
    session = model.bind(devices, batch=7)
    found = session.run(X.numpy())
    assert type(found) is numpy.ndarray and found.dtype == numpy.float32
    close(found, model.module(X))


def test_tensors_in_tensors_out(model):
    found = model.bind("cpu:0,cpu:1", batch=7).run(X)
    assert isinstance(found, torch.Tensor)
    close(found, model.module(X))


def test_inputs_by_name(model):
    session = model.bind("cpu", batch=7)
    name = model.inputs[0].name
    expected = session.run(X.numpy())
    assert (session.run(**{name: X.numpy()}) == expected).all()
    assert (session.run({name: X.numpy()}) == expected).all()


def test_smaller_batches_are_run_too(model):
    session = model.bind("cpu:0,cpu:1", batch=7)
    for rows in (7, 3, 1, 0, 7):
        found = session.run(X[:rows].numpy())
        assert found.shape == (rows, 10)
        close(found, model.module(X[:rows]) if rows else torch.zeros(0, 10))
    with pytest.raises(sheaf.Error, match="a batch of 8 rows"):
        session.run(numpy.zeros((8, 1, 6, 6), "float32"))


def test_what_requires_a_gradient_is_read_without_it(model):
    session = model.bind("cpu", batch=7)
    assert (session.run(X.clone().requires_grad_()) == session.run(X)).all()


def test_what_is_not_dense_is_copied_and_right(model):
    session = model.bind("cpu", batch=7)
    expected = session.run(X.numpy())
    wide = numpy.zeros((7, 1, 6, 12), "float32")
    wide[..., ::2] = X.numpy()
    assert (session.run(wide[..., ::2]) == expected).all()
    assert (session.run(numpy.asfortranarray(X.numpy())) == expected).all()
    assert (session.run(X.flip(0).numpy()[::-1]) == expected).all()


def test_results_are_written_where_the_caller_says(model):
    session = model.bind("cpu", batch=7)
    expected = session.run(X.numpy())
    for out in (numpy.empty((7, 10), "float32"), torch.empty(7, 10)):
        assert session.run(X, out=out) is out
        assert (numpy.asarray(out) == expected).all()
    frozen = numpy.empty((7, 10), "float32")
    frozen.flags.writeable = False
    with pytest.raises(sheaf.Error, match="read-only"):
        session.run(X, out=frozen)
    with pytest.raises(sheaf.Error, match=r"expected float32 \[7, 10\]"):
        session.run(X, out=numpy.empty((7, 9), "float32"))


class Exporter:
    """DLPack and nothing else."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_anything_with_dlpack_or_the_buffer_protocol(model):
    session = model.bind("cpu", batch=7)
    expected = session.run(X.numpy())
    for given in (Exporter(X), memoryview(X.numpy())):
        assert (session.run(given) == expected).all()


def test_nothing_is_copied_in_or_out():
    # An identity's result would be the input's elements; a session reads the caller's elements in place, so changes
    # there show.
    plan = sheaf.compile({"sheaf": "1.0", "name": "scale", "inputs": {"x": {"shape": ["batch", 4]}},
                          "layers": [{"name": "y", "type": "Scale", "value": 2.0}]})
    session = sheaf.Model(plan).bind("cpu", batch=3)
    x, out = torch.ones(3, 4), torch.zeros(3, 4)
    address = out.data_ptr()
    session.run(x, out=out)
    x.mul_(5)
    session.run(x, out=out)
    assert out.data_ptr() == address and (out == 10).all()
    y = session.run(x)
    again = torch.from_dlpack(y)
    assert again.data_ptr() == y.data_ptr()
    array = session.run(x.numpy())
    assert numpy.from_dlpack(array).ctypes.data == array.ctypes.data and array.flags.writeable and array.ctypes.data % 64 == 0


def test_several_inputs_and_outputs():
    class Two(nn.Module):
        def forward(self, a, b):
            return {"sum": a + b, "product": a * b}

    a, b = torch.randn(5, 3), torch.randn(5, 3)
    session = sheaf.Model(sheaf.compile(sheaf.from_torch(Two(), (a, b)))).bind("cpu", batch=5)
    for found in (session.run(a, b), session.run(b=b, a=a), session.run({"a": a, "b": b})):
        assert found.names == ("sum", "product") and len(found) == 2
        assert torch.equal(found["sum"], a + b) and torch.equal(found[1], a * b)
    out = {"product": torch.empty(5, 3), "sum": torch.empty(5, 3)}
    assert session.run(a, b, out=out) is out and torch.equal(out["product"], a * b)
    with pytest.raises(KeyError, match="there is no output 'total'"):
        found["total"]
    with pytest.raises(sheaf.Error, match="some have names and some don't"):
        session.run(a, b=b)


@pytest.mark.parametrize("given, message", [
    (X.double(), "float64.*expected float32"), (X.int(), r"int32 \[7, 1, 6, 6\]; expected float32"), (3.0, "is a float: expected an array"),
    ([[1.0]], "is a list: expected an array"), (X[:, :, :5], r"\[7, 1, 5, 6\]; expected float32 \[7, 1, 6, 6\]"),
    (X.to(torch.complex64), "complex64"), (X.to_sparse(), "Tensor")])
def test_a_wrong_input_is_an_error_that_says_so(model, given, message):
    with pytest.raises(sheaf.Error, match=message):
        model.bind("cpu", batch=7).run(given)


def test_state_dicts_go_both_ways(model):
    module = net()
    other = sheaf.Model(model.plan, seed=3)
    with torch.no_grad():
        for value in module.parameters():
            value.add_(0.25)
    assert other.load_state_dict(module.state_dict()) == ([], [])
    close(other.bind("cpu", batch=7).run(X), module(X))
    assert set(other.state_dict()) == {"module." + name for name in module.state_dict()}
    fresh = nn.DataParallel(net())
    fresh.load_state_dict(other.state_dict("torch"))
    for name, value in fresh.module.state_dict().items():
        if "tracked" not in name:
            assert torch.equal(value, module.state_dict()[name])
    again = sheaf.Model(model.plan, seed=4)
    again.load_state_dict(other.state_dict())
    assert torch.equal(again.bind("cpu", batch=7).run(X), other.bind("cpu", batch=7).run(X))


def test_strict_is_pytorchs(model):
    state = net().state_dict()
    weight = state.pop("4.weight")
    other = sheaf.Model(model.plan)
    before = other.state_dict()
    with pytest.raises(sheaf.Error, match="4.weight"):
        other.load_state_dict(state)
    with pytest.raises(sheaf.Error, match="extra"):
        other.load_state_dict({**state, "4.weight": weight, "extra": weight})
    assert all((value == before[name]).all() for name, value in other.state_dict().items()), "nothing is changed"
    missing, unexpected = other.load_state_dict({**state, "extra": weight}, strict=False)
    assert [name.endswith("4.weight") for name in missing] == [True] and unexpected == ["extra"]
    with pytest.raises(sheaf.Error, match="4.weight"):
        other.load_state_dict({**state, "4.weight": weight.T}, strict=False)


def test_weights_as_files(model, tmp_path):
    model.save(tmp_path / "w.safetensors")
    other = sheaf.Model(model.plan, seed=9)
    assert other.load(tmp_path / "w.safetensors") == ()
    assert torch.equal(other.bind("cpu", batch=7).run(X), model.bind("cpu", batch=7).run(X))


def test_plans_as_files_and_pickles(model, tmp_path):
    model.plan.save(tmp_path / "net.plan")
    for plan in (sheaf.Plan.load(tmp_path / "net.plan"), pickle.loads(pickle.dumps(model.plan))):
        assert bytes(plan) == bytes(model.plan) and plan.programs == ["infer"] and plan.training is None
    assert (sheaf.Model(pickle.loads(pickle.dumps(model.plan))).bind("cpu", batch=7).run(X) == model.bind("cpu", batch=7).run(X)).all()
    with pytest.raises(sheaf.Error) as caught:
        sheaf.Plan.load(tmp_path / "none.plan")
    assert caught.value.diagnostics[0].file == str(tmp_path / "none.plan")


def test_errors_have_places():
    wrong = {"sheaf": "1.0", "name": "net", "inputs": {"x": {"shape": ["batch", 4]}},
             "layers": [{"name": "a", "type": "Linaer", "in_features": 4}, {"name": "b", "type": "Linear", "in_features": "4", "out_features": 2}]}
    with pytest.raises(sheaf.Error) as caught:
        sheaf.compile(wrong)
    first, second = caught.value.diagnostics[:2]
    assert first.file == "net.json" and first.column > 0 and "Linaer" in first.message and "Linaer" in first.source
    assert (second.line, second.column) > (first.line, first.column) and "in_features" in second.message
    assert str(caught.value).startswith(f"net.json:{first.line}:{first.column}: error: ")
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), sheaf.Error)
    for options, message in (({"precision": "f64"}, "f64"), ({"strategy": "magic"}, "magic")):
        with pytest.raises(sheaf.Error, match=message):
            sheaf.compile({**wrong, "layers": [{"name": "a", "type": "ReLU"}]}, **options)
    with pytest.raises(sheaf.Error, match="from_torch"):
        sheaf.compile(nn.ReLU())


def test_devices_that_are_not_there(model):
    for devices in ("abacus:0", "cpu:0,", ""):
        with pytest.raises(sheaf.Error):
            model.bind(devices, batch=7)
    for options in ({"numerics": "loose"}, {"threads": -1}, {"tune": "loud"}):
        with pytest.raises(sheaf.Error):
            model.bind("cpu", batch=7, **options)
    with pytest.raises(sheaf.Error):
        model.bind("cpu", batch=-1)


def test_tuning_measures_and_keeps_what_it_chose(tmp_path, monkeypatch):
    monkeypatch.setenv("SHEAF_CACHE", str(tmp_path))
    plan = sheaf.compile({"sheaf": "1.0", "name": "image", "inputs": {"x": {"shape": ["batch", 16, 12, 12]}}, "layers": [
        {"name": "conv", "type": "Conv2d", "in_channels": 16, "out_channels": 32, "kernel_size": 3}]})
    model = sheaf.Model(plan, seed=1)
    rows = numpy.ones((4, 16, 12, 12), "float32")
    tuned = model.bind("cpu:0", batch=4, tune="quick").run(rows)
    kept = [json.loads(file.read_text()) for file in tmp_path.glob("*.json")]
    assert len(kept) == 1 and len(kept[0]["operations"]) == 1
    numpy.testing.assert_allclose(tuned, model.bind("cpu:0", batch=4).run(rows), rtol=1e-5, atol=1e-5)


def test_print_layers_print_to_pythons_stdout(capsys):
    plan = sheaf.compile({"sheaf": "1.0", "name": "loud", "inputs": {"x": {"shape": ["batch", 4]}}, "layers": [
        {"name": "net", "type": "DataParallel", "module": {"type": "Print", "text": "rows {0}"}}]})
    sheaf.Model(plan).bind("cpu:0,cpu:1", batch=6).run(numpy.zeros((6, 4), "float32"))
    assert capsys.readouterr().out == "rows torch.Size([3, 4])\n" * 2


def test_threads_run_while_a_session_runs(model):
    """Without the GIL: another thread's Python runs on while this one is in a run, which ends only once that thread has
    printed."""
    went_on = threading.Event()

    class Stdout:
        def write(self, line):
            if not went_on.wait(60):
                raise RuntimeError("no other thread ran")

    plan = sheaf.compile({"sheaf": "1.0", "name": "loud", "inputs": {"x": {"shape": ["batch", 4]}}, "layers": [
        {"name": "p", "type": "Print", "text": "x"}]})
    session = sheaf.Model(plan).bind("cpu", batch=2)
    import sys
    before, sys.stdout = sys.stdout, Stdout()
    try:
        runner = threading.Thread(target=session.run, args=(numpy.zeros((2, 4), "float32"),))
        runner.start()
        went_on.set()
        runner.join(60)
        assert not runner.is_alive()
    finally:
        sys.stdout = before


def test_threads_share_a_session(model):
    session, results = model.bind("cpu:0,cpu:1", batch=7), []
    expected = session.run(X)

    def work():
        for rows in (7, 2, 7):
            results.append(torch.equal(session.run(X[:rows]), expected) if rows == 7 else session.run(X[:rows]).shape == (rows, 10))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 12


def test_reports(model):
    found = sheaf.estimate(model, "cpu:0,cpu:1", 30)
    assert [device.device for device in found.devices] == ["host", "cpu:0", "cpu:1"] and found.json and "cpu:1" in str(found)
    assert found._repr_html_().startswith("<pre>")
    bound = model.bind("cpu:0,cpu:1", batch=30).report
    assert [lane.arena_bytes for lane in bound.devices] == [device.arena_bytes for device in found.devices]
    largest = sheaf.largest_batch(model, "cpu:0,cpu:1", 10_000_000)
    assert largest.batch > 0 and f"{largest.batch} rows" in repr(largest)
    nodes, edges = sheaf.graph(model, devices="cpu:0,cpu:1", batch=7)
    assert [node.chunks for node in nodes if node.op == "scatter"] == [[4, 3]]
    assert {edge.source for edge in edges} <= {node.id for node in nodes}
    assert "scatter" in sheaf.dump(model) and json.loads(sheaf.dump(model, "json"))["nodes"]
    assert sheaf.dump(model, "html")._repr_html_().startswith("<iframe") and sheaf.dump(model)._repr_html_() is None
    assert any(layer.operations for layer in sheaf.explain(model, devices="cpu", batch=3).layers)
    assert sheaf.explain(model, "net").layers[0].layer.startswith("net")
    with pytest.raises(sheaf.Error, match="nte"):
        sheaf.explain(model, "nte")
    report = sheaf.verify(model, "cpu:0,cpu:1", 7)
    assert report and report.passed and report.divergence is None
    assert "cpu" in json.dumps(sheaf.devices())
    with pytest.raises(sheaf.Error, match="devices and batch go together"):
        sheaf.dump(model, devices="cpu:0")


def test_a_plan_is_a_picture_in_a_notebook(model, monkeypatch):
    import shutil
    if shutil.which("dot"):
        assert "<svg" in model.plan._repr_svg_()
    monkeypatch.setenv("PATH", "")
    assert model.plan._repr_svg_() is None and "f32" in repr(model.plan)


LENGTHS = {
    "sheaf": "1.0", "name": "text", "inputs": {"tokens": {"shape": ["batch", "seq"], "dtype": "int64"}},
    "layers": [
        {"name": "embed", "type": "Embedding", "num_embeddings": 11, "embedding_dim": 8},
        {"name": "table", "type": "Parameter", "shape": [1, 12, 8]},
        {"name": "position", "type": "Slice", "dim": 1, "end": "seq"},
        {"name": "sum", "type": "Add", "inputs": ["embed", "position"]},
        {"name": "net", "type": "DataParallel", "module": {"type": "MultiheadAttention", "embed_dim": 8, "num_heads": 2, "batch_first": True},
         "inputs": ["sum", "sum", "sum"]}]}


def test_a_session_binds_lengths_as_they_come():
    model = sheaf.Model(sheaf.compile(LENGTHS), seed=1)
    assert model.lengths == {"seq": 12}
    weights = model.state_dict(tensors="torch")
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    attention.load_state_dict({name.removeprefix("net.module."): value for name, value in weights.items() if name.startswith("net.")})
    session = model.bind("cpu:0,cpu:1", batch=5, lengths={"seq": 4})
    for length, rows in ((4, 5), (12, 5), (1, 3), (4, 5)):
        tokens = torch.randint(0, 11, (rows, length), generator=torch.Generator().manual_seed(length))
        x = weights["embed.weight"][tokens] + weights["table"][:, :length]
        close(session.run(tokens), attention(x, x, x)[0])
    session.prepare(2, lengths={"seq": 7})
    with pytest.raises(sheaf.Error, match="the length 'seq', at most 12, can't be 13, as it is by input 'tokens'"):
        session.run(torch.zeros(5, 13, dtype=torch.int64))
    with pytest.raises(sheaf.Error, match="the length 'seq', at most 12, has no number"):
        model.bind("cpu", batch=5)
