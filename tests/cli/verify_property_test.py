"""`sheaf verify` finds nothing where nothing is: random models, weights and data.

    python3 verify_property_test.py FIRST COUNT [SEEDS]    models number FIRST … FIRST + COUNT - 1, each made from its number alone

Each model is verified on lists of devices with SEEDS seeds of weights and data each (without: one seed, one list, which go round).
The models are train_property_test's with what is hard to tell from a fault: convolutions and linear layers with a bias in front of a
batch norm, whose gradient is rounding and nothing else; optimisers that divide by a gradient's size; recurrent layers; attention.
"""
import json
import sys

from program import sheaf
from property_test import Maker, check_models
from train_property_test import TrainingMaker

LISTS = ["cpu:0-2", "cpu:0,cpu:1", "cpu:0,cpu:1,cpu:0"]
SEEDS = int(sys.argv[3]) if len(sys.argv) > 3 else 0
OPTIMIZERS = [{"type": "SGD", "lr": 0.05, "momentum": 0.9}, {"type": "Adam", "lr": 0.01}, {"type": "AdamW", "lr": 0.01, "amsgrad": True},
              {"type": "RMSprop", "lr": 0.01, "momentum": 0.5}, {"type": "RMSprop", "lr": 0.01, "centered": True}]


class VerifyMaker(TrainingMaker):
    def __init__(self, number):
        super().__init__(f"verified {number}")
        self.devices = 2

    def layer(self, shape):
        draw = self.draw
        width = draw.randint(2, 6)
        if draw.random() < 0.25 and len(shape) == 3:
            body = [{"type": "Conv2d", "in_channels": shape[0], "out_channels": width, "kernel_size": 3, "padding": 1},
                    {"type": "BatchNorm2d", "num_features": width}, {"type": draw.choice(["ReLU", "GELU", "SiLU"])}]
            return {"type": "Sequential", "layers": body}, (width, *shape[1:])
        if draw.random() < 0.25 and len(shape) == 1:
            body = [{"type": "Linear", "in_features": shape[0], "out_features": width}, {"type": "BatchNorm1d", "num_features": width},
                    {"type": draw.choice(["ReLU", "Tanh"])}]
            return {"type": "Sequential", "layers": body}, (width,)
        if draw.random() < 0.3 and len(shape) == 2:
            if draw.random() < 0.3:
                return {"type": draw.choice(["LSTM", "GRU"]), "input_size": shape[1], "hidden_size": width, "batch_first": True,
                        "bidirectional": draw.random() < 0.3}, None
        return Maker.layer(self, shape)

    def chain(self, shape, length):
        layers = []
        for _ in range(length):
            layer, after = self.layer(shape)
            if after is None:  # a recurrent layer: as many numbers a step as both of its directions have
                after = (shape[0], layer["hidden_size"] * (2 if layer["bidirectional"] else 1))
            layers.append(layer)
            shape = after
        return {"type": "Sequential", "layers": layers}, shape

    def model(self):
        spec = super().model()
        spec["training"]["optimizer"] = dict(self.draw.choice(OPTIMIZERS))
        return spec


def check(number, folder):
    model = folder / "model.json"
    model.write_text(json.dumps(VerifyMaker(number).model(), indent=1))
    cases = [(devices, seed) for devices in LISTS for seed in range(SEEDS)] or [(LISTS[number % 3], number)]
    for devices, seed in cases:
        done = sheaf("verify", model, "--devices", devices, "--seed", seed)
        assert done.status == 0, f"--devices {devices} --seed {seed}: {done.err}"


if __name__ == "__main__":
    sys.exit(check_models(check))
