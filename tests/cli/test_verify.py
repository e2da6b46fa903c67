"""`sheaf verify`: right plans pass, damaged ones are found; the command line and its output."""
import hashlib
import json
import unittest

import tensors
from program import MODELS, ProgramTest, cpu_has_bf16, must, sheaf


def signed(document):
    """The text of a plan whose content was changed: as the digest is of its compact text, it is made anew."""
    document.pop("sha256", None)
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    document["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps(document, ensure_ascii=False)


class Passing(ProgramTest):
    def test_a_model_file(self):
        done = must(sheaf("verify", MODELS / "digits_cnn.json", "--devices", "cpu:0-2", "--batch", "7", "--steps", "1"))
        for words in ("program infer, 7 rows", "program train, 7 rows", "gradient of", "after the step", "net.module.fc.weight", "no divergence"):
            self.assertIn(words, done.out)
        self.assertEqual(done.err, "")

    def test_gradients_that_are_rounding_and_nothing_else(self):
        """The bias of a convolution in front of a batch norm, and the state that an optimiser keeps of it."""
        for seed in (1, 2, 3):
            with self.subTest(seed=seed):
                must(sheaf("verify", MODELS / "digits_cnn.json", "--devices", "cpu:0-2", "--batch", "10", "--seed", seed))

    def test_states_of_a_recurrent_layer(self):
        """They have the batch in dimension 1, whatever batch_first says; what takes the last of them mixes no rows."""
        for layer, mixes in (({"type": "Select", "dim": 0, "index": 0}, False), ({"type": "Mean", "dim": 1}, True)):
            model = self.write("states.json", json.dumps({
                "sheaf": "1.0", "name": "states", "inputs": {"x": {"shape": ["batch", 6, 5]}},
                "modules": {"Last": {"outputs": ["taken"], "layers": [
                    {"name": "g", "type": "GRU", "input_size": 5, "hidden_size": 4, "batch_first": True},
                    {"name": "taken", "inputs": ["g:1"], **layer}]}},
                "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Last"}}]}))
            with self.subTest(layer=layer["type"]):
                compiled = must(sheaf("compile", model, "-o", self.dir / "states.plan"))
                self.assertEqual("mixes what the DataParallel layer 'net' splits" in compiled.err, mixes, compiled.err)
                checks = [program["check"] for program in json.loads(must(sheaf("verify", model, "--devices", "cpu:0-1", "--json")).out)["programs"]]
                self.assertEqual(checks, ["compiler" if mixes else "model", "operations"])

    def test_every_layer_of_a_model(self):
        done = must(sheaf("verify", MODELS / "data_parallel_model.json", "--devices", "cpu:0-1", "--every-layer", "--steps", "1"))
        self.assertIn("(every layer)", done.out)

    @unittest.skipUnless(cpu_has_bf16(), "this CPU has no bf16")
    def test_a_model_file_in_bf16(self):
        arguments = ("verify", MODELS / "digits_cnn.json", "--devices", "cpu:0-1", "--batch", "7", "--steps", "1", "--every-layer")
        bf16, f32 = must(sheaf(*arguments, "--precision", "bf16")), must(sheaf(*arguments))
        self.assertIn("program train (every layer), 7 rows", bf16.out)
        self.assertNotEqual(bf16.out, f32.out, "what rounding amounts to is another")

    def test_a_table_beyond_the_device_memory(self):
        model = self.write("table.json", json.dumps({
            "sheaf": "1.0", "name": "table", "inputs": {"x": {"shape": ["batch"], "dtype": "int64"}},
            "layers": [{"type": "Embedding", "num_embeddings": 100, "embedding_dim": 8}, {"type": "Linear", "in_features": 8, "out_features": 3}]}))
        arguments = ("verify", model, "--devices", "cpu:0-1", "--batch", "3", "--json")
        on_device, on_host = ({value["name"] for value in json.loads(must(sheaf(*arguments, *more)).out)["programs"][-1]["values"]}
                              for more in ((), ("--device-memory", "1KiB")))
        self.assertIn("x@device 0", on_device)
        self.assertIn("0@device 0", on_host, "the table's rows go to the device, not their numbers")

    def test_a_plan_as_json(self):
        plan = self.compile(MODELS / "data_parallel_model.json")
        found = json.loads(must(sheaf("verify", plan, "--devices", "cpu:0-2", "--json", "--program", "train")).out)
        self.assertTrue(found["passed"])
        self.assertEqual(found["batch"], 10, "three rows a device and one more")
        (train,) = found["programs"]
        self.assertEqual((train["program"], train["check"], train["steps"]), ("train", "operations", 2))
        layouts = {value.get("layout") for value in train["values"]}
        self.assertLessEqual({"split:0", "replicated", "partial"}, layouts)
        for value in train["values"]:
            self.assertGreater(value["compared"], 0)
            self.assertGreaterEqual(value["alone"]["elements"], 1)
        self.assertEqual({gradient["name"] for gradient in train["gradients"]}, {update["name"] for update in train["updated"]})

    def test_a_device_twice_and_fewer_rows_than_devices(self):
        for devices, batch in (("cpu:0,cpu:0", 5), ("cpu:0-3", 2), ("cpu", 3), ("cpu:0-3", 1)):
            with self.subTest(devices=devices, batch=batch):
                must(sheaf("verify", MODELS / "data_parallel_model.json", "--devices", devices, "--batch", batch))


