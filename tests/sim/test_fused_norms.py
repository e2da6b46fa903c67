"""Batch norms that are joined with the addition and the ReLU around them, and with convolutions, train as those that aren't, on virtual GPUs;
and gradients that a library makes narrow train nearly so."""
import json
import os
import sys
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from program import SHEAF_RUN, ProgramTest, cpu_has_bf16, execute, must, sheaf
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

# Two residual blocks of three convolutions, the second's skip connection with one too, some with biases.
CHANNELS, BLOCKS = 8, []
for k in range(2):
    for i, (kernel, more) in enumerate(((1, {}), (3, {"padding": 1, "bias": True}), (1, {}))):
        before = [f"relu{k - 1}_2"] if i == 0 and k else ["input"] if i == 0 else [f"relu{k}_{i - 1}"]
        BLOCKS += [{"name": f"conv{k}_{i}", "type": "Conv2d", "in_channels": CHANNELS, "out_channels": CHANNELS, "kernel_size": kernel, "bias": False,
                    "inputs": before, **more}, {"name": f"bn{k}_{i}", "type": "BatchNorm2d", "num_features": CHANNELS}]
        BLOCKS += [] if i == 2 else [{"name": f"relu{k}_{i}", "type": "ReLU"}]
    if k:
        BLOCKS += [{"name": "skip", "type": "Conv2d", "in_channels": CHANNELS, "out_channels": CHANNELS, "kernel_size": 1, "bias": False, "inputs": ["relu0_2"]},
                   {"name": "bn_skip", "type": "BatchNorm2d", "num_features": CHANNELS}]
    BLOCKS += [{"name": f"add{k}", "type": "Add", "inputs": ["bn_skip" if k else "input", f"bn{k}_2"]}, {"name": f"relu{k}_2", "type": "ReLU"}]
BOTTLENECKS = json.loads(MODEL)
BOTTLENECKS["inputs"]["x"]["shape"] = ["batch", CHANNELS, 5, 5]
BOTTLENECKS["modules"]["Block"]["layers"] = BLOCKS + [{"name": "flatten", "type": "Flatten"},
                                                      {"name": "fc", "type": "Linear", "in_features": 25 * CHANNELS, "out_features": 2}]


class FusedNorms(ProgramTest):
    def trained(self, plan, devices, steps=4, **environment):
        out, trace = self.dir / f"{len(list(self.dir.iterdir()))}.safetensors", self.dir / "trace.json"
        with mock.patch.dict(os.environ, environment):
            must(execute([SHEAF_RUN[0], "train", plan, "--devices", devices, "--data", "x=random:14", "--data", "y=random:14", "--batch-size", 7,
                          "--steps", steps, "--no-shuffle", "--seed", 3, "--save", out, "--trace", trace]))
        events = json.loads(trace.read_text())["traceEvents"]
        self.operations = Counter(event.get("args", {}).get("op") for event in events if event["ph"] == "X")
        return read_safetensors(out)[0], {event.get("name") for event in events}

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

    def test_convolutions_joined_with_norms_train_as_those_that_are_not(self):
        plan = self.compile(json.dumps(BOTTLENECKS))
        for devices, environment in (("cuda:0", {"SHEAF_SIM_CHANNELS_LAST": "1"}), ("cuda:0,cuda:1", {}), ("cuda:0,cuda:0,cpu:0", {})):
            apart, _ = self.trained(plan, devices, SHEAF_SIM_FUSES_NORMS="1", **environment)
            norms = self.operations["batch_norm_train"]
            joined, _ = self.trained(plan, devices, SHEAF_SIM_JOINS_CONVOLUTIONS="1", **environment)
            if "cpu" not in devices:  # of seven norms four stand between two convolutions
                self.assertEqual(7 * self.operations["batch_norm_train"], 3 * norms, devices)
            for name, tensor in apart.items():
                self.assertLess(difference(joined[name], tensor), 2e-5, f"{name} on {devices}")

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

    @unittest.skipUnless(cpu_has_bf16(), "the CPU, whose operations virtual GPUs run, has no bf16")
    def test_updates_read_narrow_gradients_as_they_are(self):
        # At bf16 the compiler has made updates that do. On one GPU nothing is converted; on two, gradients are summed in f32.
        plan = self.dir / "bf16.plan"
        must(sheaf("compile", "--precision", "bf16", self.write("model.json", MODEL), "-o", plan))
        steps = json.loads(plan.read_text())["programs"]["train"]["steps"]
        self.assertTrue(any("narrow" in step.get("attributes", {}) for step in steps))
        for devices, converts in (("cuda:0", False), ("cuda:0,cuda:1", True)):
            wide, _ = self.trained(plan, devices, steps=1)
            before = self.operations["reorder"]
            narrow, _ = self.trained(plan, devices, steps=1, SHEAF_SIM_NARROW_GRADIENTS="1")
            self.assertEqual(self.operations["reorder"] > before, converts, devices)
            for name, tensor in wide.items():
                off = difference(narrow[name], tensor)
                if "conv" in name and name.endswith(".weight"):
                    self.assertTrue(1e-8 < off < 2e-3, f"{name} on {devices}: {off}")
                else:
                    self.assertEqual(off, 0, f"{name} on {devices}")


unittest.main()
