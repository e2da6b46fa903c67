"""On virtual GPUs, whose kernels run from their PTX, every strategy gives the same bits: a share's update is the whole's."""
import copy
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from program import SHEAF_RUN, ProgramTest, execute, must, sheaf

STRATEGIES = ("data_parallel", "replicated", "sharded", "fully_sharded")

# Parameters of 91, 13, 39 and 3 elements: whole and in shares, with elements after the last whole vector at different places.
MODEL = {"sheaf": "1.0", "name": "perceptron", "inputs": {"x": {"shape": ["batch", 7]}}, "modules": {"Net": {"layers": [
             {"name": "a", "type": "Linear", "in_features": 7, "out_features": 13}, {"name": "r", "type": "ReLU"},
             {"name": "b", "type": "Linear", "in_features": 13, "out_features": 3}]}},
         "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Net"}}],
         "training": {"targets": {"y": {"shape": ["batch", 3]}}, "loss": {"type": "MSELoss"}}}


class EqualBits(ProgramTest):
    def trained(self, plan, devices, shards):
        """What five steps leave: the saved file and the losses."""
        out, metrics = self.dir / "out.safetensors", self.dir / "m.jsonl"
        must(execute([SHEAF_RUN[0], "train", plan, "--devices", devices, "--data", "x=random:24", "--data", "y=random:24", "--batch-size", 11,
                      "--steps", 5, "--seed", 4, "--shards", shards, "--save", out, "--metrics", metrics]))
        return out.read_bytes(), [line["loss"] for line in map(json.loads, metrics.read_text().splitlines()) if "step" in line]

    def check(self, optimizer, activation=None):
        """`activation`: what stands for the ReLU."""
        spec = copy.deepcopy(MODEL)
        spec["training"]["optimizer"] = optimizer
        spec["modules"]["Net"]["layers"][1].update(activation or {})
        model = self.write("model.json", json.dumps(spec))
        plans = {strategy: self.dir / f"{strategy}.plan" for strategy in STRATEGIES}
        for strategy, plan in plans.items():
            must(sheaf("compile", model, "-o", plan, "--strategy", strategy))
        for shards, lists in ((4, ("cuda:0", "cuda:0,cuda:1", "cuda:0-2", "cuda:1,cuda:0,cuda:1", "cuda:0-3")), (2, ("cuda:0,cuda:1",))):
            first = self.trained(plans["data_parallel"], "cuda:0", shards)
            for devices in lists:
                for strategy, plan in plans.items():
                    with self.subTest(shards=shards, devices=devices, strategy=strategy):
                        self.assertTrue(self.trained(plan, devices, shards) == first)

    def test_adam(self):
        self.check({"type": "Adam", "lr": 0.01})

    def test_momentum(self):
        self.check({"type": "SGD", "lr": 0.05, "momentum": 0.9})

    def test_statistics_of_the_whole_batch(self):
        """Both passes wait for sums over all GPUs in their midst."""
        self.check({"type": "SGD", "lr": 0.05}, {"type": "SyncBatchNorm", "num_features": 13})


unittest.main()
