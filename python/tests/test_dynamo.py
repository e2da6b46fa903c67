"""torch.compile(module, backend="sheaf")."""
import logging
import subprocess
import sys
import textwrap

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import sheaf.dynamo


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    sheaf.dynamo._told.clear()


def test_training_steps_are_pytorchs():
    ours, theirs = net(), net()
    compiled = torch.compile(ours, backend=sheaf.dynamo.backend)
    optimizers = [torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9) for module in (ours, theirs)]
    for rows in (6, 6, 4, 6):
        x = torch.randn(rows, 3, 8, 8)
        losses = []
        for module, optimizer in zip((compiled, theirs), optimizers):
            optimizer.zero_grad()
            loss = module(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    ours.eval()
    theirs.eval()
    with torch.no_grad():
        assert torch.allclose(compiled(x), theirs(x), atol=1e-4)


def test_what_sheaf_cant_take_stays_pytorchs_and_is_named_once(caplog):
    class Spectrum(nn.Module):
        def forward(self, x):
            return torch.fft.fft(x).abs() * 2

    compiled = torch.compile(Spectrum(), backend=sheaf.dynamo.backend)
    with caplog.at_level(logging.WARNING, "sheaf.dynamo"):
        for size in (6, 8):
            x = torch.randn(4, size)
            assert torch.allclose(compiled(x), torch.fft.fft(x).abs() * 2, atol=1e-5)
    said = [record.getMessage() for record in caplog.records if "fft" in record.getMessage()]
    assert len(said) == 1 and "stays PyTorch's" in said[0] and "test_dynamo.py" in said[0]


def test_a_graph_break_leaves_two_graphs(capsys):
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(6, 5), nn.Linear(5, 4)

        def forward(self, x):
            y = F.relu(self.a(x))
            print("between")
            return self.b(y)

    module = Broken()
    compiled = torch.compile(module, backend=sheaf.dynamo.backend, options={"devices": "cpu:0,cpu:1"})
    x = torch.randn(5, 6, requires_grad=True)
    compiled(x).sum().backward()
    found = [x.grad.clone(), *(p.grad.clone() for p in module.parameters())]
    x.grad = None
    module.zero_grad()
    module(x).sum().backward()
    for a, b in zip(found, [x.grad, *(p.grad for p in module.parameters())]):
        assert torch.allclose(a, b, atol=1e-5)


def test_the_entry_point(tmp_path):
    """As `pip install` leaves it: found by name."""
    folder = tmp_path / "sheaf-0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: sheaf\nVersion: 0\n")
    (folder / "entry_points.txt").write_text("[torch_dynamo_backends]\nsheaf = sheaf.dynamo:backend\n")
    program = textwrap.dedent("""
        import sys, torch
        sys.path.insert(0, sys.argv[1])
        net = torch.nn.Linear(3, 2)
        print(torch.compile(net, backend="sheaf")(torch.ones(4, 3)).shape, "sheaf.dynamo" in sys.modules)""")
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "torch.Size([4, 2]) True", done.stderr
