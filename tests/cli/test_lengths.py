"""Lengths: sizes besides the batch that a run determines. Numbers against PyTorch are in tests/golden/lengths."""
import json
import unittest

from program import SHEAF_RUN, ProgramTest, execute, must, sheaf, sheaf_run
from tensors import drawn, difference, read_safetensors, write_safetensors
from training import TRAIN

TOKENS = {"tokens": {"shape": ["batch", "seq"], "dtype": "int64"}}
LAYERS = [
    {"name": "embed", "type": "Embedding", "num_embeddings": 11, "embedding_dim": 8},
    {"name": "table", "type": "Parameter", "shape": [1, 12, 8]},
    {"name": "position", "type": "Slice", "dim": 1, "end": "seq"},
    {"name": "sum", "type": "Add", "inputs": ["embed", "position"]},
    {"name": "net", "type": "DataParallel", "module": {"type": "MultiheadAttention", "embed_dim": 8, "num_heads": 2, "batch_first": True},
     "inputs": ["sum", "sum", "sum"]},
    {"name": "mean", "type": "Mean", "dim": 1}]
TRAINING = {"targets": {"y": {"shape": ["batch", 8]}}, "loss": {"type": "MSELoss", "inputs": ["mean", "y"]},
            "optimizer": {"type": "SGD", "lr": 0.1, "momentum": 0.9}}


def model(layers=LAYERS, inputs=TOKENS):
    """A model file with one layer a line, the first on line 5."""
    return f'{{\n"sheaf": "1.0", "name": "m",\n"inputs": {json.dumps(inputs)},\n"layers": [\n' + ",\n".join(map(json.dumps, layers)) + "\n]\n}\n"


