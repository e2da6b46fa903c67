"""The launches that `estimate` counts are those that a step makes, on virtual GPUs: as many as its trace shows."""
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from program import SHEAF_RUN, ProgramTest, execute, must

# Many parameters of a few sizes, and none of the kernels that take several launches (lookups).
MODEL = """{"sheaf": "1.0", "name": "columns", "inputs": {"x": {"shape": ["batch", 3, 8, 8]}}, "layers": [
  {"name": "conv0", "type": "Conv2d", "in_channels": 3, "out_channels": 4, "kernel_size": 3, "padding": 1},
  {"name": "bn0", "type": "BatchNorm2d", "num_features": 4}, {"name": "relu0", "type": "ReLU"},
  {"name": "conv1", "type": "Conv2d", "in_channels": 4, "out_channels": 4, "kernel_size": 3, "padding": 1},
  {"name": "bn1", "type": "BatchNorm2d", "num_features": 4}, {"name": "relu1", "type": "ReLU"},
  {"name": "flatten", "type": "Flatten"}, {"name": "fc", "type": "Linear", "in_features": 256, "out_features": 2}],
"training": {"targets": {"y": {"shape": ["batch", 2]}}, "loss": {"type": "MSELoss"}, "optimizer": {"type": "Adam", "lr": 0.05}}}"""
STEPS = 3


class Launches(ProgramTest):
    def test_are_those_of_a_trace(self):
        plan, trace = self.compile(MODEL), self.dir / "trace.json"
        told = json.loads(must(execute([SHEAF_RUN[0], "estimate", plan, "--devices", "cuda:0", "--batch", 7, "--json"])).out)
        must(execute([SHEAF_RUN[0], "train", plan, "--devices", "cuda:0", "--data", "x=random:21", "--data", "y=random:21", "--batch-size", 7,
                      "--steps", STEPS, "--seed", 3, "--trace", trace]))
        events = json.loads(trace.read_text())["traceEvents"]
        lane = next(e for e in events if e.get("name") == "thread_name" and e["args"]["name"].startswith("cuda:0"))
        made = [e for e in events if e.get("ph") == "X" and (e["pid"], e["tid"]) == (lane["pid"], lane["tid"]) and e["cat"] != "wait"]
        gpu = next(device for device in told["devices"] if device["device"] == "cuda:0")
        self.assertEqual(gpu["work"]["launches"] * STEPS, len(made))
        self.assertLess(gpu["work"]["launches"], gpu["work"]["operations"])  # updates of parameters are one
        self.assertEqual(sum(kind.get("launches", 0) for kind in told["kinds"]), gpu["work"]["launches"])


unittest.main()
