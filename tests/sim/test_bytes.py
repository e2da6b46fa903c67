"""Pictures cross to GPUs as bytes: the same losses and weights as from the numbers that they stand for, on virtual GPUs; and what `estimate`,
`explain`, `dump` and a trace show of them."""
import json
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from program import SHEAF_RUN, ProgramTest, cpu_has_bf16, execute, must, sheaf

MODEL = """{"sheaf": "1.0", "name": "grey", "inputs": {"x": {"shape": ["batch", 1, 28, 28]}}, "layers": [
  {"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
    {"type": "Conv2d", "in_channels": 1, "out_channels": 4, "kernel_size": 3}, {"type": "ReLU"}, {"type": "Flatten"},
    {"type": "Linear", "in_features": 2704, "out_features": 10}]}}],
"training": {"targets": {"label": {"shape": ["batch"], "dtype": "int64"}}, "loss": {"type": "CrossEntropyLoss"},
  "optimizer": {"type": "SGD", "lr": 0.05, "momentum": 0.9}}}"""
AUTOENCODER = """{"sheaf": "1.0", "name": "coder", "inputs": {"x": {"shape": ["batch", 28, 28]}}, "layers": [
  {"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
    {"type": "Linear", "in_features": 28, "out_features": 4}, {"type": "Linear", "in_features": 4, "out_features": 28}]}}],
"training": {"loss": {"type": "MSELoss", "inputs": ["net", "x"]}, "optimizer": {"type": "SGD", "lr": 0.05}}}"""
LISTS = ("cuda:0", "cuda:0,cuda:1", "cuda:0,cuda:0,cuda:1", "cuda:0,cpu:0", "cpu:0")
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

    def test_are_rounded_as_a_layer_reads_them(self):
        """In bf16 and f16 the look-up takes the conversion's place: the same bits."""
        for precision in ("bf16", "f16"):
            self.plan = self.dir / f"{precision}.plan"
            must(sheaf("compile", "--precision", precision, self.write("model.json", MODEL), "-o", self.plan))
            # Virtual GPUs compute in bf16 where the CPU does.
            for devices in ("cuda:0", "cuda:0,cuda:1") if precision == "f16" or cpu_has_bf16() else ():
                with self.subTest(precision=precision, devices=devices):
                    self.assertEqual(self.train("bytes", devices), self.train("numbers", devices))
            where = ["--program", "train", "--devices", "cuda:0", "--batch", BATCH, "--device-model", "h200"]
            numbers, as_bytes = (json.loads(must(sheaf("estimate", self.plan, *where, *more, "--json")).out) for more in ((), ("--bytes", "x")))
            launches = [told["devices"][1]["work"]["launches"] for told in (numbers, as_bytes)]
            self.assertEqual(launches[1], launches[0])
            bound = must(sheaf("dump", self.plan, "--format", "bound", *where, "--bytes", "x")).out
            self.assertRegex(bound, rf"uint8\[{BATCH},1,28,28\] on cuda:0")
            self.assertNotRegex(bound, rf"float32\[{BATCH},1,28,28\]")

    def test_evaluate_as_the_numbers(self):
        """After training, by `eval`, and between epochs; the leftover batch too."""
        self.train("bytes", "cuda:0")
        def evaluated(data, devices):
            told = json.loads(must(execute([SHEAF_RUN[0], "eval", self.plan, "--devices", devices, "--data", f"x={data}.idx", "--data", "label=labels.idx",
                                            "--weights", "out.safetensors", "--batch-size", BATCH, "--json", "--trace", "trace.json"], cwd=self.dir)).out)
            return told["loss"], self.looked_up()
        for devices in LISTS:
            with self.subTest(devices=devices):
                loss, looked_up = evaluated("bytes", devices)
                self.assertEqual(looked_up, "cpu" not in devices)
                self.assertEqual((loss, False), evaluated("numbers", devices))
        def between_epochs(data):
            self.train("numbers", "cuda:0", "--eval", f"x={data}.idx", "--eval", "label=labels.idx", "--trace", "trace.json")
            lines = [json.loads(line) for line in (self.dir / "metrics.jsonl").read_text().splitlines()]
            return [line["eval_loss"] for line in lines if "eval_loss" in line], self.looked_up()
        losses, looked_up = between_epochs("bytes")
        self.assertEqual((len(losses), looked_up), (2, True))
        self.assertEqual((losses, False), between_epochs("numbers"))

    def test_a_loss_of_the_input_reads_numbers(self):
        """Evaluation compares outputs with an autoencoder's input on the host: that stays as it is."""
        self.plan = self.compile(AUTOENCODER)
        numbers = (self.dir / "numbers.idx").read_bytes()
        (self.dir / "numbers.idx").write_bytes(struct.pack(">BBBB3I", 0, 0, 13, 3, ROWS, 28, 28) + numbers[20:])
        def evaluated(data):
            return json.loads(must(execute([SHEAF_RUN[0], "eval", self.plan, "--devices", "cuda:0", "--data", f"x={data}.idx", "--batch-size", BATCH, "--json"], cwd=self.dir)).out)["loss"]
        self.assertEqual(evaluated("bytes"), evaluated("numbers"))

    def test_run_as_the_numbers(self):
        def ran(data, devices, *more):
            must(execute([SHEAF_RUN[0], self.plan, "--devices", devices, "--input", f"x={data}.idx", "--seed", 3, "--output", "y.safetensors",
                          "--trace", "trace.json", *more], cwd=self.dir))
            return (self.dir / "y.safetensors").read_bytes(), self.looked_up()
        for devices in LISTS:
            for more in ((), ("--batch-size", BATCH), ("--batch-size", 1, "--no-graphs")):
                with self.subTest(devices=devices, more=more):
                    outputs, looked_up = ran("bytes", devices, *more)
                    self.assertEqual(looked_up, "cpu" not in devices)
                    self.assertEqual((outputs, False), ran("numbers", devices, *more))

    def looked_up(self):
        return "bytes to numbers" in (self.dir / "trace.json").read_text()

    def test_are_resumed(self):
        whole, _ = self.train("bytes", "cuda:0")
        self.train("bytes", "cuda:0", "--checkpoint", "c", epochs=1)
        parts, _ = self.train("bytes", "cuda:0", "--checkpoint", "c", "--resume")
        self.assertEqual(parts, whole)

    def test_a_trace_has_their_look_up(self):
        def looked_up(data, devices):
            self.train(data, devices, "--trace", "trace.json", epochs=1)
            return self.looked_up()
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
        inferred = must(sheaf("explain", self.plan, "--op", "reorder", *where, "--bytes", "x")).out
        self.assertIn("bytes to numbers", inferred)
        explained = must(sheaf("explain", self.plan, "--program", "train", "--op", "reorder", *where, "--bytes", "x")).out
        self.assertIn("bytes to numbers", explained)
        bound = must(sheaf("dump", self.plan, "--format", "bound", "--program", "train", *where, "--bytes", "x")).out
        self.assertRegex(bound, rf"uint8\[{BATCH},1,28,28\] on cuda:0")

    def test_what_takes_no_bytes_is_refused(self):
        where = ["--devices", "cuda:0", "--batch", BATCH, "--device-model", "h200"]
        self.assert_refused(sheaf("estimate", self.plan, *where, "--bytes", "y"), "bytes for 'y': the training step has no such input or target")
        self.assert_refused(sheaf("estimate", self.plan, *where, "--bytes", "label"), "it is int64, not float32")
        self.assert_refused(sheaf("estimate", self.plan, *where, "--program", "infer", "--bytes", "label"), "the model has no such input")
        self.assert_refused(sheaf("dump", self.plan, "--format", "text", "--bytes", "x"), "--bytes goes with --format bound", status=2)


unittest.main()
