"""Pictures cross to GPUs as bytes: the same losses and weights as from the numbers that they stand for, on virtual GPUs; and what `estimate`,
`explain`, `dump` and a trace show of them."""
import json
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from program import SHEAF_RUN, ProgramTest, execute, must, sheaf

MODEL = """{"sheaf": "1.0", "name": "grey", "inputs": {"x": {"shape": ["batch", 1, 28, 28]}}, "layers": [
  {"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
    {"type": "Conv2d", "in_channels": 1, "out_channels": 4, "kernel_size": 3}, {"type": "ReLU"}, {"type": "Flatten"},
    {"type": "Linear", "in_features": 2704, "out_features": 10}]}}],
"training": {"targets": {"label": {"shape": ["batch"], "dtype": "int64"}}, "loss": {"type": "CrossEntropyLoss"},
  "optimizer": {"type": "SGD", "lr": 0.05, "momentum": 0.9}}}"""
ROWS, BATCH, PIXELS = 150, 64, 28 * 28


class Bytes(ProgramTest):
    def setUp(self):
        super().setUp()
        self.plan = self.compile(MODEL)
        pixels = bytes((row * 31 + i * 7 + i // 28 * row) % 256 for row in range(ROWS) for i in range(PIXELS))
        (self.dir / "bytes.idx").write_bytes(struct.pack(">BBBB3I", 0, 0, 8, 3, ROWS, 28, 28) + pixels)
        # f32 of the same quotients, each rounded once
        numbers = b"".join(struct.pack(">f", byte / 255) for byte in range(256))
        (self.dir / "numbers.idx").write_bytes(struct.pack(">BBBB4I", 0, 0, 13, 4, ROWS, 1, 28, 28) + b"".join(numbers[4 * p:4 * p + 4] for p in pixels))
        (self.dir / "labels.idx").write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, ROWS) + bytes(row % 10 for row in range(ROWS)))

    def train(self, data, devices, *more, epochs=2):
        must(execute([SHEAF_RUN[0], "train", self.plan, "--devices", devices, "--data", f"x={data}.idx", "--data", "label=labels.idx", "--batch-size", BATCH,
                      "--epochs", epochs, "--seed", 3, "--save", "out.safetensors", "--metrics", "metrics.jsonl", *more], cwd=self.dir))
        lines = [json.loads(line) for line in (self.dir / "metrics.jsonl").read_text().splitlines()]
        return (self.dir / "out.safetensors").read_bytes(), [line["loss"] for line in lines if "loss" in line]

    def test_train_as_the_numbers(self):
        for devices, more in (("cuda:0", ()), ("cuda:0,cuda:1", ()), ("cuda:0,cuda:0,cuda:1", ("--no-graphs",)), ("cuda:0", ("--micro-batches", 3)),
                              ("cuda:0,cpu:0", ()), ("cpu:0", ()), ("cuda:0", ("--eval", "x=bytes.idx", "--eval", "label=labels.idx"))):
            with self.subTest(devices=devices, more=more):
                weights, losses = self.train("bytes", devices, *more)
                self.assertEqual(len(losses), 6)
                self.assertEqual((weights, losses), self.train("numbers", devices, *more))

    def test_are_resumed(self):
        whole, _ = self.train("bytes", "cuda:0")
        self.train("bytes", "cuda:0", "--checkpoint", "c", epochs=1)
        parts, _ = self.train("bytes", "cuda:0", "--checkpoint", "c", "--resume")
        self.assertEqual(parts, whole)

    def test_a_trace_has_their_look_up(self):
        def looked_up(data, devices):
            self.train(data, devices, "--trace", "trace.json", epochs=1)
            return (self.dir / "trace.json").read_text().count("bytes to numbers") > 0
        self.assertTrue(looked_up("bytes", "cuda:0"))
        self.assertFalse(looked_up("numbers", "cuda:0"))
        self.assertFalse(looked_up("bytes", "cuda:0,cpu:0"))

    def test_are_shown(self):
        where = ["--devices", "cuda:0", "--batch", BATCH, "--device-model", "h200"]
        def estimated(*more):
            return json.loads(must(sheaf("estimate", self.plan, *where, *more, "--json")).out)
        numbers, as_bytes = estimated(), estimated("--bytes", "x")
        fewer = 3 * BATCH * PIXELS
        self.assertEqual(numbers["memory"]["input_bytes"] - as_bytes["memory"]["input_bytes"], fewer)
        copied = [next(kind["written_bytes"] for kind in told["kinds"] if kind["op"] == "scatter") for told in (numbers, as_bytes)]
        self.assertEqual(copied[0] - copied[1], fewer)
        explained = must(sheaf("explain", self.plan, "--program", "train", "--op", "reorder", *where, "--bytes", "x")).out
        self.assertIn("bytes to numbers", explained)
        bound = must(sheaf("dump", self.plan, "--format", "bound", "--program", "train", *where, "--bytes", "x")).out
        self.assertRegex(bound, rf"uint8\[{BATCH},1,28,28\] on cuda:0")

    def test_what_takes_no_bytes_is_refused(self):
        where = ["--devices", "cuda:0", "--batch", BATCH, "--device-model", "h200"]
        self.assert_refused(sheaf("estimate", self.plan, *where, "--bytes", "y"), "bytes for 'y': the training step has no such input or target")
        self.assert_refused(sheaf("estimate", self.plan, *where, "--bytes", "label"), "it is int64, not float32")
        self.assert_refused(sheaf("estimate", self.plan, *where, "--program", "infer", "--bytes", "x"), "to training steps alone")
        self.assert_refused(sheaf("dump", self.plan, "--format", "text", "--bytes", "x"), "--bytes goes with --format bound", status=2)


unittest.main()
