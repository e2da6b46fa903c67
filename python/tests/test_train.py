"""Training from Python, next to PyTorch."""
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sheaf

G = torch.Generator().manual_seed(5)
X, LABEL = torch.randn(20, 6, generator=G), torch.randint(0, 3, (20,), generator=G)


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))


def compiled(module, **options):
    options = {"loss": nn.CrossEntropyLoss(), "optimizer": {"type": "SGD", "lr": 0.1, "momentum": 0.9}, **options}
    return sheaf.compile(sheaf.from_torch(nn.DataParallel(module), (X,)), **options)


@pytest.fixture(scope="module")
def plan():
    return compiled(net())


def test_steps_are_pytorchs(plan):
    module = net()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    model = sheaf.Model(plan)
    trainer = model.trainer("cpu:0,cpu:1", batch=8)
    assert [value.name for value in trainer.inputs] == ["input", "label"] and trainer.learning_rate == 0.1
    for first, last in ((0, 8), (8, 16), (16, 20), (0, 8)):
        x, label = X[first:last], LABEL[first:last]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(module(x), label)
        loss.backward()
        optimizer.step()
        assert trainer.step(x, label.numpy()) == pytest.approx(loss.item(), abs=1e-5)
    assert trainer.steps == 4
    for name, value in model.state_dict().items():
        numpy.testing.assert_allclose(value, module.state_dict()[name.removeprefix("module.")].numpy(), atol=1e-5)
    assert sorted(trainer.optimizer_state()) == sorted(f"net.{name}.momentum_buffer" for name in model.state_dict())


def test_parameter_groups_are_pytorchs():
    module = net()
    groups = [{"params": [p for p in module.parameters() if p.dim() == 1], "weight_decay": 0.0}, {"params": [module[2].weight], "lr": 0.01},
              {"params": [module[0].weight]}]
    optimizer = torch.optim.AdamW(groups, lr=0.1, weight_decay=0.5)
    plan = compiled(module, optimizer=optimizer)
    assert plan.training["optimizer"]["parameter_groups"] == [{"weight_decay": 0.0, "parameters": ["net.module.0.bias", "net.module.2.bias"]},
                                                              {"lr": 0.01, "parameters": ["net.module.2.weight"]}]
    model = sheaf.Model(plan)
    trainer = model.trainer("cpu:0,cpu:1", batch=20)
    for rate in (1.0, 1.0, 0.5):
        trainer.learning_rate = 0.1 * rate
        for group, base in zip(optimizer.param_groups, (0.1, 0.01, 0.1)):
            group["lr"] = base * rate
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(module(X), LABEL)
        loss.backward()
        optimizer.step()
        assert trainer.step(X, LABEL.numpy()) == pytest.approx(loss.item(), abs=1e-5)
    for name, value in model.state_dict().items():
        numpy.testing.assert_allclose(value, module.state_dict()[name.removeprefix("module.")].numpy(), atol=1e-5)


def test_a_rate_is_reduced_where_the_loss_stays():
    module = net()
    optimizer = torch.optim.SGD(module.parameters(), lr=2.0)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0, threshold=0.05)
    given = {"type": "ReduceLROnPlateau", "factor": 0.5, "patience": 0, "threshold": 0.05}
    trainer = sheaf.Model(compiled(module, optimizer={"type": "SGD", "lr": 2.0}, schedule=given)).trainer("cpu", batch=20)
    assert trainer.monitor == "train_loss"
    for record in trainer.fit([(X, LABEL.numpy())], epochs=12):
        assert record["learning_rate"] == optimizer.param_groups[0]["lr"]
        schedule.step(record["train_loss"])
    assert trainer.learning_rate == optimizer.param_groups[0]["lr"] < 2.0
    watching = sheaf.Model(compiled(module, schedule={**given, "monitor": "eval_loss"})).trainer("cpu", batch=20)
    with pytest.raises(sheaf.Error, match="follows eval_loss"):
        watching.fit([(X, LABEL.numpy())])


