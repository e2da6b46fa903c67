"""`sheaf import` of exported programs: the same model files as from_torch makes."""
import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import sheaf
from conftest import PROGRAM

X = torch.randn(4, 3, 8, 8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x):
        x = self.features(x).mean((2, 3))
        for block in self.blocks:
            x = block(x).relu()
        return x


def exported(module, path, **shapes):
    torch.export.save(torch.export.export(module.eval(), (X,), dynamic_shapes=shapes or None), path)


def run(folder, *words, path=None):
    """The program, with the Python of this test first on the path."""
    environment = {**os.environ, "PATH": path or f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    return subprocess.run([PROGRAM, "import", *words], cwd=folder, capture_output=True, text=True, timeout=120, env=environment)


WORDS = ("net.pt2", "-o", "net.json", "--weights", "net.safetensors")


def test_a_program_becomes_the_model_file_that_its_module_would(tmp_path):
    module = Net()
    exported(module, tmp_path / "net.pt2", x={0: torch.export.Dim("batch")})
    done = run(tmp_path, *WORDS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    expected = sheaf.from_torch(module, (X,), name="net")
    assert json.loads((tmp_path / "net.json").read_text()) == expected.json
    weights = load_file(tmp_path / "net.safetensors")
    assert set(weights) == set(expected.weights)
    assert all((weights[name].numpy() == value).all() for name, value in expected.weights.items())
    assert oct((tmp_path / "net.json").stat().st_mode)[-3:] in ("644", "664", "600")


def test_what_cannot_be_imported_says_why_and_leaves_nothing(tmp_path):
    exported(Net(), tmp_path / "net.pt2")
    (tmp_path / "text.pt2").write_text("not a program")
    for words, message in ((WORDS, "none is free that could be the batch"), (("text.pt2", *WORDS[1:]), "text.pt2: error: it can't be read"),
                           (("none.pt2", *WORDS[1:]), "none.pt2: error: it can't be read")):
        done = run(tmp_path, *words)
        assert done.returncode == 1 and message in done.stderr and len(done.stderr.splitlines()) <= 2
    assert run(tmp_path, "net.pt2").returncode == 2 and run(tmp_path, "net.pt2", "-o", "net.pt2").returncode == 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ["net.pt2", "text.pt2"]


@pytest.mark.parametrize("python", ["exit 3", "exit 1"])
def test_without_the_package_it_says_how_to_install_it(tmp_path, python):
    (tmp_path / "python3").write_text(f"#!/bin/sh\n{python}\n")
    (tmp_path / "python3").chmod(0o755)
    done = run(tmp_path, *WORDS, path=str(tmp_path) + ":/usr/bin:/bin")
    assert done.returncode == 1 and "`pip install .` in sheaf's checkout" in done.stderr
    (tmp_path / "python3").unlink()
    done = run(tmp_path, *WORDS, path=str(tmp_path))
    assert done.returncode == 1 and "`pip install .` in sheaf's checkout" in done.stderr


def test_a_graph_of_onnx(tmp_path):
    from onnx import TensorProto, helper, save

    def write(file, given):
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "words", 3]) for name in (given, "y"))
        save(helper.make_model(helper.make_graph([helper.make_node("Relu", [given], ["y"])], "graph", [x], [y]), opset_imports=[helper.make_opsetid("", 18)]),
             tmp_path / file)

    write("net.onnx", "x")
    done = run(tmp_path, "net.onnx", "-o", "net.json", "--size", "words=7")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads((tmp_path / "net.json").read_text())["inputs"]["x"]["shape"] == ["batch", 7, 3]
    assert "besides the batch" in run(tmp_path, "net.onnx", "-o", "other.json").stderr
    assert run(tmp_path, "net.onnx", "-o", "other.json", "--size", "words").returncode == 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ["net.json", "net.onnx"]
    for length, status, message in (("x:2=seq", 1, "dimension 2 of 'x' isn't a free size"), ("z:1=seq", 1, "the inputs are x"), ("x:1=se2q:5", 1, "can't name a length"),
                                    ("x:1=seq:one", 2, "INPUT:DIM=NAME"), ("x:1=seq:1", 2, "MOST from 2")):
        done = run(tmp_path, "net.onnx", "-o", "other.json", "--length", length)
        assert done.returncode == status and message in done.stderr, done
    write("gpt.onnx", "tokens")
    done = run(tmp_path, *"gpt.onnx -o gpt.json --weights gpt.safetensors --length tokens:1=seq:512".split())  # an example of `sheaf help import`
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads((tmp_path / "gpt.json").read_text())["inputs"]["tokens"]["shape"] == ["batch", "seq", 3]
