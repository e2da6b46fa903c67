"""`sheaf train` with a scaled loss: what it tells of the scale, resuming, and gradients that stay NaN."""
import json
import unittest

from program import execute, must, sheaf
from tensors import Tensor, read_safetensors, write_safetensors
from training import CNN, TRAIN, TrainTest

STATES = ["loss_scale.scale", "loss_scale.growth_tracker", "loss_scale.steps"]


class Scaled(TrainTest):
    # In f32, whose range gradients leave near this scale; three finite steps in a row double it.
    model = CNN.replace('"schedule":', '"loss_scale": {"init_scale": 1.7e38, "growth_interval": 3}, "schedule":').replace(
        '"CrossEntropyLoss",', '"CrossEntropyLoss", "reduction": "sum",')

    def run_to(self, name, steps, *more):
        return must(self.train("--steps", steps, "--seed", 5, "--save", self.path(name), "--metrics", self.path(name + ".jsonl"),
                               "--tensorboard", self.path(name + ".events"), "--checkpoint", self.path(name + ".c"), *more))

    def last_checkpoint(self, name):
        return read_safetensors(sorted(self.path(name + ".c").iterdir())[-1])[0]

    def test_the_scale_and_skipped_steps_are_told(self):
        done = self.run_to("m", 30)
        state = self.last_checkpoint("m")
        skipped = 30 - int(state["loss_scale.steps"].data[0])
        self.assertGreater(skipped, 0)
        steps = [line for line in self.lines("m.jsonl") if "step" in line]
        self.assertEqual([line["step"] for line in steps if "loss_scale" in line], [10, 20, 30])
        self.assertEqual((steps[-1]["loss_scale"], steps[-1]["skipped_steps"]), (state["loss_scale.scale"].data[0], skipped))
        epochs = [line for line in self.lines("m.jsonl") if "step" not in line]
        self.assertEqual(epochs[-1]["skipped_steps"], skipped)
        self.assertIn(f"{skipped} steps skipped", done.err.splitlines()[-1])
        events = b"".join(file.read_bytes() for file in self.path("m.events").iterdir())
        self.assertEqual((events.count(b"train/loss_scale"), events.count(b"train/skipped_steps")), (3, 3))

    def test_resuming_keeps_the_scale_and_its_count_bit_for_bit(self):
        self.run_to("whole", 30)
        whole = self.last_checkpoint("whole")
        for stop in (2, 7, 20):
            with self.subTest(stop=stop):
                name = f"stopped{stop}"
                self.run_to(name, stop)
                self.assertTrue(set(STATES) <= set(self.last_checkpoint(name)))
                self.run_to(name, 30, "--resume")
                self.assertEqual(self.path(name).read_bytes(), self.path("whole").read_bytes())
                resumed = self.last_checkpoint(name)
                self.assertEqual({key: list(tensor.data) for key, tensor in resumed.items()},
                                 {key: list(tensor.data) for key, tensor in whole.items()})
                told = lambda file: [(line["loss"], line.get("loss_scale"), line.get("skipped_steps")) for line in self.lines(file) if "step" in line]
                self.assertEqual(told(f"{name}.jsonl"), told("whole.jsonl"))


class StaysNan(TrainTest):
    """The loss is finite, but one feature of four is 0, and the root of 0 has an infinite gradient, whatever the scale."""

    def model_with(self, scale):
        layers = [{"name": "fc", "type": "Linear", "in_features": 4, "out_features": 4},
                  {"name": "product", "type": "Mul", "inputs": ["fc", "x"]}, {"name": "size", "type": "Abs"}, {"name": "root", "type": "Sqrt"}]
        return self.compile(json.dumps({
            "sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 4]}}, "layers": layers,
            "training": {"targets": {"y": {"shape": ["batch"], "dtype": "int64"}}, "loss": {"type": "CrossEntropyLoss"},
                         "optimizer": {"type": "SGD", "lr": 0.1}, "loss_scale": scale}}))

    def ends(self, scale, steps, message):
        data = self.dir / "data.safetensors"
        write_safetensors(data, {"x": Tensor("F32", (160, 4), [i % 4 - 1 for i in range(640)]), "y": Tensor("I64", (160,), [i % 3 for i in range(160)])})
        done = execute([*TRAIN, self.model_with(scale), "--devices", "cpu:0", "--batch-size", 4, "--steps", 5000, "--save", self.path("w"),
                        "--metrics", self.path("m.jsonl"), "--data", f"x={data}:x", "--data", f"y={data}:y"])
        self.assertEqual(done.status, 1, done)
        self.assertIn(message, done.err)
        self.assertIn("--precision bf16", done.err)
        self.assertFalse(self.path("w").exists())
        told = [line for line in self.lines() if "step" in line]
        self.assertEqual((told[-1]["step"], told[-11]["skipped_steps"]), (steps, steps - 10))

    def test_a_scale_that_adapts_falls_to_its_floor(self):
        self.ends({}, 50, "the last 50 steps were skipped, because gradients weren't finite; the loss's scale is 5.82077e-11 now, and no smaller one can help")

    def test_a_scale_that_stays_is_given_up_after_a_thousand(self):
        self.ends(8, 1000, "{} makes it adapt")


if __name__ == "__main__":
    unittest.main()