def test_a_batch_norm_that_is_called_twice():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.norm = nn.Linear(6, 4), nn.Linear(4, 4), nn.BatchNorm1d(4)

        def forward(self, x):
            return self.norm(self.second(torch.tanh(self.norm(self.first(x)))))

    torch.manual_seed(0)
    module = Twice()
    plan = compiled(module, optimizer={"type": "SGD", "lr": 0.1})
    model = sheaf.Model(plan)
    trainer, optimizer = model.trainer("cpu:0", batch=20), torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(module(X), LABEL)
        loss.backward()
        optimizer.step()
        assert trainer.step(X, LABEL) == pytest.approx(loss.item(), abs=1e-5)
    found = model.state_dict()
    assert found["module.norm.num_batches_tracked"] == 4
    for name, value in module.state_dict().items():
        numpy.testing.assert_allclose(found[f"module.{name}"], value.numpy(), atol=1e-5)


def test_a_batch_norm_in_evaluation_mode_stays_so_in_training():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 1), nn.BatchNorm2d(2))
    for tensor, low in ((net[1].running_mean, -1.0), (net[1].running_var, 0.5), (net[1].weight.data, 0.2), (net[1].bias.data, -0.5)):
        tensor.uniform_(low, low + 1)
    net[1].eval()
    model = sheaf.from_torch(net, torch.randn(2, 3, 6, 6))
    trainer = sheaf.Model(sheaf.compile(model, loss=nn.MSELoss(), optimizer={"type": "SGD", "lr": 0.1})).trainer("cpu:0", batch=4)
    optimizer, x, target = torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(4, 3, 6, 6), torch.randn(4, 2, 4, 4)
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), target)
        loss.backward()
        optimizer.step()
        assert float(trainer.step(x, target)) == pytest.approx(loss.item(), rel=1e-4)


def test_values_by_name(plan):
    losses = [sheaf.Model(plan).trainer("cpu", batch=20).step(*given, **named) for given, named in
              (((X, LABEL), {}), ((), {"label": LABEL, "input": X}), (({"input": X, "label": LABEL},), {}))]
    assert losses[0] == losses[1] == losses[2]


def test_shards_give_the_same_bits_on_all_devices(plan):
    def trained(devices):
        trainer = sheaf.Model(plan).trainer(devices, batch=20, shards=4)
        losses = [trainer.step(X, LABEL) for _ in range(3)]
        return losses, trainer.model.state_dict(), trainer.evaluate([(X, LABEL)])

    (losses, weights, evaluated), (others, same, likewise) = trained("cpu:0"), trained("cpu:0-2")
    assert losses == others and evaluated == likewise and all((value == same[name]).all() for name, value in weights.items())
    with pytest.raises(sheaf.Error, match="shards 0"):
        sheaf.Model(plan).trainer("cpu:0", batch=20, shards=0)


def test_the_strategy():
    losses = [sheaf.Model(compiled(net(), strategy=strategy)).trainer("cpu:0,cpu:1", batch=20).step(X, LABEL)
              for strategy in ("data_parallel", "replicated", "sharded", "fully_sharded")]
    assert losses[1:] == [pytest.approx(losses[0], abs=1e-6)] * 3


@pytest.mark.parametrize("given, message", [
    ((X,), "1 inputs are given"), ((X, LABEL.int()), r"int32 \[20\]; expected int64"), ((X, LABEL[:5]), r"\[5\]; expected int64 \[20\]"),
    ((X.repeat(2, 1), LABEL.repeat(2)), "a batch of 40 rows")])
def test_a_wrong_batch_is_an_error(plan, given, message):
    trainer = sheaf.Model(plan).trainer("cpu", batch=20)
    with pytest.raises(sheaf.Error, match=message):
        trainer.step(*given)
    assert trainer.steps == 0


