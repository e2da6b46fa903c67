"""Batch norms that are joined with the addition and the ReLU around them train as those that aren't, on virtual GPUs; and gradients that a
library makes narrow train nearly so."""
import json
import os
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from program import SHEAF_RUN, ProgramTest, execute, must
from tensors import difference, read_safetensors

# A residual block: one batch norm before a ReLU, one whose result is added to the block's input before it.
MODEL = """{"sheaf": "1.0", "name": "block", "inputs": {"x": {"shape": ["batch", 3, 5, 5]}},
"modules": {"Block": {"layers": [
  {"name": "conv0", "type": "Conv2d", "in_channels": 3, "out_channels": 4, "kernel_size": 3, "padding": 1, "inputs": ["input"]},
  {"name": "bn0", "type": "BatchNorm2d", "num_features": 4}, {"name": "relu0", "type": "ReLU"},
  {"name": "conv1", "type": "Conv2d", "in_channels": 4, "out_channels": 4, "kernel_size": 3, "padding": 1},
  {"name": "bn1", "type": "BatchNorm2d", "num_features": 4},
  {"name": "add", "type": "Add", "inputs": ["relu0", "bn1"]}, {"name": "relu1", "type": "ReLU"},
  {"name": "flatten", "type": "Flatten"}, {"name": "fc", "type": "Linear", "in_features": 100, "out_features": 2}]}},
"layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Block"}}],
"training": {"targets": {"y": {"shape": ["batch", 2]}}, "loss": {"type": "MSELoss"}, "optimizer": {"type": "SGD", "lr": 0.05, "momentum": 0.9}}}"""


class FusedNorms(ProgramTest):
    def trained(self, plan, devices, steps=4, **environment):
        out, trace = self.dir / f"{len(list(self.dir.iterdir()))}.safetensors", self.dir / "trace.json"
        with mock.patch.dict(os.environ, environment):
            must(execute([SHEAF_RUN[0], "train", plan, "--devices", devices, "--data", "x=random:14", "--data", "y=random:14", "--batch-size", 7,
                          "--steps", steps, "--no-shuffle", "--seed", 3, "--save", out, "--trace", trace]))
        names = {event.get("name") for event in json.loads(trace.read_text())["traceEvents"]}
        return read_safetensors(out)[0], names

    def test_train_as_those_that_are_not_joined(self):
        plan = self.compile(MODEL)
        patterns = [s.get("attributes", {}).get("pattern") for s in json.loads(plan.read_text())["programs"]["train"]["steps"]]
        self.assertLessEqual({"relu", "add_relu", "relu_backward"}, set(patterns))
        for devices in ("cuda:0", "cuda:0,cuda:1", "cuda:0,cuda:0,cpu:0"):
            apart, names = self.trained(plan, devices)
            self.assertIn("net.module.relu0", names)
            joined, names = self.trained(plan, devices, SHEAF_SIM_FUSES_NORMS="1")
            if "cpu" not in devices:
                self.assertNotIn("net.module.relu0", names)
                self.assertNotIn("net.module.relu1", names)
            for name, tensor in apart.items():
                self.assertLess(difference(joined[name], tensor), 1e-6, f"{name} on {devices}")

    def test_narrow_gradients_become_what_the_plan_says(self):
        plan = self.compile(MODEL)
        for devices, environment in (("cuda:0", {"SHEAF_SIM_CHANNELS_LAST": "1"}), ("cuda:0,cuda:1", {})):
            wide, _ = self.trained(plan, devices, steps=1, **environment)
            narrow, _ = self.trained(plan, devices, steps=1, SHEAF_SIM_NARROW_GRADIENTS="1", **environment)
            for name, tensor in wide.items():
                off = difference(narrow[name], tensor)
                if "conv" in name and name.endswith(".weight"):  # 2⁻⁹ of a gradient at most
                    self.assertTrue(1e-8 < off < 2e-3, f"{name} on {devices}: {off}")
                else:
                    self.assertEqual(off, 0, f"{name} on {devices}")


unittest.main()
