"""A plan with a length trains on virtual GPUs as on CPUs, in one and in micro-batches, for one number after another."""
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from program import SHEAF_RUN, ProgramTest, execute, must
from tensors import difference, drawn, read_safetensors, write_safetensors

LAYERS = [
    {"name": "embed", "type": "Embedding", "num_embeddings": 11, "embedding_dim": 8}, {"name": "table", "type": "Parameter", "shape": [1, 12, 8]},
    {"name": "position", "type": "Slice", "dim": 1, "end": "seq"}, {"name": "sum", "type": "Add", "inputs": ["embed", "position"]},
    {"name": "net", "type": "DataParallel", "module": {"type": "MultiheadAttention", "embed_dim": 8, "num_heads": 2, "batch_first": True, "dropout": 0.3},
     "inputs": ["sum", "sum", "sum"]},
    {"name": "drop", "type": "Dropout", "p": 0.4}, {"name": "flat", "type": "Flatten", "start_dim": 0, "end_dim": 1},
    {"name": "fc", "type": "Linear", "in_features": 8, "out_features": 8}, {"name": "back", "type": "Reshape", "shape": [-1, "seq", 8]},
    {"name": "first", "type": "Select", "dim": 1, "index": 0}, {"name": "last", "type": "Select", "dim": 1, "index": -1, "inputs": ["back"]},
    {"name": "mean", "type": "Mean", "dim": 1, "inputs": ["back"]}, {"name": "ends", "type": "Add", "inputs": ["first", "last"]},
    {"name": "y_hat", "type": "Add", "inputs": ["ends", "mean"]}]
MODEL = {"sheaf": "1.0", "name": "text", "inputs": {"tokens": {"shape": ["batch", "seq"], "dtype": "int64"}}, "layers": LAYERS,
         "training": {"targets": {"y": {"shape": ["batch", 8]}}, "loss": {"type": "MSELoss"}, "optimizer": {"type": "SGD", "lr": 0.1, "momentum": 0.9}}}


class LengthsInTraining(ProgramTest):
    def train(self, devices, *more):
        """What two steps of four rows and one of three make of the weights."""
        must(execute([SHEAF_RUN[0], "train", self.plan, "--devices", devices, "--data", "tokens=d.safetensors:tokens", "--data", "y=d.safetensors:y",
                      "--batch-size", 4, "--epochs", 1, "--seed", 3, "--save", "out.safetensors", *more], cwd=self.dir))
        return read_safetensors(self.dir / "out.safetensors")[0]

    def test_virtual_gpus_train_as_cpus_do(self):
        self.plan = self.compile(json.dumps(MODEL))
        for length in (5, 12):
            write_safetensors(self.dir / "d.safetensors", {"tokens": drawn("tokens", [11, length], 0, 11, "I64"), "y": drawn("y", [11, 8])})
            expected = self.train("cpu:0-2")
            for devices in ("cuda:0", "cuda:0,cuda:1,cuda:2"):
                for more in ((), ("--micro-batches", 2)):
                    with self.subTest(length=length, devices=devices, more=more):
                        found = self.train(devices, *more)
                        for name, tensor in expected.items():
                            self.assertLess(difference(found[name], tensor), 2e-6, name)


if __name__ == "__main__":
    unittest.main()