def test_fit_and_evaluate(plan, capsys):
    model = sheaf.Model(plan)
    trainer = model.trainer("cpu:0,cpu:1", batch=8)
    loader = DataLoader(TensorDataset(X, LABEL), batch_size=8)
    history = trainer.fit(loader, epochs=12, eval=loader, progress=True)
    assert [record["epoch"] for record in history] == list(range(1, 13)) and history[0]["steps"] == 3 and history[0]["rows"] == 20
    assert history["train_loss"][-1] < 0.5 * history["train_loss"][0]
    assert "epoch 12" in capsys.readouterr().err and "<table>" in history._repr_html_() and str(history).count("\n") == 11
    module = net()
    module.load_state_dict({name.removeprefix("module."): value for name, value in model.state_dict("torch").items()})
    with torch.no_grad():
        logits = module(X)
    found = trainer.evaluate(loader)
    assert found["rows"] == 20 and found["loss"] == pytest.approx(nn.functional.cross_entropy(logits, LABEL).item(), abs=1e-5)
    assert found["accuracy"] == pytest.approx((logits.argmax(1) == LABEL).float().mean().item())
    assert history[-1]["eval_loss"] == pytest.approx(found["loss"]) and trainer.epochs == 12
    with pytest.raises(sheaf.Error, match="iterator"):
        trainer.fit(iter(loader), epochs=2)
    with pytest.raises(sheaf.Error, match="no batches"):
        trainer.fit([])
    with pytest.raises(sheaf.Error, match="a batch has 1 values; a step takes input, label"):
        trainer.fit([(X,)])
    with pytest.raises(sheaf.Error, match="3 classes"):
        trainer.evaluate([(X[:2], torch.tensor([0, 3]))])


class UnderWay(sheaf.Trainer):
    """Starts a step before the one before it is finished, as trainers on GPUs do; on CPUs a step is over once it is started."""
    _overlaps = True


def bits(trainer):
    return {name: value.tobytes() for name, value in {**trainer.model.state_dict(), **trainer.optimizer_state()}.items()}


def in_steps(plan, batches):
    """A trainer that has done them one by one."""
    trainer = sheaf.Model(plan).trainer("cpu:0,cpu:1", batch=8)
    for batch in batches:
        trainer.step(*batch)
    return trainer


def test_steps_under_way_are_those_of_one_after_another(plan):
    loader = DataLoader(TensorDataset(X, LABEL), batch_size=8)
    histories, left = [], []
    for kind in (sheaf.Trainer, UnderWay):
        trainer = kind(sheaf.Model(plan), "cpu:0,cpu:1", 8)
        histories.append([{name: value for name, value in record.items() if name != "seconds"} for record in trainer.fit(loader, epochs=3, eval=loader)])
        assert trainer.steps == 9 and trainer._under_way == 0
        left.append(bits(trainer))
    assert histories[0] == histories[1] and left[0] == left[1] == bits(in_steps(plan, [*loader] * 3))


@pytest.mark.parametrize("kind", [sheaf.Trainer, UnderWay])
def test_what_ends_an_epoch_leaves_the_last_complete_step(plan, kind):
    batches = [(X[i:i + 8], LABEL[i:i + 8]) for i in range(0, 12, 3)]
    broken = [*batches[:2], (torch.full((8, 6), float("nan")), LABEL[:8]), *batches[2:]]
    trainer = kind(sheaf.Model(plan), "cpu:0,cpu:1", 8)
    with pytest.raises(sheaf.Error, match="the loss of step 3 is nan: layer 'net.module.0' is the first"):
        trainer.fit(broken)
    assert trainer.steps == 2 and trainer._under_way == 0 and bits(trainer) == bits(in_steps(plan, batches[:2]))

    def interrupted():
        yield from batches[:3]
        raise KeyboardInterrupt

    trainer = kind(sheaf.Model(plan), "cpu:0,cpu:1", 8)
    with pytest.raises(KeyboardInterrupt):
        trainer.fit(interrupted())
    assert trainer.steps == 3 and trainer._under_way == 0 and bits(trainer) == bits(in_steps(plan, batches[:3]))
    with pytest.raises(sheaf.Error, match=r"expected int64 \[8\]"):
        trainer.fit([batches[0], (X[:8], LABEL[:5])])
    assert trainer.steps == 4 and trainer._under_way == 0


def test_others_wait_for_steps_under_way(plan, tmp_path):
    trainer = sheaf.Model(plan).trainer("cpu:0,cpu:1", batch=8)
    given = {"input": X[:8], "label": LABEL[:8]}
    first, second = trainer._start(given), trainer._start(given)
    assert trainer._under_way == 2
    trainer.save(tmp_path / "run.safetensors")  # after both
    other = sheaf.Model(plan).trainer("cpu:0,cpu:1", batch=8)
    other.restore(tmp_path / "run.safetensors")
    assert other.steps == 2 and trainer._under_way == 0
    expected = sheaf.Model(plan).trainer("cpu:0,cpu:1", batch=8)
    assert [trainer._finish(first), trainer._finish(second)] == [expected.step(given), expected.step(given)]
    steps = [trainer._start(given) for _ in range(3)]  # the third waits for the first
    assert trainer._under_way == 2 and trainer.step(given) < trainer._finish(steps[0]) and trainer.steps == 6
    with pytest.raises(sheaf.Error, match="internal error: a step of another trainer"):
        other._finish(trainer._start(given))


