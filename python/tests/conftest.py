"""What the tests share: the program that runs model files, and modules compared with it."""
import os
import subprocess
from pathlib import Path

import numpy
import pytest
import torch

import sheaf

PROGRAM = os.environ.get("SHEAF", str(Path(__file__).parents[2] / "build" / "bin" / "sheaf"))


def leaves(outputs):
    """The tensors of a module's result, in order."""
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    values = outputs.values() if isinstance(outputs, dict) else outputs if isinstance(outputs, (tuple, list)) else []
    return [leaf for value in values for leaf in leaves(value)]


class Runner:
    def __init__(self, folder):
        self.folder = folder

    def sheaf(self, *words):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def outputs(self, model, inputs, devices):
        """The outputs of a ModelFile for {input: array}, in the model's order."""
        from safetensors.numpy import load_file

        model.save(self.folder / "net.json", self.folder / "net.safetensors")
        self.sheaf("compile", "net.json", "-o", "net.plan")
        words = []
        for name, array in inputs.items():
            numpy.save(self.folder / f"{name}.npy", array)
            words += ["--input", f"{name}={name}.npy"]
        weights = ["--weights", "net.safetensors"] if model.weights else []
        self.sheaf("run", "net.plan", "--devices", devices, *weights, *words, "--output", "out.safetensors")
        found = load_file(self.folder / "out.safetensors")
        last = model.json["layers"][-1]
        return [found[name] for name in model.json.get("outputs", [last["name"]])]

    def compare(self, module, example, batches=(1, 5), devices=("cpu", "cpu:0-2"), **options):
        """Imports the module; its outputs equal PyTorch's for batches and devices other than the example's. Returns the ModelFile."""
        module.eval()
        model = sheaf.from_torch(module, example, **options)
        generator = torch.Generator().manual_seed(1)
        for rows in batches:
            inputs = {}
            for (name, declared), given in zip(model.json["inputs"].items(), example):
                shape = [rows if size == "batch" else size for size in declared["shape"]]
                inputs[name] = torch.randn(shape, generator=generator) if given.is_floating_point() else \
                    torch.randint(0, int(given.max()) + 1, shape, generator=generator)
            with torch.no_grad():
                expected = leaves(module(*inputs.values()))
            for list_ in devices:
                found = self.outputs(model, {name: value.numpy() for name, value in inputs.items()}, list_)
                assert len(found) == len(expected)
                for a, e in zip(found, expected):
                    assert a.shape == tuple(e.shape)
                    numpy.testing.assert_allclose(a, e.numpy(), rtol=0, atol=1e-5 * max(1.0, float(e.abs().max())))
        return model


@pytest.fixture
def runner(tmp_path):
    torch.manual_seed(0)
    return Runner(tmp_path)
