"""Strategies next to PyTorch's: DistributedDataParallel, ZeroRedundancyOptimizer and FSDP, in as many processes."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch
from conftest import PROGRAM
from safetensors.numpy import load_file
from torch import nn

import sheaf
from peers import KINDS, OPTIMIZERS, STEPS

SIZE = 4
LAUNCH = ["mpirun", "--oversubscribe", "--allow-run-as-root"]
# A rank's engine is opened only under a launcher; a build without MPI has none.
pytestmark = pytest.mark.skipif(not shutil.which("mpirun") or not (Path(PROGRAM).parent.parent / "lib/libsheaf_mpi.so").exists(),
                                reason="there is no MPI")


def net():
    # Without the convolution's bias: in front of a batch norm its gradient is only rounding, of which Adam makes whole
    # steps.
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 16), nn.Tanh(), nn.Linear(16, 5))


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    """PyTorch's results for the network in SIZE processes, in a folder that also has the data."""
    folder = tmp_path_factory.mktemp("peers")
    torch.save(net(), folder / "net.pt")
    generator = torch.Generator().manual_seed(3)
    numpy.save(folder / "input.npy", torch.randn(16 * STEPS, 3, 8, 8, generator=generator).numpy())
    numpy.save(folder / "label.npy", torch.randint(0, 5, (16 * STEPS,), generator=generator).numpy())
    script = Path(__file__).with_name("peers.py")
    ranks = [subprocess.Popen([sys.executable, str(script), str(folder), str(rank), str(SIZE)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
             for rank in range(SIZE)]
    for rank in ranks:
        said, _ = rank.communicate(timeout=300)
        assert rank.returncode == 0, said
    return folder


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("strategy", KINDS)
def test_steps_are_pytorchs(peers, strategy, optimizer):
    make, settings = OPTIMIZERS[optimizer]
    model = sheaf.from_torch(nn.DataParallel(net()), (torch.randn(16, 3, 8, 8),))
    plan = sheaf.compile(model, strategy=strategy, loss=nn.CrossEntropyLoss(), optimizer={"type": make.__name__, **settings})
    folder = peers / f"{strategy}-{optimizer}"
    folder.mkdir()
    plan.save(folder / "net.plan")
    model.save(folder / "net.json", folder / "net.safetensors")
    done = subprocess.run([*LAUNCH, "-n", str(SIZE), PROGRAM, "train", "net.plan", "--devices", "cpu:0", "--data", "input=../input.npy", "--data", "label=../label.npy",
                           "--batch-size", "16", "--steps", str(STEPS), "--no-shuffle", "--weights", "net.safetensors", "--save", "out.safetensors", "--metrics", "out.jsonl"],
                          cwd=folder, env={**os.environ, "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    with numpy.load(peers / f"{strategy}-{optimizer}.npz") as expected:
        losses = [line["loss"] for line in map(json.loads, (folder / "out.jsonl").read_text().splitlines()) if "loss" in line and "step" in line]
        numpy.testing.assert_allclose(losses, expected["losses"], rtol=0, atol=1e-5)
        found = load_file(folder / "out.safetensors")
        for name in set(expected.files) - {"losses"}:
            numpy.testing.assert_allclose(found[f"net.module.{name}"], expected[name], rtol=0, atol=1e-5, err_msg=name)