def test_the_learning_rate(plan):
    trainer = sheaf.Model(plan).trainer("cpu", batch=20)
    trainer.learning_rate = 0.0
    before = trainer.model.state_dict()
    trainer.step(X, LABEL)
    assert trainer.learning_rate == 0 and all((value == before[name]).all() for name, value in trainer.model.state_dict().items())
    scheduled = sheaf.Model(compiled(net(), schedule={"type": "StepLR", "step_size": 1, "gamma": 0.5})).trainer("cpu", batch=20)
    history = scheduled.fit([(X, LABEL)], epochs=3)
    assert history["learning_rate"] == pytest.approx([0.1, 0.05, 0.025])


def test_training_goes_on_from_a_file(plan, tmp_path):
    first = sheaf.Model(plan).trainer("cpu:0,cpu:1", batch=20)
    for _ in range(2):
        first.step(X, LABEL)
    first.save(tmp_path / "run.safetensors")
    expected = [first.step(X, LABEL) for _ in range(3)]
    other = sheaf.Model(plan, seed=7).trainer("cpu:0,cpu:1", batch=20)
    other.restore(tmp_path / "run.safetensors")
    assert other.steps == 2 and [other.step(X, LABEL) for _ in range(3)] == expected
    (tmp_path / "run.safetensors").write_bytes(b"damaged")
    with pytest.raises(sheaf.Error, match="run.safetensors"):
        other.restore(tmp_path / "run.safetensors")


def test_a_loss_that_is_not_finite_names_the_layer(plan):
    trainer = sheaf.Model(plan).trainer("cpu", batch=20)
    x = X.clone()
    x[3, 2] = float("inf")
    before = trainer.model.state_dict()
    with pytest.raises(sheaf.Error, match="layer 'net.module.0'"):
        trainer.fit([(x, LABEL)])
    assert trainer.steps == 0 and all((value == before[name]).all() for name, value in trainer.model.state_dict().items())


def test_a_scaled_loss_tells_its_scale_and_what_was_skipped():
    plan = compiled(net(), loss=nn.CrossEntropyLoss(reduction="sum"), loss_scale={"init_scale": 2.0 ** 127, "growth_interval": 4})
    trainer = sheaf.Model(plan).trainer("cpu", batch=20)
    assert trainer.loss_scale == {"scale": 2.0 ** 127, "growth_count": 0, "updates": 0, "skipped": 0}
    record = trainer.fit([(X, LABEL)] * 12)[-1]
    scale = trainer.loss_scale
    assert scale["skipped"] > 0 and scale["updates"] + scale["skipped"] == trainer.steps == 12
    assert (record["loss_scale"], record["skipped_steps"]) == (scale["scale"], scale["skipped"])
    assert sheaf.Model(compiled(net())).trainer("cpu", batch=20).loss_scale is None


class RootOfZero(nn.Module):
    """A finite loss whose gradient is NaN: where x is below 0."""
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x):
        return (self.fc(x) * torch.relu(x)).abs().sqrt()


def test_gradients_that_stay_nan_end_the_training():
    trainer = sheaf.Model(compiled(RootOfZero(), loss_scale={})).trainer("cpu", batch=20)
    with pytest.raises(sheaf.Error, match="no smaller one can help"):
        trainer.fit([(X, LABEL)] * 100)
    assert trainer.steps == 50


class Heads(nn.Module):
    """Several outputs of one body."""
    def __init__(self, count, positive=()):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.heads, self.positive = nn.Linear(6, 8), nn.ModuleList(nn.Linear(8, 3) for _ in range(count)), positive

    def forward(self, x):
        x = torch.tanh(self.body(x))
        return tuple(head(x).exp() if i in self.positive else head(x) for i, head in enumerate(self.heads))


@pytest.mark.parametrize("criterion, heads, order", [
    (nn.TripletMarginLoss(p=1, swap=True), Heads(3), [0, 1, 2]), (nn.GaussianNLLLoss(full=True), Heads(2, {1}), [0, None, 1]),
    (nn.CosineEmbeddingLoss(margin=0.2), Heads(2), [0, 1, None]), (nn.MarginRankingLoss(margin=0.5), Heads(2), [0, 1, None])],
    ids=lambda value: type(value).__name__)