class Lengths(ProgramTest):
    def tokens(self, rows, length):
        write_safetensors(self.dir / "data.safetensors", {"tokens": drawn("tokens", [rows, length], 0, 11, "I64")})
        return "--input", f"tokens={self.dir}/data.safetensors:tokens"

    def run_on(self, plan, devices, *options):
        must(sheaf_run(plan, "--devices", devices, *options, "--output", self.dir / "out.safetensors"))
        return read_safetensors(self.dir / "out.safetensors")[0]

    def test_one_plan_computes_what_plans_of_fixed_lengths_do(self):
        plan = self.compile(model())
        for length in (1, 5, 12):
            fixed = model().replace('"seq"', str(length))
            must(sheaf("compile", self.write("fixed.json", fixed), "-o", self.dir / "fixed.plan"))
            for devices in ("cpu", "cpu:0", "cpu:0-2"):
                with self.subTest(length=length, devices=devices):
                    data = self.tokens(7, length)
                    found, expected = (self.run_on(each, devices, *data)["mean"] for each in (plan, self.dir / "fixed.plan"))
                    self.assertLess(difference(found, expected), 1e-6)

    def test_two_devices_and_one_twice_give_equal_bits(self):
        plan = self.compile(model())
        data = self.tokens(5, 9)
        self.assertEqual(self.run_on(plan, "cpu:0,cpu:1", *data), self.run_on(plan, "cpu:0,cpu:0", *data))

    def test_the_number_is_given_where_no_data_says_it(self):
        plan = self.compile(model())
        random = ("--input", "tokens=random:4")
        self.assertEqual(self.run_on(plan, "cpu:0", *random, "--length", "seq=6")["mean"].shape, (4, 8))
        run = lambda *options: sheaf_run(plan, "--devices", "cpu:0", *options)
        self.assert_refused(run(*random), "the length 'seq', at most 12, has no number", "--length seq=N gives it one")
        for number in (13, 1000):
            self.assert_refused(run(*random, "--length", f"seq={number}"), f"the length 'seq', at most 12, can't be {number}")
        self.assert_refused(run(*random, "--length", "seq=0"), "--length seq", status=2)
        self.assert_refused(run(*random, "--length", "seq"), "expected NAME=N", status=2)
        self.assert_refused(run(*random, "--length", "seq=3", "--length", "seq=4"), "given twice", status=2)
        self.assert_refused(run(*random, "--length", "sec=6"), "'sec' is no length of this plan, which has 'seq'")
        data = self.tokens(4, 6)
        self.assert_refused(run(*data, "--length", "seq=7"), "the length 'seq' is 7 by --length, but 6 by the data of 'tokens'")
        write_safetensors(self.dir / "data.safetensors", {"tokens": drawn("tokens", [4, 6, 1], 0, 11, "I64")})
        self.assert_refused(run(*data), "'tokens' has 2 dimensions, the data has 3")

    def test_inputs_that_share_a_length_agree(self):
        plan = self.compile(model([{"type": "Add", "inputs": ["a", "b"]}], {name: {"shape": ["batch", "seq"]} for name in "ab"}))
        write_safetensors(self.dir / "d.safetensors", {"a": drawn("a", [3, 4]), "b": drawn("b", [3, 5])})
        given = [part for name in "ab" for part in ("--input", f"{name}={self.dir}/d.safetensors:{name}")]
        self.assert_refused(sheaf_run(plan, "--devices", "cpu", *given), "'seq' is 4 by the data of 'a', but 5 by the data of 'b'")

    def test_a_plan_without_lengths_takes_none(self):
        plan = self.compile(model([{"type": "ReLU"}], {"x": {"shape": ["batch", 3]}}))
        self.assert_refused(sheaf_run(plan, "--devices", "cpu", "--input", "x=random:2", "--length", "seq=3"), "'seq' is no length of this plan, which has none")
        self.assertNotIn('"lengths"', plan.read_text())

    def test_a_plan_states_its_lengths(self):
        plan = json.loads(self.compile(model()).read_text())
        self.assertEqual(plan["requires"], ["lengths"])
        self.assertIn({"name": "seq", "kind": "length", "of": "12"}, plan["programs"]["infer"]["symbols"])
        self.assertIn(["batch", "seq", "8"], [value["shape"] for value in plan["programs"]["infer"]["values"]])

    def test_verbs_that_size_a_plan_take_a_number(self):
        plan = self.compile(model())
        place = ("--devices", "cpu:0,cpu:1", "--batch", "6")
        for verb in (("estimate", plan), ("dump", plan), ("explain", plan), ("dump", plan, "--format", "bound")):
            with self.subTest(verb=verb[0]):
                must(sheaf(*verb, *place, "--length", "seq=9"))
                self.assert_refused(sheaf(*verb, *place), "the length 'seq', at most 12, has no number")
        must(sheaf("verify", self.dir / "model.json", "--devices", "cpu:0-2", "--length", "seq=5"))
        # Without devices, sizes stay symbols.
        self.assertIn("seq", must(sheaf("dump", plan)).out)

    def refused(self, layer, *words, inputs=None, place="model.json:5:1"):
        self.write("model.json", model([layer], inputs or {"x": {"shape": ["batch", "seq", 8]}}))
        self.assert_refused(sheaf("compile", "model.json", "-o", "out.plan", cwd=self.dir), *words, place=place)

    def test_what_cannot_take_a_length_names_layer_and_dimension(self):
        for layer in ({"type": "Flip", "dims": 1}, {"type": "Roll", "shifts": 1, "dims": 1}, {"type": "Split", "split_size_or_sections": 2, "dim": 1},
                      {"type": "Var", "dim": 1}, {"type": "Slice", "dim": 1, "start": 1}, {"type": "Pad", "pad": [0, 0, 1, 0]}):
            with self.subTest(layer=layer["type"]):
                self.refused(layer, "dimension 1", "depends on the length 'seq' (input [batch, seq, 8])")
        self.refused({"type": "Select", "dim": 1, "index": 3}, "selects entry 3", "depends on the length 'seq'")
        self.refused({"type": "Slice", "dim": 0, "end": "seq"}, "up to the length 'seq' of dimension 0, whose size isn't fixed")
        self.refused({"type": "Add", "inputs": ["x", "y"]}, "shapes broadcast", "[batch, seq, 8] and [1, 6, 8]",
                     inputs={"x": {"shape": ["batch", "seq", 8]}, "y": {"shape": [1, 6, 8]}})

    def train(self, plan, devices, name, *options):
        """Tensors saved after three steps, two of four rows and one of three, and the losses."""
        out, metrics = self.dir / f"{name}.safetensors", self.dir / f"{name}.jsonl"
        given = [part for name in ("tokens", "y") for part in ("--data", f"{name}={self.dir}/data.safetensors:{name}")]
        must(execute([*TRAIN, plan, "--devices", devices, *given, "--batch-size", 4, "--epochs", 1, "--no-shuffle", "--seed", 3,
                      "--save", out, "--metrics", metrics, *options]))
        losses = [line["loss"] for line in map(json.loads, metrics.read_text().splitlines()) if "step" in line]
        return losses, read_safetensors(out)[0]

    def test_training_computes_what_plans_of_fixed_lengths_do(self):
        # Dropout's mask and RReLU's slopes belong to a position, whatever the length is written as.
        layers = [*LAYERS[:-1], {"name": "slopes", "type": "RReLU"}, {"name": "drop", "type": "Dropout", "p": 0.4}, LAYERS[-1]]
        layers[4] = {**layers[4], "module": {**layers[4]["module"], "dropout": 0.3}}
        text = model(layers).rstrip()[:-1] + ',\n"training": ' + json.dumps(TRAINING) + "\n}\n"
        plan = self.compile(text)
        for length in (1, 5, 12):
            write_safetensors(self.dir / "data.safetensors", {"tokens": drawn("tokens", [11, length], 0, 11, "I64"), "y": drawn("y", [11, 8])})
            must(sheaf("compile", self.write("fixed.json", text.replace('"seq"', str(length))), "-o", self.dir / "fixed.plan"))
            for devices, options in (("cpu", ()), ("cpu:0-2", ()), ("cpu:0-2", ("--micro-batches", 2))):
                with self.subTest(length=length, devices=devices, options=options):
                    (losses, found), (fixed_losses, expected) = (
                        self.train(each, devices, each.stem, *options) for each in (plan, self.dir / "fixed.plan"))
                    self.assertEqual(len(losses), 3)
                    for a, b in zip(losses, fixed_losses):
                        self.assertAlmostEqual(a, b, places=6)
                    for name, tensor in expected.items():
                        self.assertLess(difference(found[name], tensor), 1e-6, name)
        given = [part for name in ("tokens", "y") for part in ("--data", f"{name}={self.dir}/data.safetensors:{name}")]
        result = must(execute([SHEAF_RUN[0], "eval", plan, "--devices", "cpu:0-1", "--weights", self.dir / f"{plan.stem}.safetensors", *given, "--json"]))
        self.assertGreater(json.loads(result.out)["loss"], 0)

    def test_training_says_the_number_where_no_data_does(self):
        plan = self.compile(model().rstrip()[:-1] + ',\n"training": ' + json.dumps(TRAINING) + "\n}\n")
        run = lambda *options: execute([*TRAIN, plan, "--devices", "cpu:0", "--data", "tokens=random:4", "--data", "y=random:4", "--batch-size", 2,
                                        "--steps", 1, *options])
        must(run("--length", "seq=6"))
        self.assert_refused(run(), "the length 'seq', at most 12, has no number", "--length seq=N gives it one")
        self.assert_refused(run("--length", "seq=13"), "the length 'seq', at most 12, can't be 13")
        must(sheaf("verify", self.dir / "model.json", "--devices", "cpu:0-2", "--length", "seq=5", "--program", "train"))

    def test_what_has_no_gradient_with_a_length_is_refused_with_the_mend(self):
        def refused(layers, *words, line=6):
            self.write("model.json", model(layers, {"x": {"shape": ["batch", "seq", 8]}}).rstrip()[:-1] + ',\n"training": ' + json.dumps(TRAINING) + "\n}\n")
            self.assert_refused(sheaf("compile", "model.json", "-o", "out.plan", cwd=self.dir), *words, place=f"model.json:{line}:1")
        fc = {"name": "fc", "type": "Linear", "in_features": 8, "out_features": 8}
        mean = {"name": "mean", "type": "Mean", "dim": 1}
        refused([fc, {"type": "Concat", "dim": 1, "inputs": ["fc", "x"]}, mean],
                "has no gradient along dimension 1, which depends on the length 'seq'; a number in its place mends it")
        refused([fc, {"name": "flat", "type": "Flatten", "start_dim": 0, "end_dim": 1}, {"name": "drop", "type": "Dropout"},
                 {"name": "back", "type": "Reshape", "shape": [-1, "seq", 8]}, mean],
                "draws a number for each element of an input whose rows and lengths are one dimension (input [batch*seq, 8]); the same layer before they are joined mends it", line=7)

    def test_only_rows_are_divided_among_devices(self):
        parallel = lambda **more: {"name": "net", "type": "DataParallel", "module": {"type": "ReLU"}, **more}
        self.refused(parallel(), "along dimension 0, the length 'seq': only rows of the batch are divided", inputs={"x": {"shape": ["seq", "batch"]}})
        self.refused(parallel(dim=1), "along dimension 1, the length 'seq'")

    def test_names(self):
        for word, reason in (("bacth", "resembles"), ("rows0", "letters"), ("", "letters"), ("a b", "letters")):
            with self.subTest(word=word):
                self.refused({"type": "ReLU"}, reason, inputs={"x": {"shape": ["batch", word]}}, place=None)
        self.refused({"type": "Slice", "dim": 1, "end": "sec"}, "'end' of Slice '0' names the length 'sec', but no input has", "did you mean 'seq'?", place=None)
        self.refused({"type": "Reshape", "shape": [-1, "len"]}, "names the length 'len'", place=None)
        self.refused({"type": "Slice", "dim": 2, "start": 1, "end": "seq"}, "may be a length only if 'start' is 0", place=None)


if __name__ == "__main__":
    unittest.main()
