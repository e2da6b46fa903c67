"""`sheaf explain`: where and why, fused with what, by which implementation, in which layouts; and why a node is there."""
import json
import re
import unittest

from program import MODELS, ProgramTest, must, sheaf

TWO = ("--devices", "cpu:0,cpu:1")


def explained(*arguments):
    return json.loads(must(sheaf("explain", *arguments, "--json")).out)


class Layers(ProgramTest):
    def test_a_convolution_with_all_that_is_fused_into_it(self):
        layers = explained(MODELS / "resnet18_w8.json", "--op", "conv2d", *TWO, "--batch", 32)["layers"]
        self.assertGreaterEqual(len(layers), 20)
        for layer in layers:
            conv, = [step for step in layer["steps"] if step["op"] == "conv" and step["owned"]]
            if not layer["layer"].endswith("conv3"):  # the shortcut, which has no norm
                self.assertRegex(" ".join(conv["notes"]), "is folded into its weight and bias, once")
                self.assertTrue(conv["fused"])
            operations = [o for o in conv["operations"] if o["op"] == "conv"]
            self.assertEqual([(o["devices"], o["replicas"]) for o in operations], [(["cpu:0", "cpu:1"], [0, 1])])
            operation, = operations
            self.assertTrue(operation["implementation"])
            self.assertRegex(operation["reason"], "convolution")
            weight, = [o for o in operation["inputs"] if o["role"] == "weight"]
            self.assertTrue(weight["from_weights"])
            x, = [o for o in operation["inputs"] if o["role"] == "x"]
            self.assertEqual(x["shape"][0], 16)
            # Each output element is a sum of as many products as a filter has weights.
            outputs = 1
            for size in operation["outputs"][0]["shape"]:
                outputs *= size
            filter_size = 1
            for size in weight["shape"][1:]:
                filter_size *= size
            self.assertGreaterEqual(operation["flops"], 2 * outputs * filter_size)

    def test_every_choice_has_a_reason(self):
        for model in ("tutorial", "transformer_encoder", "word_language_model", "dcgan_generator", "rl_policy"):
            for layer in explained(MODELS / f"{model}.json", *TWO, "--batch", 6)["layers"]:
                self.assertTrue(layer["steps"] or layer.get("vanished") or all("reason" in n for n in layer["nodes"]), layer)
                for step in layer["steps"]:
                    self.assertTrue(step["operations"] or step.get("idle"), step)
                    for operation in step["operations"]:
                        moves = operation["op"] == "copy" or operation["implementation"] == "in place" or step["op"] == "print"
                        self.assertTrue(moves or operation["reason"], (model, layer["layer"], operation))

    def test_gpus_need_not_be_there(self):
        plan = self.compile(MODELS / "digits_cnn.json")
        for program in ("infer", "train"):
            told = explained(plan, "--program", program, "--devices", "cuda:500,cuda:501", "--batch", 16)
            self.assertEqual([device["device"] for device in told["planned"]], ["cuda:500", "cuda:501"])
            operations = [o for layer in told["layers"] for step in layer["steps"] for o in step["operations"]]
            on_gpus = [o for o in operations if o["op"] == "conv"]
            self.assertTrue(on_gpus)
            for operation in on_gpus:
                self.assertEqual(operation["devices"], ["cuda:500", "cuda:501"])
                self.assertEqual(operation["inputs"][0]["shape"][0], 8)
                self.assertTrue(operation["reason"])
        out = must(sheaf("explain", plan, "--devices", "cuda:500", "--batch", 16)).out
        self.assertIn("not here  cuda:500: ", out)

    def test_training(self):
        plan = self.compile(MODELS / "digits_cnn.json")
        layers = explained(plan, "--program", "train", *TWO, "--batch", 16)["layers"]
        operations = [o for layer in layers for step in layer["steps"] for o in step["operations"]]
        kinds = {o["op"] for o in operations}
        self.assertLessEqual({"conv", "conv_backward_weight", "reduce"}, kinds)
        for operation in operations:
            if operation["op"] in ("reorder", "conv_backward_weight", "reduce") and operation["implementation"] != "in place":
                self.assertTrue(operation["reason"], operation)
        text = must(sheaf("explain", plan, "--program", "train", "--op", "reduce", *TWO, "--batch", 16)).out
        self.assertIn("adds in the order of the replicas", text)

    def test_text(self):
        text = must(sheaf("explain", MODELS / "resnet18_w8.json", "conv1", *TWO, "--batch", 32)).out
        for words in ("where ", "computed ", "runs ", "because ", "layout ", "cost "):
            self.assertIn(words, text)
        self.assertRegex(text, r"resnet18_w8\.json:\d+:\d+")
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 140)
        alone = must(sheaf("explain", MODELS / "tutorial.json")).out
        self.assertIn("any device list and batch", alone)
        self.assertIn("With --devices and --batch", alone)

    def test_numerics(self):
        strict, fast = [explained(MODELS / "resnet18.json", "--op", "conv", "--devices", "cpu", "--batch", 2, "--numerics", kind)
                        for kind in ("strict", "fast")]
        reasons = lambda found: [o["reason"] for l in found["layers"] for s in l["steps"] for o in s["operations"] if o["op"] == "conv"]
        self.assertFalse([r for r in reasons(strict) if r.startswith("Winograd")])
        self.assertTrue(all("Winograd" in r for r in reasons(strict) if r.startswith("direct convolution in the formats")))
        self.assertEqual(len(reasons(strict)), len(reasons(fast)))

    def test_one_device(self):
        layers = explained(MODELS / "tutorial.json", "--device", "cpu:1", *TWO, "--batch", 8)["layers"]
        self.assertTrue(layers)
        for layer in layers:
            self.assertEqual({node["device"] for node in layer["nodes"]}, {"cpu:1"})