def test_losses_of_several_outputs(criterion, heads, order):
    shape = (20,) if isinstance(criterion, nn.CosineEmbeddingLoss) else (20, 3)
    target = torch.randn(shape, generator=torch.Generator().manual_seed(1)).sign()
    batch = (X, target) if None in order else (X,)
    trainer = sheaf.Model(compiled(heads, loss=criterion, optimizer="SGD")).trainer("cpu:0,cpu:1", batch=20)
    outputs = heads(X)
    loss = criterion(*[target if i is None else outputs[i] for i in order]).item()
    assert trainer.evaluate([batch])["loss"] == pytest.approx(loss, abs=1e-5)
    assert trainer.step(*batch) == pytest.approx(loss, abs=1e-5)


@pytest.mark.parametrize("criterion, target", [
    (nn.MultiMarginLoss(p=2, weight=torch.tensor([1.0, 2.0, 3.0])), torch.arange(20) % 3), (nn.MultiLabelMarginLoss(), torch.arange(60).reshape(20, 3) % 4 - 1),
    (nn.MultiLabelSoftMarginLoss(), torch.arange(60).reshape(20, 3) % 2.0)], ids=lambda value: type(value).__name__)
def test_losses_of_margins(criterion, target):
    module = net()
    trainer = sheaf.Model(compiled(module, loss=criterion, optimizer="SGD")).trainer("cpu:0,cpu:1", batch=20)
    loss = criterion(module(X), target).item()
    assert trainer.evaluate([(X, target)])["loss"] == pytest.approx(loss, abs=1e-5)
    assert trainer.step(X, target) == pytest.approx(loss, abs=1e-5)


def test_the_training_section(tmp_path):
    module = net()
    described = compiled(module, loss=nn.CrossEntropyLoss(label_smoothing=0.1, weight=torch.tensor([1.0, 2.0, 3.0])),
                         optimizer=torch.optim.Adam(module.parameters(), lr=0.02, betas=(0.8, 0.9))).training
    assert described["loss"]["type"] == "CrossEntropyLoss" and described["loss"]["arguments"]["label_smoothing"] == 0.1
    assert described["loss"]["arguments"]["weight"] == [1, 2, 3] and described["metrics"] == ["accuracy"]
    assert described["optimizer"]["lr"] == 0.02 and described["optimizer"]["betas"] == [0.8, 0.9]
    regression = compiled(module, loss="MSELoss", optimizer="SGD").training
    assert regression["targets"] == {"target": {"shape": ["batch", 3], "dtype": "float32"}} and regression["metrics"] == []
    file = sheaf.from_torch(module, (X,))
    file.json["training"] = {"targets": {"t": {"shape": ["batch", 3]}}, "loss": {"type": "L1Loss"}, "optimizer": {"type": "SGD", "lr": 1}}
    own = sheaf.compile(file, optimizer={"type": "Adam"}).training
    assert own["loss"]["type"] == "L1Loss" and own["optimizer"]["type"] == "Adam"
    file.save(tmp_path / "net.json")
    assert sheaf.compile(tmp_path / "net.json", loss="MSELoss").training["loss"]["type"] == "MSELoss"
    (tmp_path / "bad.json").write_text("{")
    for name in ("bad.json", "none.json"):
        with pytest.raises(sheaf.Error, match=name):
            sheaf.compile(tmp_path / name, loss="MSELoss", optimizer="SGD")
    with pytest.raises(sheaf.Error, match="has no optimizer"):
        compiled(module, optimizer=None)
    with pytest.raises(sheaf.Error, match="group 1 has a 'momentum' of its own"):
        compiled(module, optimizer=torch.optim.SGD([{"params": [p], "momentum": m} for p, m in zip(module.parameters(), (0, 0.5))], lr=0.1))
    with pytest.raises(sheaf.Error, match="isn't one of the model file's weights"):
        compiled(module, optimizer=torch.optim.SGD([{"params": p, "weight_decay": 0.1 * i} for i, p in enumerate(net().parameters())], lr=0.1))
    with pytest.raises(sheaf.Error, match="no training program"):
        sheaf.Model(sheaf.compile(sheaf.from_torch(module, (X,)))).trainer("cpu", batch=4)


