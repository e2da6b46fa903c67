"""NaN in a row of the data ends training in that step, with the layer that gave it first, whatever stands behind it."""
import json
import math
import unittest

from program import ProgramTest, execute
from tensors import Tensor, drawn, write_safetensors
from training import TRAIN

CONV = {"name": "conv", "type": "Conv2d", "in_channels": 3, "out_channels": 16, "kernel_size": 3}
RELU, POOL, FLAT = {"name": "relu", "type": "ReLU"}, {"name": "pool", "type": "MaxPool2d", "kernel_size": 2}, {"name": "flat", "type": "Flatten"}
IMAGE = [3, 8, 8]


def linear(name, features, outputs=3):
    return {"name": name, "type": "Linear", "in_features": features, "out_features": outputs}


class NotFinite(ProgramTest):
    def check(self, layers, shape, first):
        spec = {"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", *shape]}},
                "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": layers}}],
                "training": {"targets": {"y": {"shape": ["batch"], "dtype": "int64"}}, "loss": {"type": "CrossEntropyLoss"}, "optimizer": {"type": "SGD"}}}
        x = drawn("x", (16, *shape), -1, 1)
        values = list(x.data)
        values[len(values) // 2] = math.nan
        data = self.dir / "data.safetensors"
        write_safetensors(data, {"x": Tensor("F32", x.shape, values), "y": Tensor("I64", (16,), [i % 3 for i in range(16)])})
        plan = self.compile(json.dumps(spec))
        for devices in ("cpu", "cpu:0,cpu:1"):
            done = execute([*TRAIN, plan, "--devices", devices, "--batch-size", 16, "--steps", 2, "--data", f"x={data}:x", "--data", f"y={data}:y"])
            self.assertEqual(done.status, 1, done)
            self.assertIn(f"the loss of step 1 (epoch 1) is nan: the first output that isn't finite is that of layer 'net.module.{first}'", done.err)

    def test_activation_of_a_convolution(self):
        self.check([CONV, RELU, FLAT, linear("fc", 576)], IMAGE, "conv")

    def test_batch_norm_with_relu(self):
        self.check([CONV, {"name": "norm", "type": "BatchNorm2d", "num_features": 16}, RELU, POOL, FLAT, linear("fc", 144)], IMAGE, "conv")

    def test_pooling(self):
        self.check([POOL, FLAT, linear("fc", 48)], IMAGE, "pool")

    def test_activation_of_a_linear_layer(self):
        self.check([linear("a", 100, 100), {"name": "clip", "type": "ReLU6"}, linear("b", 100)], [100], "a")


if __name__ == "__main__":
    unittest.main()