class Why(ProgramTest):
    def nodes(self, model, *more):
        return json.loads(must(sheaf("dump", model, "--format", "json", *more)).out)["nodes"]

    def test_every_node_has_a_chain(self):
        model = MODELS / "distributed_model.json"
        for more in ((), ("--devices", "cpu:0", "--batch", "8")):
            for node in self.nodes(model, *more):
                why = explained(model, "--why", node["id"], *more)
                self.assertEqual(why["node"]["id"], node["id"])
                self.assertTrue(why["chain"], node)
                if node["op"] == "transfer":
                    self.assertRegex(why["chain"][0], r"distributed_model\.json:\d+:\d+")
                    self.assertIn(node["reason"] + ".", why["chain"])
                    self.assertTrue(why["before"] and why["after"])

    def test_an_inserted_reduce(self):
        model = MODELS / "digits_cnn.json"
        reduces = [n for n in self.nodes(model, "--program", "train", *TWO, "--batch", "16") if n["op"] == "reduce"]
        self.assertTrue(reduces)
        text = must(sheaf("explain", model, "--program", "train", "--why", reduces[0]["id"], *TWO, "--batch", 16)).out
        self.assertIn(reduces[0]["reason"], text)
        self.assertIn("DataParallel layer", text)


class Refusals(ProgramTest):
    def test_unknown_names(self):
        model = MODELS / "tutorial.json"
        for arguments, words in ((("modle",), "did you mean 'model'?"), (("--op", "liner"), "did you mean 'linear'?"),
                                 (("--device", "hots"), "did you mean 'host'?"), (("--why", "s1000"), "the id 's1000'")):
            self.assert_refused(sheaf("explain", model, *arguments), words)

    def test_command_line(self):
        model = MODELS / "tutorial.json"
        for arguments in (("--devices", "cpu:0"), ("--why", "s0", "--op", "linear"), ("--numerics", "loose"),
                          ("--devices", "cpu:0", "--batch", "0"), ("model", "more")):
            self.assert_refused(sheaf("explain", model, *arguments), status=2)
        self.assert_refused(sheaf("explain"), "MODEL-or-PLAN", status=2)
        self.assert_refused(sheaf("explain", "absent.plan"), "absent.plan")
        self.assert_refused(sheaf("explain", model, "--program", "train"), "train")


unittest.main()