def test_ctrl_c_ends_a_step_cleanly():
    """Steps in a loop; the signal comes from outside. The step that it interrupts is completed, and the trainer goes
    on."""
    program = textwrap.dedent("""
        import numpy, sheaf
        plan = sheaf.compile({"sheaf": "1.0", "name": "net", "inputs": {"x": {"shape": ["batch", 64]}},
                              "layers": [{"name": "fc", "type": "Linear", "in_features": 64, "out_features": 3}]},
                             loss="CrossEntropyLoss", optimizer={"type": "SGD", "lr": 0.1})
        trainer = sheaf.Model(plan).trainer("cpu:0,cpu:1", batch=512)
        x, label = numpy.ones((512, 64), "float32"), numpy.zeros(512, "int64")
        trainer.step(x, label)
        for _ in range(3):
            try:
                print("begun", flush=True)
                while True:
                    before = trainer.steps
                    trainer.step(x, label)
            except KeyboardInterrupt:
                assert trainer.steps in (before, before + 1)
                trainer.step(x, label)
        print("went on", trainer.steps > 3)
    """)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=os.environ)
    for _ in range(3):
        assert child.stdout.readline() == "begun\n"
        time.sleep(0.05)  # into the steps
        child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert (out, child.returncode) == ("went on True\n", 0)


def test_signals_wait_for_a_step_to_end():
    """Many of them, whatever their handler does: kernels that use the memory beyond the stack's end see none."""
    program = textwrap.dedent("""
        import numpy, sheaf, signal
        plan = sheaf.compile({"sheaf": "1.0", "name": "net", "inputs": {"x": {"shape": ["batch", 64]}},
                              "layers": [{"name": "fc", "type": "Linear", "in_features": 64, "out_features": 64}]},
                             loss="MSELoss", optimizer={"type": "SGD", "lr": 0.1})
        trainer = sheaf.Model(plan).trainer("cpu", batch=512)
        x, y = numpy.ones((512, 64), "float32"), numpy.ones((512, 64), "float32")
        taken = []
        signal.signal(signal.SIGALRM, lambda *_: taken.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        while len(taken) < 200:
            trainer.step(x, y)
        signal.setitimer(signal.ITIMER_REAL, 0)
    """)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


BLOCK = {"outputs": ["back", "scores"], "layers": [
    {"name": "norm", "type": "LayerNorm", "normalized_shape": 8},
    {"name": "attention", "type": "MultiheadAttention", "embed_dim": 8, "num_heads": 2, "batch_first": True, "inputs": ["norm", "norm", "norm"]},
    {"name": "add", "type": "Add", "inputs": ["attention", "input"]},
    {"name": "flat", "type": "Flatten", "start_dim": 0, "end_dim": 1}, {"name": "up", "type": "Linear", "in_features": 8, "out_features": 6},
    {"name": "gelu", "type": "GELU"}, {"name": "back", "type": "Reshape", "shape": [-1, "seq", 6]},
    {"name": "scores", "type": "Softmax", "dim": 1}]}
TEXT = {
    "sheaf": "1.0", "name": "text", "inputs": {"tokens": {"shape": ["batch", "seq"], "dtype": "int64"}}, "modules": {"Block": BLOCK},
    "layers": [
        {"name": "embed", "type": "Embedding", "num_embeddings": 11, "embedding_dim": 8},
        {"name": "table", "type": "Parameter", "shape": [1, 12, 8]}, {"name": "position", "type": "Slice", "dim": 1, "end": "seq"},
        {"name": "sum", "type": "Add", "inputs": ["embed", "position"]},
        {"name": "net", "type": "DataParallel", "module": {"type": "Block"}},
        {"name": "mean", "type": "Mean", "dim": 1, "inputs": ["net"]}, {"name": "first", "type": "Select", "dim": 1, "index": 0, "inputs": ["net"]},
        {"name": "last", "type": "Select", "dim": 1, "index": -1, "inputs": ["net:1"]},
        {"name": "pooled", "type": "Concat", "dim": 1, "inputs": ["mean", "first", "last"]},
        {"name": "head", "type": "Linear", "in_features": 18, "out_features": 3},
        {"name": "word", "type": "Linear", "in_features": 6, "out_features": 4, "inputs": ["net"]},
        {"name": "words", "type": "Permute", "dims": [0, 2, 1]}]}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up = nn.LayerNorm(8), nn.Linear(8, 6)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        y = self.norm(x)
        y = self.attention(y, y, y, need_weights=False)[0] + x
        y = nn.functional.gelu(self.up(y.flatten(0, 1))).reshape(x.shape[0], x.shape[1], 6)
        return y, y.softmax(1)


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.table, self.net = nn.Embedding(11, 8), nn.Parameter(torch.zeros(1, 12, 8)), nn.DataParallel(Block())
        self.head, self.word = nn.Linear(18, 3), nn.Linear(6, 4)

    def forward(self, tokens):
        y, scores = self.net(self.embed(tokens) + self.table[:, :tokens.shape[1]])
        return self.head(torch.cat([y.mean(1), y[:, 0], scores[:, -1]], 1)), self.word(y).permute(0, 2, 1)


