"""`sheaf train` on virtual GPUs starts a step before it reads the loss of the one before: the same bits as step by step, which is how it trains with --trace; and an
index beyond a table, or a loss that isn't finite, ends the run with its own step."""
import json
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from program import SHEAF_RUN, ProgramTest, execute, must

MODEL = """{"sheaf": "1.0", "name": "words", "inputs": {"x": {"shape": ["batch", 3], "dtype": "int64"}, "z": {"shape": ["batch", 4]}}, "layers": [
  {"name": "net", "type": "DataParallel", "inputs": ["x"], "module": {"type": "Sequential", "layers": [
    {"type": "Embedding", "num_embeddings": 20, "embedding_dim": 4}, {"type": "Flatten"}, {"type": "Linear", "in_features": 12, "out_features": 4}]}},
  {"name": "sum", "type": "Add", "inputs": ["net", "z"]}],
"training": {"targets": {"label": {"shape": ["batch"], "dtype": "int64"}}, "loss": {"type": "CrossEntropyLoss"},
  "optimizer": {"type": "Adam", "lr": 0.05}}}"""
ROWS, BATCH, STEPS = 44, 8, 6


class StepsUnderWay(ProgramTest):
    def setUp(self):
        super().setUp()
        self.plan = self.compile(MODEL)
        (self.dir / "label.idx").write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, ROWS) + bytes(row % 4 for row in range(ROWS)))
        self.write_data()

    def write_data(self, index=None, number=None):
        """The data; a word beyond the table in row `index`, a NaN in row `number`."""
        words = [[99 if row == index and i == 1 else (row * 5 + i) % 20 for i in range(3)] for row in range(ROWS)]
        (self.dir / "x.idx").write_bytes(struct.pack(">BBBB2I", 0, 0, 12, 2, ROWS, 3) + b"".join(struct.pack(">3i", *row) for row in words))
        zs = [[float("nan") if row == number else (row % 7 - i) / 4 for i in range(4)] for row in range(ROWS)]
        (self.dir / "z.idx").write_bytes(struct.pack(">BBBB2I", 0, 0, 13, 2, ROWS, 4) + b"".join(struct.pack(">4f", *row) for row in zs))

    def train(self, devices, *more, steps=2 * STEPS, fails=False):
        ended = execute([SHEAF_RUN[0], "train", self.plan, "--devices", devices, "--data", "x=x.idx", "--data", "z=z.idx", "--data", "label=label.idx", "--batch-size", BATCH,
                         "--steps", steps, "--seed", 3, "--no-shuffle", "--save", "out.safetensors", "--metrics", "metrics.jsonl", *more], cwd=self.dir)
        lines = [json.loads(line) for line in (self.dir / "metrics.jsonl").read_text().splitlines()]
        losses = [line["loss"] for line in lines if "loss" in line]
        if fails:
            self.assertEqual(ended.status, 1, ended.err)
            return ended.err, losses
        must(ended)
        return (self.dir / "out.safetensors").read_bytes(), losses

    def test_train_as_step_by_step(self):
        for devices in ("cuda:0", "cuda:0,cuda:1", "cuda:0,cuda:0"):
            for more in ((), ("--no-graphs",), ("--checkpoint-every", 4, "--checkpoint", f"c-{devices}"), ("--eval", "x=x.idx", "--eval", "z=z.idx", "--eval", "label=label.idx")):
                with self.subTest(devices=devices, more=more):
                    weights, losses = self.train(devices, *more)
                    self.assertEqual(len(losses), 2 * STEPS)
                    again = ("--checkpoint-every", 4, "--checkpoint", f"d-{devices}") if "--checkpoint" in more else more
                    self.assertEqual((weights, losses), self.train(devices, *again, "--trace", "trace.json"))

    def test_an_index_beyond_a_table(self):
        for devices in ("cuda:0", "cuda:0,cuda:1"):
            for step in (1, 2, 4, STEPS):
                with self.subTest(devices=devices, step=step):
                    self.write_data(index=(step - 1) * BATCH + 2)
                    told, losses = self.train(devices, steps=STEPS, fails=True)
                    self.assertIn(f"in step {step} of training", told)
                    self.assertIn("index 99", told)
                    self.assertEqual((told, losses), self.train(devices, "--trace", "trace.json", steps=STEPS, fails=True))
                    self.assertEqual(len(losses), step - 1)

    def test_a_loss_that_is_not_finite(self):
        for devices in ("cuda:0", "cuda:0,cuda:1"):
            for step in (1, 2, 4, STEPS):
                with self.subTest(devices=devices, step=step):
                    self.write_data(number=(step - 1) * BATCH + 2)
                    told, losses = self.train(devices, steps=STEPS, fails=True)
                    self.assertIn(f"the loss of step {step} (epoch 1) is nan: the first output that isn't finite is that of layer", told)
                    self.assertEqual(told, self.train(devices, "--trace", "trace.json", steps=STEPS, fails=True)[0])


unittest.main()
