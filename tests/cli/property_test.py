"""Partitioned = unpartitioned: random models with data-parallel regions, random device lists and batches.

    python3 property_test.py FIRST COUNT       models number FIRST … FIRST + COUNT - 1; each is made from its number alone

For each model and batch from 1 to 2N+1: the run on N devices agrees with host-only mode within 1e-5 of each output's
largest value, and the devices cpu:0 … cpu:N-1 give the same bits as cpu:0 N times.
"""
import json
import random
import sys
import tempfile
from pathlib import Path

from program import must, plan_of, sheaf_run
from tensors import difference, drawn, read_safetensors, write_safetensors

TOLERANCE = 1e-5
ACTIVATIONS = [{"type": t} for t in ("ReLU", "Tanh", "Sigmoid", "SiLU", "GELU", "Identity", "Dropout")] + [
    {"type": "LeakyReLU", "negative_slope": 0.2}, {"type": "ELU", "alpha": 0.7}, {"type": "Hardtanh", "max_val": 0.5}, {"type": "Scale", "value": -1.5}]


class Maker:
    """Draws a model; shapes are tracked without the batch dimension, which is the first."""

    def __init__(self, number):
        self.draw = random.Random(f"model {number}")
        self.devices = self.draw.randint(1, 4)
        self.shape = self.draw.choice([(5,), (3, 4), (4, 6, 6), (2, 7, 5)])

    def layer(self, shape):
        """(layer, its output's shape): something that takes one input of this shape."""
        draw, choices = self.draw, [lambda: (dict(draw.choice(ACTIVATIONS)), shape)]
        width = draw.randint(2, 6)
        choices.append(lambda: ({"type": "Linear", "in_features": shape[-1], "out_features": width, "bias": draw.random() < 0.7}, (*shape[:-1], width)))
        choices.append(lambda: ({"type": "LayerNorm", "normalized_shape": shape[-1], "eps": 0.01}, shape))
        choices.append(lambda: ({"type": draw.choice(["Softmax", "LogSoftmax"]), "dim": draw.choice([1, -1])}, shape))
        if len(shape) == 1:
            choices.append(lambda: ({"type": "BatchNorm1d", "num_features": shape[0]}, shape))
        if len(shape) == 2:
            choices.append(lambda: ({"type": "Conv1d", "in_channels": shape[0], "out_channels": width, "kernel_size": 3, "padding": 1}, (width, shape[1])))
            choices.append(lambda: ({"type": "Permute", "dims": [0, 2, 1]}, shape[::-1]))
            choices.append(lambda: ({"type": "Mean", "dim": 1}, shape[1:]))
            choices.append(lambda: ({"type": "Select", "dim": 1, "index": -1}, shape[1:]))
            choices.append(lambda: ({"type": "Flatten"}, (shape[0] * shape[1],)))
        if len(shape) == 3:
            for _ in range(3):
                choices.append(lambda: ({"type": "Conv2d", "in_channels": shape[0], "out_channels": width, "kernel_size": 3, "padding": 1}, (width, *shape[1:])))
            choices.append(lambda: ({"type": "BatchNorm2d", "num_features": shape[0]}, shape))
            choices.append(lambda: ({"type": "GroupNorm", "num_groups": 1, "num_channels": shape[0], "eps": 0.01}, shape))
            choices.append(lambda: ({"type": "AdaptiveAvgPool2d", "output_size": 2}, (shape[0], 2, 2)))
            choices.append(lambda: ({"type": "Flatten"}, (shape[0] * shape[1] * shape[2],)))
            if min(shape[1:]) >= 2:
                choices.append(lambda: ({"type": draw.choice(["MaxPool2d", "AvgPool2d"]), "kernel_size": 2}, (shape[0], shape[1] // 2, shape[2] // 2)))
        return draw.choice(choices)()

    def chain(self, shape, length):
        layers = []
        for _ in range(length):
            layer, shape = self.layer(shape)
            layers.append(layer)
        return {"type": "Sequential", "layers": layers}, shape

    def place(self):
        return {} if self.draw.random() < 0.6 else {"device": self.draw.choice(["cpu"] + [f"cuda:{i}" for i in range(self.devices)])}

    def model(self):
        draw, layers, values = self.draw, [], {"x": self.shape}
        self.shapes = values
        for position in range(draw.randint(2, 5)):
            name = f"l{position}"
            source = draw.choice(list(values)[-2:])
            shape = values[source]
            peers = [v for v, s in values.items() if s == shape]
            kind = draw.random()
            if kind < 0.2:
                layers.append({"name": name, "type": draw.choice(["Add", "Sub", "Mul"]), "inputs": [source, draw.choice(peers)], **self.place()})
            elif kind < 0.3:
                layers.append({"name": name, "type": "Concat", "dim": 1, "inputs": [source, draw.choice(peers)], **self.place()})
                shape = (2 * shape[0], *shape[1:])
            elif kind < 0.5:
                body, shape = self.chain(shape, draw.randint(1, 3))
                layers.append({"name": name, "inputs": [source], **body, **self.place()})
            else:
                body, shape = self.chain(shape, draw.randint(1, 4))
                region = {"name": name, "type": "DataParallel", "inputs": [source], "module": body}
                if draw.random() < 0.4:
                    region["device_ids"] = draw.sample(range(self.devices), draw.randint(1, self.devices))
                if draw.random() < 0.3:
                    region["output_device"] = draw.randrange(self.devices)
                layers.append(region)
            values[name] = shape
        outputs = list(dict.fromkeys([layers[-1]["name"], draw.choice(layers)["name"]]))
        return {"sheaf": "1.0", "name": "random", "inputs": {"x": {"shape": ["batch", *self.shape]}}, "layers": layers, "outputs": outputs}


def check(number, folder):
    maker = Maker(number)
    model, plan = folder / "model.json", folder / "model.plan"
    model.write_text(json.dumps(maker.model(), indent=1))
    plan_of(model, plan)

    def outputs(devices, batch):
        must(sheaf_run(plan, "--devices", devices, "--input", f"x={folder}/x.safetensors:x", "--seed", "3", "--output", folder / "out.safetensors"))
        return read_safetensors(folder / "out.safetensors")[0]
    n = maker.devices
    for batch in sorted({1, 2 * n + 1, maker.draw.randint(1, 2 * n + 1), maker.draw.randint(1, 2 * n + 1)}):
        write_safetensors(folder / "x.safetensors", {"x": drawn("x", (batch, *maker.shape))})
        whole = outputs("cpu", batch)
        several = outputs(",".join(f"cpu:{i}" for i in range(n)), batch)
        one = outputs(",".join(["cpu:0"] * n), batch)
        mixed = ",".join(f"cpu:{maker.draw.randrange(3)}" for _ in range(n))
        for devices, results in (("distinct devices", several), ("one device", one), (mixed, outputs(mixed, batch))):
            assert results.keys() == whole.keys(), f"{devices}: outputs {results.keys()} instead of {whole.keys()}"
            for name, tensor in whole.items():
                error = difference(results[name], tensor)
                assert error <= TOLERANCE, f"{devices}, batch {batch}: {name} {list(tensor.shape)} is off by {error:.1e}"
                assert results[name] == several[name], f"{devices}, batch {batch}: {name} differs in bits from distinct devices"


def check_models(check):
    """Runs `check(number, folder)` on the models that the command line names; gives the exit status."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    failed = 0
    for number in range(first, first + count):
        with tempfile.TemporaryDirectory(prefix="sheaf-property-") as folder:
            try:
                check(number, Path(folder))
            except AssertionError as error:
                failed += 1
                print(f"model {number}: {error}\n{(Path(folder) / 'model.json').read_text()}")
    print(f"{count - failed} of {count} models agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(check_models(check))