@pytest.mark.parametrize("output, shape, unused", [("head", ["batch"], "word"), ("words", ["batch", "seq"], "head")])
def test_one_plan_trains_on_sequences_of_any_length(output, shape, unused, tmp_path):
    training = {"targets": {"y": {"shape": shape, "dtype": "int64"}}, "loss": {"type": "CrossEntropyLoss", "inputs": [output, "y"]},
                "optimizer": {"type": "SGD", "lr": 0.1, "momentum": 0.9}, "metrics": ["accuracy"]}
    plan = sheaf.compile({**TEXT, "outputs": ["head", "words"], "training": training})
    for devices, micro_batches in (("cpu", 1), ("cpu:0", 1), ("cpu:0-2", 1), ("cpu:0-2", 2)):
        model, module = sheaf.Model(plan, seed=1), Text()
        weights = model.state_dict(tensors="torch")
        module.load_state_dict(weights)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
        trainer = model.trainer(devices, batch=5, micro_batches=micro_batches, lengths={"seq": 4})
        assert trainer.inputs[1].batch_dim == 0
        seen = []
        for length, rows in ((4, 5), (12, 5), (1, 3), (7, 5), (4, 5), (2, 4)):
            draw = torch.Generator().manual_seed(length)
            tokens = torch.randint(0, 11, (rows, length), generator=draw)
            target = torch.randint(0, 3, (rows, length)[:len(shape)], generator=draw)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(module(tokens)[output == "words"], target)
            loss.backward()
            optimizer.step()
            assert trainer.step(tokens, target) == pytest.approx(loss.item(), abs=1e-5), (devices, length)
            seen.append((tokens, target))
        assert trainer.steps == 6
        for name, value in model.state_dict(tensors="torch").items():
            assert torch.allclose(value, module.state_dict()[name], atol=1e-5), (devices, name)
            assert name.startswith(unused) == torch.equal(value, weights[name]), name
        # Epochs, and evaluation with the lengths of each batch.
        history = trainer.fit(seen, epochs=2, eval=seen)
        found = trainer.evaluate(seen[:1])
        assert len(history) == 2 and trainer.steps == 18
        with torch.no_grad():
            module.load_state_dict(model.state_dict(tensors="torch"))
            assert found["loss"] == pytest.approx(nn.functional.cross_entropy(module(seen[0][0])[output == "words"], seen[0][1]).item(), abs=1e-5)
    trainer.prepare(2, lengths={"seq": 9})
    trainer.save(tmp_path / "run.safetensors")
    other = model.trainer("cpu", batch=5, lengths={"seq": 9})
    other.restore(tmp_path / "run.safetensors")
    assert other.steps == 18
    with pytest.raises(sheaf.Error, match="the length 'seq', at most 12, can't be 13, as it is by input 'tokens'"):
        trainer.step(torch.zeros(5, 13, dtype=torch.int64), torch.zeros((5, 13)[:len(shape)], dtype=torch.int64))
    with pytest.raises(sheaf.Error, match="the length 'seq', at most 12, has no number"):
        model.trainer("cpu", batch=5)
    if len(shape) == 2:
        with pytest.raises(sheaf.Error, match="the length 'seq' is 4 by input 'tokens', but 5 by input 'y'"):
            trainer.step(torch.zeros(5, 4, dtype=torch.int64), torch.zeros(5, 5, dtype=torch.int64))
