"""`sheaf train --micro-batches`: the same step with less memory."""
import json
import math
import sys
import unittest

from program import execute, must, sheaf
from tensors import Tensor, drawn, read_safetensors, write_safetensors
from training import TrainTest

# Rows know nothing of each other; dropout draws by row, momentum and clipping see one step. A weight that isn't there
# makes divisors differ from part to part.
SEPARATE = {
    "sheaf": "1.0", "name": "separate", "inputs": {"x": {"shape": ["batch", 6]}}, "modules": {"Net": {"layers": [
        {"type": "Linear", "in_features": 6, "out_features": 16}, {"type": "RReLU"}, {"type": "Tanh"}, {"type": "Dropout", "p": 0.4},
        {"type": "Linear", "in_features": 16, "out_features": 12}, {"type": "Reshape", "shape": [-1, 3]}, {"type": "Dropout", "p": 0.3},
        {"type": "Reshape", "shape": [-1, 12]}, {"type": "LayerNorm", "normalized_shape": 12}, {"type": "Linear", "in_features": 12, "out_features": 4}]}},
    "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Net"}}],
    "training": {"targets": {"label": {"shape": ["batch"], "dtype": "int64"}}, "clip_grad_norm": 0.5,
                 "loss": {"type": "CrossEntropyLoss", "weight": [0.5, 2, 1, 0], "ignore_index": 2, "label_smoothing": 0.1},
                 "optimizer": {"type": "SGD", "lr": 0.2, "momentum": 0.9}}}
ROWS = 40


class Separate(TrainTest):
    model = json.dumps(SEPARATE)
    data = ("x=data.safetensors:x", "label=data.safetensors:label")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        labels = [int(v) for v in drawn("label", (ROWS,), 0, 4, "I64").data]
        write_safetensors(cls.shared / "data.safetensors", {"x": drawn("x", (ROWS, 6)), "label": Tensor("I64", (ROWS,), labels)})

    def trained(self, name, *more, **options):
        must(self.train("--steps", 6, "--save", self.path(name), "--metrics", self.path(name + ".jsonl"), *more, **options))
        return {"loss": Tensor("F32", [6], self.losses(name + ".jsonl")), **read_safetensors(self.path(name))[0]}

    def assert_close(self, actual, expected, allowed=2e-5):
        self.assertEqual(actual.keys(), expected.keys())
        for name, tensor in expected.items():
            largest = max(map(abs, tensor.data))
            error = max(abs(a - e) for a, e in zip(actual[name].data, tensor.data))
            self.assertLessEqual(error, allowed * max(largest, 0.1), name)

    def test_parts_make_the_whole(self):
        whole = self.trained("whole", batch=14)
        self.assertTrue(all(map(math.isfinite, whole["loss"].data)))
        for parts, devices in ((2, "cpu:0,cpu:1"), (3, "cpu:0-2"), (5, "cpu"), (14, "cpu:0,cpu:1")):
            with self.subTest(parts=parts, devices=devices):
                self.assert_close(self.trained("parts", "--micro-batches", parts, batch=14, devices=devices), whole)

    def test_two_runs_give_the_same_bits(self):
        self.trained("a", "--micro-batches", 3, batch=14)
        self.trained("b", "--micro-batches", 3, batch=14, devices="cpu:0,cpu:0")
        self.assertEqual(self.path("a").read_bytes(), self.path("b").read_bytes())
        self.assertEqual(self.losses("a.jsonl"), self.losses("b.jsonl"))

    def test_one_part_is_the_plain_step(self):
        self.trained("a", "--micro-batches", 1)
        self.trained("b")
        self.assertEqual(self.path("a").read_bytes(), self.path("b").read_bytes())

    def test_refused(self):
        self.assert_refused(self.train("--steps", 1, "--micro-batches", 17), "--micro-batches 17", "16 rows", status=2)
        self.assert_refused(self.train("--steps", 1, "--micro-batches", 0), "--micro-batches", status=2)

    def test_a_small_last_step_has_a_part_for_each_row(self):
        done = must(self.train("--epochs", 1, "--micro-batches", 11, "--no-shuffle", batch=33))
        self.assertIn("11 of 3, then one update", done.err)

    def test_a_loss_that_is_not_finite_in_a_later_part_leaves_everything(self):
        rows = drawn("x", (16, 6))
        values = list(rows.data)
        values[13 * 6] = math.nan
        labels = Tensor("I64", (16,), [0, 1] * 8)
        write_safetensors(self.path("bad.safetensors"), {"x": Tensor("F32", (16, 6), values), "label": labels})
        data = (f"x={self.path('bad.safetensors')}:x", f"label={self.path('bad.safetensors')}:label")
        done = self.train("--steps", 3, "--micro-batches", 4, "--no-shuffle", "--checkpoint", self.path("c"), "--save", self.path("w"), data=data)
        self.assertEqual(done.status, 1, done)
        self.assertIn("the loss of step 1 (epoch 1) is nan: the first output that isn't finite is that of layer 'net.module.0'", done.err)
        self.assertFalse(self.path("w").exists())

    def test_resuming_with_another_number_is_refused(self):
        must(self.train("--steps", 2, "--micro-batches", 2, "--checkpoint", self.path("c")))
        self.assert_refused(self.train("--steps", 4, "--micro-batches", 4, "--checkpoint", self.path("c"), "--resume"), "--micro-batches is 2, this run's is 4")
        self.assert_refused(self.train("--steps", 4, "--checkpoint", self.path("c"), "--resume"), "--micro-batches is 2, this run's is 1")
        names = set(read_safetensors(next(self.path("c").glob("*.safetensors")))[0])
        self.assertIn("net.module.0.weight.momentum_buffer", names)
        self.assertFalse([name for name in names if name.endswith(".grad") or name.startswith("loss")], "sums live within a step")

    def test_dump_shows_the_programs(self):
        for program, words in {"accumulate": ("accumulate", "scatter", "reduce"), "update": ("sgd_momentum", "clip_coefficient")}.items():
            text = must(sheaf("dump", self.plan, "--format", "text", "--program", program)).out
            for word in words:
                self.assertIn(word, text, program)
        graph = json.loads(must(sheaf("dump", self.plan, "--format", "json", "--program", "accumulate", "--devices", "cpu:0,cpu:1", "--batch", 5)).out)
        self.assertIn([3, 2], [node["chunks"] for node in graph["nodes"] if node["op"] == "scatter"])


