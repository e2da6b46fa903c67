"""Partitioned training = unpartitioned training: random models without batch norm, random device lists and batches.

    python3 train_property_test.py FIRST COUNT       models number FIRST … FIRST + COUNT - 1; each is made from its number alone

Two steps on N devices leave the parameters that host-only mode leaves, within 1e-5 of each parameter's largest value
(or of 0.01: biases begin at zero, and one in front of a softmax has no gradient but rounding). So it is with the losses. Devices cpu:0 … cpu:N-1 give the same bits as cpu:0 N times. Dropout masks belong to rows, so
they don't depend on the split either. Nor do they depend on micro-batches: a step in parts is the step, within 1e-5 too.
"""
import json
import math
import sys
from pathlib import Path

from program import execute, must, plan_of
from property_test import Maker, check_models
from tensors import Tensor, difference, drawn, read_safetensors, write_safetensors
from training import TRAIN

TOLERANCE = 1e-5
OPTIMIZERS = [{"type": "SGD", "lr": 0.05}, {"type": "SGD", "lr": 0.05, "momentum": 0.9, "nesterov": True},
              {"type": "RMSprop", "lr": 0.01, "eps": 0.01}, {"type": "AdamW", "lr": 0.01, "eps": 0.01}]


class TrainingMaker(Maker):
    """The models of property_test without batch norm, and a region with parameters as the last layer, which the loss reads."""

    def __init__(self, number):
        super().__init__(f"training {number}")

    def layer(self, shape):
        while True:
            layer, after = super().layer(shape)
            if not layer["type"].startswith("BatchNorm"):
                return layer, after

    def model(self):
        draw, spec = self.draw, super().model()
        last = spec["layers"][-1]["name"]
        # A second branch from the input, so that there is always a parameter to train.
        body, shape = self.chain(self.shape, 2)
        size = math.prod(shape)
        body["layers"] += [{"type": "Reshape", "shape": [-1, size]}, {"type": "Linear", "in_features": size, "out_features": 3}]
        spec["layers"] += [{"name": "branch", "type": "DataParallel", "inputs": ["x"], "module": body},
                           {"name": "flat", "type": "Reshape", "shape": [-1, 1, math.prod(self.shapes[last])], "inputs": [last]},
                           {"name": "mean", "type": "Mean", "dim": 2},
                           {"name": "result", "type": "Add", "inputs": ["branch", "mean"], **self.place()}]
        spec["outputs"] = ["result"]
        spec["training"] = {"targets": {"y": {"shape": ["batch", 3]}}, "optimizer": dict(draw.choice(OPTIMIZERS)),
                            "loss": {"type": draw.choice(["MSELoss", "L1Loss", "BCEWithLogitsLoss"]), "reduction": draw.choice(["mean", "sum"])}}
        if draw.random() < 0.3:
            spec["training"]["clip_grad_norm"] = 0.5
        return spec


def check(number, folder):
    maker = TrainingMaker(number)
    model, plan, data = folder / "model.json", folder / "model.plan", folder / "data.safetensors"
    model.write_text(json.dumps(maker.model(), indent=1))
    plan_of(model, plan)

    def trained(devices, batch, *more):
        out, metrics = folder / "out.safetensors", folder / "metrics.jsonl"
        must(execute([*TRAIN, plan, "--devices", devices, "--data", f"x={data}:x", "--data", f"y={data}:y", "--batch-size", batch, "--steps", 2,
                      "--no-shuffle", "--seed", 3, "--save", out, "--metrics", metrics, *more]))
        losses = [line["loss"] for line in map(json.loads, metrics.read_text().splitlines()) if "step" in line]
        return {"loss": Tensor("F32", [2], losses), **read_safetensors(out)[0]}

    n = maker.devices
    for batch in sorted({2 * n + 1, maker.draw.randint(1, 2 * n + 1)}):
        write_safetensors(data, {"x": drawn("x", (2 * batch, *maker.shape)), "y": drawn("y", (2 * batch, 3))})
        whole = trained("cpu", batch)
        several = trained(",".join(f"cpu:{i}" for i in range(n)), batch)
        mixed = ",".join(f"cpu:{maker.draw.randrange(3)}" for _ in range(n))
        for devices, results in (("distinct devices", several), ("one device", trained(",".join(["cpu:0"] * n), batch)), (mixed, trained(mixed, batch))):
            assert results.keys() == whole.keys(), f"{devices}: saved {results.keys()} instead of {whole.keys()}"
            for name, tensor in whole.items():
                largest = max(map(abs, tensor.data)) or 1.0
                error = difference(results[name], tensor) * min(1.0, largest / 0.01)
                assert error <= TOLERANCE, f"{devices}, batch {batch}: {name} {list(tensor.shape)} is off by {error:.1e}"
                assert results[name] == several[name], f"{devices}, batch {batch}: {name} differs in bits from distinct devices"
        parts = trained(mixed, batch, "--micro-batches", maker.draw.randint(1, batch))
        for name, tensor in whole.items():
            largest = max(map(abs, tensor.data)) or 1.0
            error = difference(parts[name], tensor) * min(1.0, largest / 0.01)
            assert error <= TOLERANCE, f"micro-batches, batch {batch}: {name} {list(tensor.shape)} is off by {error:.1e}"
    # What was compared did move.
    before = trained("cpu", batch, "--lr", "0")
    assert any(before[name] != tensor for name, tensor in whole.items() if name != "loss"), "no parameter moved"


if __name__ == "__main__":
    sys.exit(check_models(check))