class Finding(ProgramTest):
    def damaged(self, change):
        plan = self.compile(MODELS / "data_parallel_model.json")
        document = json.loads(plan.read_text())
        change(document["programs"]["train"])
        return self.write("damaged.plan", signed(document))

    def test_a_missing_reduce(self):
        layers = []

        def change(train):
            step = next(step for step in train["steps"] if step["op"] == "reduce")
            step["op"] = "first"
            layers.append(step["layer"])

        plan = self.damaged(change)
        done = sheaf("verify", plan, "--devices", "cpu:0-2", "--batch", "7")
        self.assertEqual(done.status, 1, str(done))
        self.assertIn(f"layer '{layers[0]}'", done.err)
        self.assertIn("made by first, diverges at [", done.err)
        self.assertRegex(done.err, r"expected -?[\d.e-]+, found -?[\d.e-]+")
        self.assertNotIn("no divergence", done.out.split("program train")[1])
        found = json.loads(sheaf("verify", plan, "--devices", "cpu:0-2", "--batch", "7", "--json").out)
        self.assertFalse(found["passed"])
        self.assertEqual(found["programs"][-1]["divergence"]["layer"], layers[0])
        must(sheaf("verify", plan, "--devices", "cpu:0", "--batch", "7"))  # with one replica nothing is missing

    def test_only_equal_bits(self):
        done = sheaf("verify", MODELS / "digits_cnn.json", "--devices", "cpu:0-2", "--tolerance", "0", "--program", "train")
        self.assertEqual(done.status, 1, str(done))
        self.assertIn("diverges at [", done.err)


