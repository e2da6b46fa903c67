"""Every class of torch.nn is a layer or loss of model files, or is refused by name with a reason."""
import inspect
import json
import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

import sheaf
from conftest import PROGRAM

SCHEMA = json.loads((Path(sheaf.__file__).parent / "model.schema.json").read_text())
CLASSES = [name for name, value in vars(nn).items() if inspect.isclass(value) and issubclass(value, nn.Module)]
LAYERS = {*SCHEMA["$defs"], "Sequential", "DataParallel"}
LOSSES = {case["if"]["properties"]["type"]["const"] for case in SCHEMA["properties"]["training"]["properties"]["loss"]["allOf"]}
REFUSED = sorted(set(CLASSES) - LAYERS - LOSSES)


def test_most_are_known():
    assert len(CLASSES) > 150 and len(REFUSED) < 32, REFUSED


@pytest.mark.parametrize("name", REFUSED)
def test_the_others_are_refused_with_a_reason(name, tmp_path):
    (tmp_path / "net.json").write_text(json.dumps({"sheaf": "1.0", "inputs": {"x": {"shape": ["batch", 4]}}, "layers": [{"type": name}]}))
    done = subprocess.run([PROGRAM, "dump", tmp_path / "net.json", "--format", "text"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and f"error: {name} " in done.stderr and "; write " in done.stderr.replace("; list ", "; write "), done.stderr


class Mixed(nn.Module):
    """Layers with and without parameters, as torch.export records them."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.both = nn.Conv2d(3, 4, 3), nn.SyncBatchNorm(4), nn.Bilinear(4, 4, 5)
        self.layers = nn.Sequential(nn.RReLU(0.1, 0.4), nn.FeatureAlphaDropout(0.2), nn.AdaptiveMaxPool2d((4, 3)), nn.UpsamplingBilinear2d(scale_factor=2), nn.Tanhshrink())

    def forward(self, x):
        x = self.layers(self.norm(self.conv(x))).flatten(2)
        return self.both(nn.functional.adaptive_max_pool1d(x, 7).transpose(1, 2), x[:, :, :7].transpose(1, 2))


def types_in(value):
    if isinstance(value, dict):
        yield value.get("type")
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from types_in(item)


@pytest.mark.parametrize("training", [True, False])
def test_modules_become_their_layers(training, runner):
    torch.manual_seed(0)
    module, x = Mixed().train(training), torch.randn(5, 3, 9, 8)
    file = sheaf.from_torch(module, (x[:2],))
    assert {"RReLU", "FeatureAlphaDropout", "AdaptiveMaxPool2d", "AdaptiveMaxPool1d", "Bilinear", "SyncBatchNorm"} <= set(types_in(file.json)), file.json
    assert set(file.weights) == {name for name in module.state_dict() if not name.endswith("num_batches_tracked")}
    wanted = module.eval()(x).detach()
    for devices in ("cpu", "cpu:0-1"):
        (found,) = runner.outputs(file, {"x": x.numpy()}, devices)
        torch.testing.assert_close(torch.as_tensor(found), wanted, rtol=0, atol=1e-5)
