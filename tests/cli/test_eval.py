"""`sheaf eval`: loss and metrics of a model on rows with known targets."""
import json
import unittest

from program import ProgramTest, must, sheaf
from tensors import Tensor, write_npy, write_safetensors


class Eval(ProgramTest):
    def setUp(self):
        super().setUp()
        self.plan = self.compile("""{"sheaf": "1.0", "name": "line", "inputs": {"x": {"shape": ["batch", 3]}},
"layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Linear", "in_features": 3, "out_features": 2}}],
"training": {"targets": {"y": {"shape": ["batch", 2]}}, "loss": {"type": "MSELoss"}, "optimizer": {"type": "SGD"}}}""")
        self.x = [(7 * i % 13 - 6) / 4 for i in range(21 * 3)]
        self.y = [(5 * i % 11 - 5) / 3 for i in range(21 * 2)]
        self.weights = {"net.module.weight": Tensor("F32", (2, 3), [1, -0.5, 0.25, 0, 2, -1]),
                        "net.module.bias": Tensor("F32", (2,), [0.5, -0.5])}
        write_npy(self.dir / "x.npy", Tensor("F32", (21, 3), self.x))
        write_npy(self.dir / "y.npy", Tensor("F32", (21, 2), self.y))
        write_safetensors(self.dir / "w.safetensors", self.weights)

    def evaluate(self, *more, devices="cpu:0", weights="w.safetensors"):
        return sheaf("eval", self.plan, "--devices", devices, "--data", f"x={self.dir}/x.npy", "--data", f"y={self.dir}/y.npy",
                     "--weights", self.dir / weights, *more)

    def expected(self):
        weight, bias = (self.weights[f"net.module.{name}"].data for name in ("weight", "bias"))
        out = [sum(weight[3 * o + k] * self.x[3 * row + k] for k in range(3)) + bias[o] for row in range(21) for o in range(2)]
        errors = [a - b for a, b in zip(out, self.y)]
        return sum(e * e for e in errors) / 42, sum(map(abs, errors)) / 42

    def test_the_same_on_any_devices_and_in_any_batches(self):
        loss, error = self.expected()
        for devices, batch in (("cpu:0", 256), ("cpu:0,cpu:1", 8), ("cpu:0-2", 21), ("cpu", 1)):
            found = json.loads(must(self.evaluate("--json", "--batch-size", batch, devices=devices)).out)
            self.assertAlmostEqual(found["loss"], loss, places=5)
            self.assertAlmostEqual(found["mean_absolute_error"], error, places=5)
            self.assertEqual((found["model"], found["rows"]), ("line", 21))

    def test_in_words(self):
        loss, error = self.expected()
        self.assertRegex(must(self.evaluate()).out, rf"\Aline: mean absolute error {error:.4g}, loss {loss:.4g} on 21 rows of \S+y.npy, \S+ s\n\Z")

    def test_what_training_tells_of_the_same_rows(self):
        must(sheaf("train", self.plan, "--devices", "cpu:0", "--data", f"x={self.dir}/x.npy", "--data", f"y={self.dir}/y.npy",
                   "--eval", f"x={self.dir}/x.npy", "--eval", f"y={self.dir}/y.npy", "--batch-size", 7, "--epochs", 2,
                   "--metrics", self.dir / "m.jsonl", "--save", self.dir / "t.safetensors", "--weights", self.dir / "w.safetensors"))
        trained = [json.loads(line) for line in (self.dir / "m.jsonl").read_text().splitlines()][-1]
        self.assertEqual(json.loads(must(self.evaluate("--json", weights="t.safetensors")).out)["loss"], trained["eval_loss"])

    def test_a_model_that_can_not_be_evaluated(self):
        plan = self.compile("""{"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 3]}}, "layers": [{"type": "ReLU"}]}""")
        done = sheaf("eval", plan, "--devices", "cpu:0", "--data", "x=random:3")
        self.assertEqual(done.status, 1)
        self.assertIn("training", done.err)

    def test_initial_weights_are_said(self):
        done = must(sheaf("eval", self.plan, "--devices", "cpu:0", "--data", "x=random:9", "--data", "y=random:9"))
        self.assertIn("without --weights", done.err)

    def test_metrics_must_suit_the_loss(self):
        text = """{"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 3]}}, "layers": [{"type": "Linear", "in_features": 3, "out_features": 2}],
"training": {"targets": {"y": {"shape": ["batch", 2]}}, "loss": {"type": "MSELoss"}, "optimizer": {"type": "SGD"}, "metrics": ["accuracy", "perplexty"]}}"""
        done = sheaf("compile", self.write("m.json", text), "-o", self.dir / "m.plan")
        self.assertEqual(done.status, 1)
        self.assertIn("'accuracy' can't be computed with MSELoss", done.err)
        self.assertIn("did you mean 'perplexity'?", done.err)


unittest.main()