class Against(ProgramTest):
    def setUp(self):
        super().setUp()
        self.plan = self.compile(MODELS / "data_parallel_model.json")
        self.data = {"x": tensors.drawn("x", (7, 10))}
        weights = {name: tensors.drawn(name, shape) for name, shape in (("block1.weight", (20, 10)), ("block1.bias", (20,)),
                   ("block2.module.weight", (20, 20)), ("block2.module.bias", (20,)), ("block3.weight", (20, 20)), ("block3.bias", (20,)))}
        self.weights = self.dir / "w.safetensors"
        tensors.write_safetensors(self.weights, weights)
        source = self.dir / "x.safetensors"
        tensors.write_safetensors(source, self.data)
        must(sheaf("run", self.plan, "--devices", "cpu", "--weights", self.weights, "--input", f"x={source}:x", "--output", self.dir / "out.safetensors"))
        self.results, _ = tensors.read_safetensors(self.dir / "out.safetensors")

    def verify(self, given):
        tensors.write_safetensors(self.dir / "theirs.safetensors", given)
        return sheaf("verify", self.plan, "--devices", "cpu:0-2", "--weights", self.weights, "--against", self.dir / "theirs.safetensors")

    def test_the_same_results(self):
        done = must(self.verify({**self.data, **self.results}))
        self.assertIn("against another framework's results", done.out)

    def test_another_result(self):
        (name, result), = self.results.items()
        result.data[3 * result.shape[1] + 2] += 1
        done = self.verify({**self.data, name: result})
        self.assertEqual(done.status, 1, str(done))
        self.assertIn(f"'{name}' diverges at [3, 2]", done.err)

    def test_parameters_are_named_as_in_weights_files(self):
        """After one step, gradients and layers too: with and without `module.`."""
        given = {**self.data, "y": tensors.drawn("y", (7, 20))}
        tensors.write_safetensors(self.dir / "xy.safetensors", given)
        must(sheaf("train", self.plan, "--devices", "cpu", "--weights", self.weights, "--steps", "1", "--batch-size", "7", "--no-shuffle",
                   *(word for name in ("x", "y") for word in ("--data", f"{name}={self.dir}/xy.safetensors:{name}")), "--save", self.dir / "after.safetensors"))
        after, _ = tensors.read_safetensors(self.dir / "after.safetensors")
        for rename in (lambda name: name, lambda name: name.replace("module.", ""), lambda name: "module." + name.replace("module.", ""),
                       lambda name: "whole." + name):
            with self.subTest(name=rename("block2.module.weight")):
                must(self.verify({**given, **{rename(name): tensor for name, tensor in after.items()}}))
                found = self.verify({**given, **{rename(name): tensors.drawn(name, tensor.shape) for name, tensor in after.items()}})
                self.assertEqual(found.status, 1, str(found))
                self.assertRegex(found.err, r"'block\d\.(module\.)?(weight|bias)' diverges at \[")
        self.assert_refused(self.verify({**given, "block2.weight": after["block2.module.weight"], "block2.module.weight": after["block2.module.weight"]}),
                            "'block2.module.weight' is given twice, once as 'block2.weight'")

    def test_a_model_that_is_wrapped_as_a_whole(self):
        """X, module.X and net.module.X are one parameter, net.module.fc's gradient, and a tied one has both of its names."""
        model = self.write("whole.json", json.dumps({
            "sheaf": "1.0", "name": "whole", "inputs": {"x": {"shape": ["batch", 6]}},
            "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
                {"name": "fc", "type": "Linear", "in_features": 6, "out_features": 6},
                {"name": "tied", "type": "Linear", "in_features": 6, "out_features": 6, "share": {"weight": "net.module.fc.weight"}}]}}],
            "training": {"targets": {"y": {"shape": ["batch", 6]}}, "loss": {"type": "MSELoss"}, "optimizer": {"type": "SGD", "lr": 0.1}}}))
        self.plan, given = self.compile(model), {"x": tensors.drawn("x", (5, 6)), "y": tensors.drawn("y", (5, 6))}
        tensors.write_safetensors(self.weights, {name: tensors.drawn(name, shape) for name, shape in
                                                 (("fc.weight", (6, 6)), ("fc.bias", (6,)), ("tied.bias", (6,)))})
        tensors.write_safetensors(self.dir / "xy.safetensors", given)
        must(sheaf("train", self.plan, "--devices", "cpu", "--weights", self.weights, "--steps", "1", "--batch-size", "5", "--no-shuffle",
                   *(word for name in ("x", "y") for word in ("--data", f"{name}={self.dir}/xy.safetensors:{name}")), "--save", self.dir / "after.safetensors"))
        after, _ = tensors.read_safetensors(self.dir / "after.safetensors")
        self.assertIn("net.module.tied.weight", after)
        for front in ("net.module.", "net.", "module.", ""):
            with self.subTest(front=front):
                must(self.verify({**given, **{name.replace("net.module.", front): tensor for name, tensor in after.items()}}))
                one = self.verify({**given, front + "tied.weight.grad": after["net.module.tied.weight"]})
                self.assertIn("tied.weight.grad' diverges at [", one.err)

    def test_a_name_that_means_nothing(self):
        (name, result), = self.results.items()
        self.assert_refused(self.verify({**self.data, name + "s": result}), f"'{name}s' is neither data nor a value", "did you mean")
        self.assert_refused(self.verify(self.data), "nothing to compare with")


class CommandLine(ProgramTest):
    def test_what_is_wrong_with_it(self):
        model = MODELS / "tutorial.json"
        for arguments, words in (((), ("MODEL-or-PLAN",)), ((model,), ("--devices",)), ((model, "--devices", "tpu:0"), ("tpu",)),
                                 ((model, "--devices", "cpu", "--batch", "0"), ("--batch",)), ((model, "--devices", "cpu", "--steps", "x"), ("--steps",)),
                                 ((model, "--devices", "cpu", "--tolerance", "-1"), ("--tolerance",)),
                                 ((model, "--devices", "cpu", "--precision", "f8"), ("--precision", "bf16")),
                                 ((model, "--devices", "cpu", "--device-memory", "lots"), ("--device-memory",)),
                                 ((model, "--devices", "cpu", "--program", "test"), ("--program", "infer")),
                                 ((model, "--devices", "cpu", "--input", "x"), ("--input",))):
            with self.subTest(arguments=arguments):
                self.assert_refused(sheaf("verify", *arguments), *words, status=2)

    def test_what_is_wrong_with_the_files(self):
        model = MODELS / "tutorial.json"
        self.assert_refused(sheaf("verify", model, "--devices", "cpu", "--program", "train"), "no training program")
        self.assert_refused(sheaf("verify", model, "--devices", "cpu", "--input", "y=random:4"), "no input or target 'y'")
        self.assert_refused(sheaf("verify", model, "--devices", "cpu", "--input", "x=random:4", "--batch", "5"), "'x' is", "[5, 5]")
        self.assert_refused(sheaf("verify", self.dir / "missing.json", "--devices", "cpu"), "missing.json")
        plan = self.compile(model)
        for option in (("--every-layer",), ("--precision", "bf16"), ("--device-memory", "1GiB")):
            with self.subTest(option=option):
                self.assert_refused(sheaf("verify", plan, "--devices", "cpu", *option), option[0] + " takes a model file")
        self.assert_refused(sheaf("verify", model, "--devices", "cpu:0", "--precision", "f16"), "float16", "--precision bf16")


if __name__ == "__main__":
    unittest.main()
