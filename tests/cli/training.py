"""What the tests of `sheaf train` share: a model, data that it can learn, and the command."""
import json
import random
import shutil
import tempfile
from pathlib import Path

from program import SHEAF_RUN, ProgramTest, execute, must, sheaf
from tensors import Tensor, write_idx

# `sheaf train`, or `sheaf-run train` of a build without compiler.
TRAIN = [SHEAF_RUN[0], "train"]

# Three classes of 6x6 images: batch norm has running statistics, dropout draws from the seed, Adam has state.
CNN = """{"sheaf": "1.0", "name": "stripes", "inputs": {"x": {"shape": ["batch", 1, 6, 6]}},
"modules": {"Net": {"layers": [
  {"name": "conv", "type": "Conv2d", "in_channels": 1, "out_channels": 4, "kernel_size": 3, "padding": 1},
  {"name": "bn", "type": "BatchNorm2d", "num_features": 4}, {"name": "relu", "type": "ReLU"},
  {"name": "drop", "type": "Dropout", "p": 0.2}, {"name": "pool", "type": "MaxPool2d", "kernel_size": 2},
  {"name": "flatten", "type": "Flatten"}, {"name": "fc", "type": "Linear", "in_features": 36, "out_features": 3}]}},
"layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Net"}}],
"training": {"targets": {"label": {"shape": ["batch"], "dtype": "int64"}},
  "loss": {"type": "CrossEntropyLoss", "inputs": ["net", "label"]}, "optimizer": {"type": "Adam", "lr": 0.01},
  "schedule": {"type": "StepLR", "step_size": 2, "gamma": 0.5}, "metrics": ["accuracy"]}}"""


def stripes(rows, seed):
    """Images with horizontal, vertical or no stripes, and noise; and their labels."""
    draw = random.Random(seed)
    images, labels = [], []
    for _ in range(rows):
        label = draw.randrange(3)
        labels.append(label)
        for y in range(6):
            for x in range(6):
                on = (y % 2, x % 2, 0.5)[label]
                images.append(int(150 * on + 80 * draw.random()))
    return Tensor("U8", (rows, 6, 6), images), Tensor("U8", (rows,), labels)


class TrainTest(ProgramTest):
    model = CNN

    @classmethod
    def setUpClass(cls):
        cls.shared = Path(tempfile.mkdtemp(prefix="sheaf-train-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, True)
        (cls.shared / "model.json").write_text(cls.model)
        cls.plan = cls.shared / "model.plan"
        must(sheaf("compile", cls.shared / "model.json", "-o", cls.plan))
        for part, rows in (("train", 90), ("test", 31)):
            images, labels = stripes(rows, part)
            write_idx(cls.shared / f"{part}-images.gz", images)
            write_idx(cls.shared / f"{part}-labels", labels)

    data = ("x=train-images.gz", "label=train-labels")
    test = ("x=test-images.gz", "label=test-labels")

    def command(self, *more, devices="cpu:0,cpu:1", batch=16, data=None, plan=None):
        sources = [part for source in (self.data if data is None else data) for part in ("--data", source)]
        return [str(part) for part in (*TRAIN, plan or self.plan, "--devices", devices, "--batch-size", batch, *sources, *more)]

    def train(self, *more, **options):
        return execute(self.command(*more, **options), cwd=self.shared)

    def evaluate(self):
        return [part for source in self.test for part in ("--eval", source)]

    def path(self, name):
        return self.dir / name

    def lines(self, name="m.jsonl"):
        return [json.loads(line) for line in self.path(name).read_text().splitlines()]

    def losses(self, name="m.jsonl"):
        return [line["loss"] for line in self.lines(name) if "step" in line]