class Memory(TrainTest):
    """Activations of 1024 rows are 16 MiB a layer; weights are next to nothing."""
    model = json.dumps({
        "sheaf": "1.0", "name": "wide", "inputs": {"x": {"shape": ["batch", 4]}}, "layers": [
            {"type": "Linear", "in_features": 4, "out_features": 64}, {"type": "Reshape", "shape": [-1, 64, 1]},
            *[layer for width in (1, 64, 64, 64) for layer in ({"type": "Linear", "in_features": width, "out_features": 64}, {"type": "Tanh"})],
            {"type": "Mean", "dim": [1, 2]}],
        "training": {"targets": {"y": {"shape": ["batch"]}}, "loss": {"type": "MSELoss"}, "optimizer": {"type": "SGD", "lr": 0.1}}})

    def peak(self, *more):
        program = self.command("--steps", 2, *more, batch=1024, devices="cpu:0", data=("x=random:1024", "y=random:1024"))
        measured = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        return int(must(execute([sys.executable, "-c", measured, *program], cwd=self.shared)).out.split()[-1]) / 1024

    def test_falls_with_the_parts(self):
        whole, parts = self.peak(), self.peak("--micro-batches", 16)
        self.assertLess(parts, whole - 48, "MiB")


class WithBatchNorm(TrainTest):
    """The convolutional model of training.py: batch norm, pooling, Adam."""

    def test_resumes_bit_for_bit(self):
        options = ["--micro-batches", 3, *self.evaluate(), "--seed", 5]
        must(self.train("--steps", 14, *options, "--save", self.path("whole")))
        must(self.train("--steps", 8, *options, "--checkpoint", self.path("c")))
        must(self.train("--steps", 14, *options, "--checkpoint", self.path("c"), "--resume", "--save", self.path("parts")))
        self.assertEqual(self.path("whole").read_bytes(), self.path("parts").read_bytes())

    def test_running_statistics_see_each_part(self):
        must(self.train("--steps", 4, "--micro-batches", 3, "--save", self.path("w")))
        self.assertEqual(read_safetensors(self.path("w"))[0]["net.module.bn.num_batches_tracked"].data[0], 12)

    def test_a_part_of_one_row_is_no_batch(self):
        plan = self.compile("""{"sheaf": "1.0", "name": "bn", "inputs": {"x": {"shape": ["batch", 3]}}, "layers": [
            {"name": "norm", "type": "BatchNorm1d", "num_features": 3}], "training": {"targets": {"y": {"shape": ["batch", 3]}},
            "loss": {"type": "MSELoss"}, "optimizer": {"type": "SGD"}}}""")
        done = self.train("--steps", 1, "--micro-batches", 4, plan=plan, batch=4, devices="cpu:0", data=("x=random:4", "y=random:4"))
        self.assert_refused(done, "more than 1 value per channel", "micro-batch of 1 row")

    def test_statistics_of_the_whole_part(self):
        """A SyncBatchNorm's replicas share theirs: one row on each of two will do, but not one row in all."""
        plan = self.compile("""{"sheaf": "1.0", "name": "bn", "inputs": {"x": {"shape": ["batch", 3]}}, "layers": [
            {"name": "net", "type": "DataParallel", "module": {"type": "SyncBatchNorm", "num_features": 3}}], "training": {"targets": {"y": {"shape": ["batch", 3]}},
            "loss": {"type": "MSELoss"}, "optimizer": {"type": "SGD"}}}""")
        options = {"plan": plan, "batch": 4, "data": ("x=random:4", "y=random:4")}
        must(self.train("--steps", 1, "--micro-batches", 2, **options))
        self.assert_refused(self.train("--steps", 1, "--micro-batches", 4, **options), "at least 2 values per channel", "the whole batch has 1")


if __name__ == "__main__":
    unittest.main()
