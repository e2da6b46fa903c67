"""`sheaf train`: what it learns, writes and says; what is refused."""
import json
import math
import os
import pty
import random
import re
import subprocess
import unittest
import xml.etree.ElementTree

from program import LIMIT_SECONDS, execute, must, sheaf_run
from tensors import Tensor, read_safetensors, write_npy, write_npz, write_safetensors
from training import CNN, TRAIN, TrainTest, stripes

# y = x W' + b, plain SGD: a run is the sum of its parts.
LINEAR = """{"sheaf": "1.0", "name": "line", "inputs": {"x": {"shape": ["batch", 3]}}, "layers": [
{"name": "net", "type": "DataParallel", "module": {"type": "Linear", "in_features": 3, "out_features": 2}}],
"training": {"targets": {"y": {"shape": ["batch", 2]}}, "loss": {"type": "MSELoss", "inputs": ["net", "y"]},
  "optimizer": {"type": "SGD", "lr": 0.1}}}"""


class Learns(TrainTest):
    def test_everything_at_once(self):
        done = must(self.train("--epochs", 8, *self.evaluate(), "--metrics", self.path("m.jsonl"), "--plot", self.path("p.svg"),
                               "--save", self.path("w.safetensors"), "--seed", 1))
        steps = [line for line in self.lines() if "step" in line]
        epochs = [line for line in self.lines() if "step" not in line]
        self.assertEqual([s["step"] for s in steps], list(range(1, 49)))
        self.assertEqual([s["epoch"] for s in steps], [1 + i // 6 for i in range(48)])
        self.assertEqual([e["epoch"] for e in epochs], list(range(1, 9)))
        for line in steps:
            self.assertEqual(set(line), {"step", "epoch", "loss", "lr", "samples_per_s"})
        rates = [0.01 * 0.5 ** ((s["epoch"] - 1) // 2) for s in steps]
        self.assertTrue(all(math.isclose(s["lr"], r, rel_tol=1e-12) for s, r in zip(steps, rates)))
        for epoch in epochs:
            own = [s["loss"] for s in steps if s["epoch"] == epoch["epoch"]]
            mean = (16 * sum(own[:5]) + 10 * own[5]) / 90
            self.assertAlmostEqual(epoch["train_loss"], mean, places=9)
            self.assertGreater(epoch["seconds"], 0)
            self.assertGreaterEqual(epoch["data_wait_seconds"], 0)
            self.assertEqual(epoch["eval_rows"], 31)
            # A share of 31 rows.
            self.assertAlmostEqual(epoch["eval_accuracy"] * 31, round(epoch["eval_accuracy"] * 31), places=6)
        self.assertLess(epochs[-1]["train_loss"], 0.5 * epochs[0]["train_loss"])
        self.assertGreater(epochs[-1]["eval_accuracy"], 0.9)
        self.assertLess(epochs[-1]["eval_loss"], epochs[0]["eval_loss"])

        picture = xml.etree.ElementTree.parse(self.path("p.svg")).getroot()
        self.assertEqual(picture.tag, "{http://www.w3.org/2000/svg}svg")
        words = {element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")}
        self.assertTrue({"loss", "accuracy", "epoch"} <= words, words)

        weights, metadata = read_safetensors(self.path("w.safetensors"))
        self.assertEqual(metadata.get("format"), "pt")
        for name, shape in {"net.module.conv.weight": (4, 1, 3, 3), "net.module.bn.running_mean": (4,), "net.module.fc.bias": (3,)}.items():
            self.assertEqual(weights[name].shape, shape)
        self.assertEqual(weights["net.module.bn.num_batches_tracked"].data[0], 48)

        for word in ("cpu:0, cpu:1", "90 rows", "6 steps an epoch, the last of 10", "8 epochs, 48 steps", "Adam(lr=0.01", "StepLR(step_size=2",
                     "CrossEntropyLoss(", "ignore_index=-100", "strict", "f32", "x86-64-"):
            self.assertIn(word, done.err)
        self.assertEqual(len(re.findall(r"(?m)^epoch \d/8  train loss \S+  eval loss \S+  eval accuracy ", done.err)), 8, "one line an epoch where stderr is no terminal")
        self.assertNotIn("\r", done.err)
        self.assertRegex(done.out, r"\Astripes: eval accuracy [01]\.\d{4}, eval loss \S+, train loss \S+ after 8 epochs, .* s an epoch, [0-9.]+% waiting for data, on cpu:0,cpu:1\n\Z")

    def test_two_runs_give_the_same_bits(self):
        for name in ("a", "b"):
            must(self.train("--steps", 20, "--save", self.path(name), "--metrics", self.path(name + ".jsonl")))
        self.assertEqual(self.path("a").read_bytes(), self.path("b").read_bytes())
        self.assertEqual(self.losses("a.jsonl"), self.losses("b.jsonl"))
        must(self.train("--steps", 20, "--save", self.path("c"), "--seed", 7))
        self.assertNotEqual(self.path("a").read_bytes(), self.path("c").read_bytes())

    def test_openmps_variables_change_no_bit(self):
        command = lambda name: self.command("--steps", 6, "--save", self.path(name), devices="cpu:0", batch=64)
        must(execute(command("a"), cwd=self.shared))
        for settings in (["OMP_DYNAMIC=true"], ["OMP_THREAD_LIMIT=1"], ["OMP_NUM_THREADS=1", "OMP_WAIT_POLICY=passive"]):
            must(execute(["env", *settings, *command("b")], cwd=self.shared))
            self.assertEqual(self.path("a").read_bytes(), self.path("b").read_bytes(), settings)

    def test_steps_may_end_within_an_epoch(self):
        done = must(self.train("--steps", 8, *self.evaluate(), "--metrics", self.path("m.jsonl"), "--no-shuffle"))
        epochs = [line for line in self.lines() if "step" not in line]
        self.assertEqual([(e["epoch"], e["steps"], e.get("complete", True)) for e in epochs], [(1, 6, True), (2, 2, False)])
        self.assertIn("eval_accuracy", epochs[1])
        self.assertIn("as given (--no-shuffle)", done.err)
        self.assertIn("after 8 steps", done.out)

    def test_learning_rate_of_the_command_line(self):
        must(self.train("--steps", 7, "--lr", "0.125", "--metrics", self.path("m.jsonl")))
        self.assertEqual([line["lr"] for line in self.lines() if "step" in line], [0.125] * 7)

    def test_a_batch_larger_than_the_data(self):
        done = must(self.train("--epochs", 2, batch=1000))
        self.assertIn("1 step an epoch of 90", done.err)

    def test_all_kinds_of_sources(self):
        images, labels = stripes(40, "sources")
        x = Tensor("F32", (40, 1, 6, 6), [v / 255 for v in images.data])
        y = Tensor("I64", (40,), labels.data)
        write_npy(self.path("x.npy"), x)
        write_npz(self.path("d.npz"), {"label": y})
        write_safetensors(self.path("d.safetensors"), {"x": x, "label": y})
        a = must(self.train("--epochs", 1, data=(f"x={self.path('x.npy')}", f"label={self.path('d.npz')}:label"), batch=7))
        b = must(self.train("--epochs", 1, data=(f"x={self.path('d.safetensors')}:x", f"label={self.path('d.safetensors')}:label"), batch=7))
        strip = lambda done: done.out.split(",")[0]
        self.assertEqual(strip(a), strip(b))
        must(self.train("--steps", 3, data=("x=random:30", "label=random:30"), batch=8))

    def test_host_only(self):
        must(self.train("--steps", 3, devices="cpu"))

    def test_a_terminal_gets_a_bar(self):
        master, terminal = pty.openpty()
        running = subprocess.Popen(self.command("--epochs", 300), cwd=self.shared, stdout=subprocess.PIPE, stderr=terminal)
        os.close(terminal)
        seen = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the other side has closed
                break
            if not part:
                break
            seen += part
        os.close(master)
        running.stdout.read()
        running.stdout.close()
        self.assertEqual(running.wait(LIMIT_SECONDS), 0)
        text = seen.decode()
        self.assertRegex(text, r"\repoch +\d+/300 \[[=> ]+\] \d/6  loss [0-9.e-]+  [0-9,]+ samples/s  [0-9]+% wait  [0-9:]+ left")
        self.assertRegex(text, r"\nepoch 7/300  train loss |\x1b\[Kepoch 7/300  train loss ")


class Sums(TrainTest):
    """Plain SGD on a linear layer."""
    model = LINEAR
    data = ("x=x.npy", "y=y.npy")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = random.Random("sums").random
        x = [2 * draw() - 1 for _ in range(24 * 3)]
        write_npy(cls.shared / "x.npy", Tensor("F32", (24, 3), x))
        write_npy(cls.shared / "y.npy", Tensor("F32", (24, 2), [v for i in range(24) for v in (x[3 * i] - x[3 * i + 1], 0.5 + x[3 * i + 2])]))

    def test_the_steps_are_those_of_the_definition(self):
        """Loss and weights against a computation by hand, in double precision."""
        weights = {"net.module.weight": Tensor("F32", (2, 3), [0.1, -0.2, 0.3, 0.4, 0.5, -0.6]), "net.module.bias": Tensor("F32", (2,), [0.25, -0.5])}
        write_safetensors(self.path("w0"), weights)
        must(self.train("--steps", 9, "--no-shuffle", "--weights", self.path("w0"), "--save", self.path("w1"), "--metrics", self.path("m.jsonl"), batch=10))
        draw = random.Random("sums").random
        x = [[2 * draw() - 1 for _ in range(3)] for _ in range(24)]
        y = [(row[0] - row[1], 0.5 + row[2]) for row in x]
        w, b = [list(weights["net.module.weight"].data[3 * o:3 * o + 3]) for o in range(2)], list(weights["net.module.bias"].data)
        for step in range(9):
            rows = list(range(24))[step % 3 * 10:step % 3 * 10 + 10]
            error = {(r, o): sum(w[o][i] * x[r][i] for i in range(3)) + b[o] - y[r][o] for r in rows for o in range(2)}
            self.assertAlmostEqual(self.losses()[step], sum(e * e for e in error.values()) / len(error), places=5)
            for o in range(2):
                for i in range(3):
                    w[o][i] -= 0.1 * sum(2 * error[r, o] * x[r][i] for r in rows) / len(error)
                b[o] -= 0.1 * sum(2 * error[r, o] for r in rows) / len(error)
        saved, _ = read_safetensors(self.path("w1"))
        for actual, expected in zip((*saved["net.module.weight"].data, *saved["net.module.bias"].data), (*w[0], *w[1], *b)):
            self.assertAlmostEqual(actual, expected, places=5)

    def test_saved_weights_are_where_training_goes_on(self):
        common = ("--no-shuffle",)
        must(self.train("--epochs", 6, "--save", self.path("whole"), *common, batch=8))
        must(self.train("--epochs", 4, "--save", self.path("first"), *common, batch=8))
        must(self.train("--epochs", 2, "--weights", self.path("first"), "--save", self.path("both"), *common, batch=8))
        self.assertEqual(self.path("whole").read_bytes(), self.path("both").read_bytes())
        must(sheaf_run(self.plan, "--devices", "cpu:0", "--weights", self.path("both"), "--input", "x=x.npy", "--output", self.path("y"), cwd=self.shared))
        self.assertEqual(read_safetensors(self.path("y"))[0]["net"].shape, (24, 2))

    def test_eval_loss_without_classes(self):
        must(self.train("--epochs", 1, "--eval", "x=x.npy", "--eval", "y=y.npy", "--metrics", self.path("m.jsonl"), "--lr", 0, batch=24))
        step, epoch = self.lines()
        self.assertNotIn("eval_accuracy", epoch)
        # With learning rate 0 the rows' loss is the same before and after.
        self.assertAlmostEqual(epoch["eval_loss"], step["loss"], places=5)

    def test_accuracy_is_told_where_the_model_asks_for_it(self):
        for metrics, told in (("[]", False), ('["accuracy"]', True)):
            plan = self.compile("""{"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 3]}},
"layers": [{"name": "net", "type": "Linear", "in_features": 3, "out_features": 2}],
"training": {"targets": {"y": {"shape": ["batch", 2]}}, "loss": {"type": "BCEWithLogitsLoss"}, "optimizer": {"type": "SGD"}, "metrics": METRICS}}""".replace("METRICS", metrics))
            draw = random.Random("yes or no").random
            y = [float(draw() > 0.5) for _ in range(24 * 2)]
            write_npy(self.shared / "yes.npy", Tensor("F32", (24, 2), y))
            # With learning rate 0 the outputs are those of `run`.
            done = must(self.train("--steps", 1, "--eval", "x=x.npy", "--eval", "y=yes.npy", "--metrics", self.path("m.jsonl"), "--lr", 0,
                                   data=("x=x.npy", "y=yes.npy"), batch=24, plan=plan))
            must(sheaf_run(plan, "--devices", "cpu:0", "--input", "x=x.npy", "--output", self.path("o"), cwd=self.shared))
            right = sum((o > 0) == (t > 0.5) for o, t in zip(read_safetensors(self.path("o"))[0]["net"].data, y))
            self.assertEqual(self.lines()[-1].get("eval_accuracy"), right / 48 if told else None)
            self.assertEqual("accuracy" in done.out + done.err, told)
            self.assertRegex(done.out, r"eval loss \S+, train loss \S+ after 1 epoch,")

    def test_random_targets_are_what_the_loss_takes(self):
        plan = self.compile("""{"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 3]}},
"layers": [{"type": "Linear", "in_features": 3, "out_features": 2}, {"name": "p", "type": "Sigmoid"}],
"training": {"targets": {"y": {"shape": ["batch", 2]}}, "loss": {"type": "BCELoss"}, "optimizer": {"type": "SGD"}}}""")
        must(self.train("--steps", 2, data=("x=random:30", "y=random:30"), batch=10, plan=plan))

    def test_every_device_list_agrees_within_rounding(self):
        results = []
        for devices in ("cpu", "cpu:0", "cpu:0,cpu:1", "cpu:0-2", "cpu:1,cpu:0", "cpu:0,cpu:0"):
            must(self.train("--steps", 9, "--save", self.path("w"), devices=devices, batch=7))
            results.append(read_safetensors(self.path("w"))[0]["net.module.weight"].data)
        for other in results[1:]:
            for a, b in zip(results[0], other):
                self.assertAlmostEqual(a, b, places=5)


class Sequences(TrainTest):
    """Rows along dimension 1, classes in dimension 1 of three, targets that are ignored."""
    model = """{"sheaf": "1.0", "name": "words", "inputs": {"tokens": {"shape": [5, "batch"], "dtype": "int64"}},
"modules": {"Words": {"layers": [{"name": "embed", "type": "Embedding", "num_embeddings": 9, "embedding_dim": 6},
  {"name": "decode", "type": "Linear", "in_features": 6, "out_features": 4}]}},
"layers": [{"name": "net", "type": "DataParallel", "dim": 1, "module": {"type": "Words"}},
           {"name": "scores", "type": "Permute", "dims": [0, 2, 1]}],
"training": {"targets": {"next": {"shape": [5, "batch"], "dtype": "int64"}},
  "loss": {"type": "CrossEntropyLoss", "inputs": ["scores", "next"], "ignore_index": 7}, "optimizer": {"type": "SGD", "lr": 1.0}, "metrics": ["accuracy"]}}"""
    data = ("tokens=tokens.npy", "next=next.npy")

    def test_evaluation_is_that_of_the_outputs(self):
        draw = random.Random("words").randrange
        tokens = [draw(9) for _ in range(5 * 17)]
        targets = [7 if t == 8 else t % 4 for t in tokens]
        write_npy(self.shared / "tokens.npy", Tensor("I64", (5, 17), tokens))
        write_npy(self.shared / "next.npy", Tensor("I64", (5, 17), targets))
        for epochs in (1, 40):
            must(self.train("--epochs", epochs, "--eval", self.data[0], "--eval", self.data[1], "--save", self.path("w"), "--metrics", self.path("m.jsonl"), batch=6))
            must(sheaf_run(self.plan, "--devices", "cpu:0", "--weights", self.path("w"), "--input", self.data[0], "--output", self.path("o"), cwd=self.shared))
            scores = read_safetensors(self.path("o"))[0]["scores"]
            self.assertEqual(scores.shape, (5, 4, 17))
            right, loss, counted = 0, 0.0, 0
            for i in range(5):
                for j in range(17):
                    target = targets[i * 17 + j]
                    if target == 7:
                        continue
                    row = [scores.data[(i * 4 + c) * 17 + j] for c in range(4)]
                    counted += 1
                    right += row.index(max(row)) == target
                    loss += math.log(sum(math.exp(v) for v in row)) - row[target]
            epoch = self.lines()[-1]
            self.assertAlmostEqual(epoch["eval_accuracy"], right / counted, places=9)
            self.assertAlmostEqual(epoch["eval_loss"], loss / counted, places=5)
        self.assertEqual(right, counted, "forty epochs are enough to learn this by heart")


class Refused(TrainTest):
    def assert_nothing_written(self):
        self.assertEqual([p.name for p in self.dir.iterdir() if p.suffix != ".json" and p.suffix != ".plan"], [])

    def refuse(self, *words, more=(), steps=("--steps", 3), status=1, **options):
        outputs = ["--save", self.path("w"), "--plot", self.path("p.svg"), "--metrics", self.path("m.jsonl"), "--checkpoint", self.path("c")]
        self.assert_refused(self.train(*steps, *outputs, *more, **options), *words, status=status)
        self.assert_nothing_written()

    def test_names(self):
        self.refuse("missing: --data label=SOURCE", "superfluous: 'lable'", data=("x=random:4", "lable=random:4"))
        self.refuse("missing: --data x=SOURCE", "missing: --data label=SOURCE", data=())
        self.refuse("missing: --eval label=SOURCE", more=("--eval", "x=random:4"))

    def test_rows_and_shapes(self):
        self.refuse("'x' has 90", "'label' has 31", data=("x=train-images.gz", "label=test-labels"))
        self.refuse("test-labels", "'x'", data=("x=test-labels", "label=test-labels"))
        self.refuse("no rows", data=("x=random:0", "label=random:0"))
        self.refuse("absent.npy", data=("x=absent.npy", "label=random:3"))

    def test_class_targets(self):
        for value in (3, -1, 2 ** 40):
            write_npy(self.shared / "y.npy", Tensor("I64", (4,), [0, 2, value, -100]))
            self.refuse("y.npy", "row 2", f"is {value}", "0 to 2", "-100", data=("x=random:4", "label=y.npy"))
        self.refuse("row 2", "--eval", more=("--eval", "x=random:4", "--eval", "label=y.npy"))

    def test_outputs_that_cannot_be(self):
        for option in ("--save", "--plot", "--metrics"):
            done = self.train("--steps", 2, option, self.path("no/such/file"))
            self.assert_refused(done, str(self.path("no/such/file")))
            self.assertNotIn("epoch 1/", done.err)
        self.write("file", "")
        self.assert_refused(self.train("--steps", 2, "--checkpoint", self.path("file/below")), str(self.path("file/below")))

    def test_no_training_section(self):
        model = json.loads(CNN)
        del model["training"]
        plan = self.compile(json.dumps(model), "infer.plan")
        self.refuse("training", plan=plan)

    def test_command_line(self):
        for more in (("--epochs", 1, "--steps", 1), (), ("--epochs", 0), ("--steps", 1, "--lr", "x"), ("--steps", 1, "--keep", 0),
                     ("--steps", 1, "--batch", 3), ("--steps", 1, "--numerics", "loose")):
            self.refuse(more=more, steps=(), status=2)
        self.refuse("--batch-size", steps=("--steps", 1), status=2, batch=0)
        done = execute([*TRAIN, "--help"])
        for option in ("--devices", "--data", "--eval", "--no-shuffle", "--checkpoint-every", "--resume"):
            self.assertIn(option, done.out)
        self.assert_refused(self.train("--steps", 1, "--resume"), "--checkpoint", status=2)

    def test_a_loss_that_is_not_finite(self):
        images, labels = stripes(90, "train")
        values = [v / 255 for v in images.data]
        values[36 * 40 + 5] = math.nan
        write_npy(self.shared / "nan.npy", Tensor("F32", (90, 1, 6, 6), values))
        done = self.train("--epochs", 1, "--no-shuffle", "--save", self.path("w"), "--plot", self.path("p.svg"), "--metrics", self.path("m.jsonl"),
                          "--checkpoint", self.path("c"), "--checkpoint-every", 1, data=("x=nan.npy", "label=train-labels"))
        self.assert_refused(done, "the loss of step 3 (epoch 1) is ", "layer 'net.module.conv'", "--lr")
        self.assertFalse(self.path("w").exists() or self.path("p.svg").exists())
        self.assertEqual(len(self.losses()), 3)
        self.assertIsNone(self.losses()[2])
        self.assertEqual([p.name for p in sorted(self.path("c").iterdir())], ["checkpoint-0000000001.safetensors", "checkpoint-0000000002.safetensors"])

    def test_a_learning_rate_that_is_too_large(self):
        done = self.train("--steps", 50, "--lr", "1e38", "--save", self.path("w"))
        self.assert_refused(done, "the loss of step", "--lr")
        self.assert_nothing_written()


unittest.main()
