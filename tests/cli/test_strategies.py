"""Strategies: what the replicas of a training step keep changes where work is done, never what is computed."""
import json
import math
import unittest

from program import MODELS, ProgramTest, execute, long, must, sheaf
from tensors import read_safetensors
from test_verify import signed
from training import TRAIN, TrainTest

STRATEGIES = ("data_parallel", "replicated", "sharded", "fully_sharded")


def step_data(model):
    """--data for each input and target of a model file."""
    spec = json.loads((MODELS / model).read_text())
    return [part for name in (*spec["inputs"], *spec["training"]["targets"]) for part in ("--data", f"{name}=random:24")]


class EqualBits(TrainTest):
    """Of 24 rows in batches of 11 the third has 2: on three devices a replica, and of four shards two, are without work."""

    def after_steps(self, plan, data, devices, *more):
        must(execute([*TRAIN, plan, "--devices", devices, *data, "--batch-size", 11, "--steps", 3, "--seed", 4, "--lr", "0.01", *more,
                      "--save", self.path("w"), "--metrics", self.path("m.jsonl")]))
        return self.path("w").read_bytes(), self.losses()

    def check_model(self, model, devices, lists, more=(), strategies=STRATEGIES):
        """All strategies give the same bits on `devices`; and with four shards on `lists`, of which each has the next one."""
        plain, sharded = {}, {}
        for strategy, shard_devices in zip(strategies, lists):
            plan = self.dir / f"{strategy}.plan"
            must(sheaf("compile", MODELS / model, "-o", plan, "--strategy", strategy))
            if devices:
                plain[strategy] = self.after_steps(plan, step_data(model), devices, *more)
            sharded[strategy] = self.after_steps(plan, step_data(model), shard_devices, "--shards", 4, *more)
        for runs in (plain, sharded):
            for strategy, found in runs.items():
                with self.subTest(model=model, strategy=strategy, sharded=runs is sharded):
                    self.assertEqual(found, runs[strategies[0]])

    @long
    def test_layers_outside_of_regions(self):
        self.check_model("data_parallel_model.json", "cpu:0-2", ("cpu", "cpu:0", "cpu:1,cpu:1,cpu:0", "cpu:0-3"))

    def test_batch_norm_dropout_and_adam(self):
        self.check_model("digits_cnn.json", "cpu:0,cpu:1", ("cpu", "cpu:0-2", "cpu:0-2", "cpu:0,cpu:1"), ("--micro-batches", 2))

    @long
    def test_residual_network(self):
        self.check_model("resnet18_w8.json", None, ("cpu:0", "cpu:0,cpu:1"), strategies=("data_parallel", "fully_sharded"))

    @long
    def test_constants_and_layers_that_are_not_trained(self):
        model = self.write("frozen.json", json.dumps({
            "sheaf": "1.0", "name": "frozen", "inputs": {"x": {"shape": ["batch", 6]}}, "modules": {"Net": {"layers": [
                {"name": "a", "type": "Linear", "in_features": 6, "out_features": 5, "trainable": False}, {"name": "b", "type": "Linear", "in_features": 5, "out_features": 5},
                {"name": "c", "type": "Constant", "value": [0.5, -1, 2, 0, 1]}, {"name": "moved", "type": "Add", "inputs": ["b", "c"]},
                {"name": "frozen", "type": "LayerNorm", "normalized_shape": [5], "trainable": False}, {"name": "d", "type": "Linear", "in_features": 5, "out_features": 3}]}},
            "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Net"}}],
            "training": {"targets": {"y": {"shape": ["batch", 3]}}, "loss": {"type": "MSELoss", "inputs": ["net", "y"]}, "optimizer": {"type": "AdamW", "lr": 0.01}}}))
        self.check_model(model, "cpu:0-2", ("cpu", "cpu:0,cpu:1", "cpu:0-2", "cpu:0-3"))

    def test_statistics_of_the_whole_batch(self):
        """Of the third batch's two rows each is a shard; without shards, all device lists give one result but for rounding (tests/golden)."""
        spec = json.loads((MODELS / "digits_cnn.json").read_text().replace("BatchNorm2d", "SyncBatchNorm"))
        self.check_model(self.write("sync.json", json.dumps(spec)), "cpu:0-2", ("cpu", "cpu:0-2", "cpu:0,cpu:1", "cpu:0-3"))

    @long
    def test_attention(self):
        self.check_model("transformer_encoder.json", None, ("cpu:0", "cpu:0-3", "cpu:0-2", "cpu:0,cpu:1"))

    @long
    def test_lstm_split_along_another_dimension_with_clipping(self):
        self.check_model("word_language_model.json", "cpu:0-2", ("cpu", "cpu:0-2", "cpu:0-3", "cpu:0,cpu:1"))


class Strategies(TrainTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plans = {STRATEGIES[0]: cls.plan}
        for strategy in STRATEGIES[1:]:
            cls.plans[strategy] = cls.shared / f"{strategy}.plan"
            must(sheaf("compile", cls.shared / "model.json", "-o", cls.plans[strategy], "--strategy", strategy))
        cls.replicated = cls.plans["replicated"]

    def test_the_plan_says_its_strategy(self):
        for strategy, plan in self.plans.items():
            self.assertEqual(json.loads(plan.read_text())["requires"], [strategy][strategy == STRATEGIES[0]:])
        self.assertIn("strategy", must(self.train("--steps", 1, plan=self.plans["sharded"])).err)

    @long
    def test_checkpoints_serve_every_strategy(self):
        options = ("--seed", 3, "--metrics")
        must(self.train("--steps", 9, *options, self.path("whole.jsonl"), "--save", self.path("whole")))
        for first, then in zip(self.plans.values(), [*self.plans.values()][1:] + [self.plan]):
            folder = self.path(f"c-{first.name}")
            with self.subTest(first=first.name):
                must(self.train("--steps", 4, *options, self.path("m.jsonl"), "--checkpoint", folder, plan=first))
                done = must(self.train("--steps", 9, *options, self.path("m.jsonl"), "--checkpoint", folder, "--resume", "--save", self.path("parts"), plan=then))
                self.assertIn("4 steps done", done.err)
                self.assertEqual(self.path("parts").read_bytes(), self.path("whole").read_bytes())
                self.assertEqual(self.losses(), self.losses("whole.jsonl"))

    def test_evaluation_sees_what_was_trained(self):
        def accuracies(plan):
            must(self.train("--epochs", 2, *self.evaluate(), "--metrics", self.path("m.jsonl"), plan=plan))
            return [line["eval_accuracy"] for line in self.lines() if "eval_accuracy" in line]

        for strategy in STRATEGIES[1:]:
            self.assertEqual(accuracies(self.plans[strategy]), accuracies(self.plan), strategy)

    def test_dump_explain_and_estimate_know_the_collective(self):
        where = ("--program", "train", "--devices", "cpu:0-2", "--batch", 9)
        graph = json.loads(must(sheaf("dump", self.replicated, "--format", "json", *where)).out)
        sums = [node for node in graph["nodes"] if node["op"] == "all_reduce"]
        self.assertEqual(len(sums), 6, "weights and biases of a convolution, a batch norm and a linear layer")
        self.assertTrue(all("all of them need the sum" in node["reason"] for node in sums))
        # From two replicas to the third and back.
        self.assertEqual(sorted(node["bytes_moved"] for node in sums if node["layer"].endswith("fc")), [2 * 2 * 4 * 3, 2 * 2 * 4 * 36 * 3])
        self.assertNotIn("reduce", {node["op"] for node in graph["nodes"]})
        updates = [node for node in graph["nodes"] if node["op"].startswith("adam")]
        self.assertEqual({node.get("replica") for node in updates}, {0, 1, 2})
        for form in ("text", "dot", "html"):
            self.assertIn("all_reduce", must(sheaf("dump", self.replicated, "--format", form, *where)).out, form)
        told = json.loads(must(sheaf("estimate", self.replicated, "--devices", "cpu:0-2", "--batch", 9, "--json")).out)
        self.assertEqual([node["bytes_moved"] for node in told["movements"] if node["op"] == "all_reduce"], [node["bytes_moved"] for node in sums])
        text = must(sheaf("explain", self.replicated, "--op", "all_reduce", *where)).out
        self.assertIn("each replica keeps the parameter", text)

    def test_they_know_the_sums_of_a_synchronised_norm(self):
        """Two in each pass, of four numbers: from one of two replicas to the other and back."""
        model = self.write("sync.json", self.model.replace("BatchNorm2d", "SyncBatchNorm"))
        plan = self.compile(model.read_text())
        where = ("--program", "train", "--devices", "cpu:0,cpu:1", "--batch", 9)
        graph = json.loads(must(sheaf("dump", plan, "--format", "json", *where)).out)
        sums = [node for node in graph["nodes"] if node["op"] == "all_reduce"]
        self.assertEqual([(node["layer"], node["bytes_moved"]) for node in sums], [("net.module.bn", 2 * 4 * 4)] * 4)
        steps = json.loads(plan.read_text())["programs"]["train"]["steps"]
        self.assertEqual([step.get("phase", "forward") for step in steps if step["op"] == "all_reduce"], ["forward", "forward", "backward", "backward"])
        self.assertTrue(all("'net.module.bn' needs a sum over the whole batch" in node["reason"] for node in sums[:2]))
        self.assertTrue(all("all replicas use the sum that 'net.module.bn' takes" in node["reason"] for node in sums[2:]))
        told = json.loads(must(sheaf("estimate", plan, "--devices", "cpu:0,cpu:1", "--batch", 9, "--json")).out)
        self.assertEqual([node["bytes_moved"] for node in told["movements"] if node["op"] == "all_reduce"], [32] * 4)
        self.assertIn("needs a sum over the whole batch", must(sheaf("explain", plan, "--op", "all_reduce", *where)).out)

    def test_they_know_shares(self):
        where = ("--program", "train", "--devices", "cpu:0-2", "--batch", 9)
        for strategy, gathers in (("sharded", 6), ("fully_sharded", 3 + 2)):
            with self.subTest(strategy):
                plan = self.plans[strategy]
                graph = json.loads(must(sheaf("dump", plan, "--format", "json", *where)).out)
                nodes = {op: [node for node in graph["nodes"] if node["op"] == op] for op in ("reduce_scatter", "all_gather", "shard")}
                self.assertEqual(len(nodes["reduce_scatter"]), 6, "weights and biases of a convolution, a batch norm and a linear layer")
                self.assertEqual(len(nodes["all_gather"]), gathers, "of parameters one for each layer and pass; the backward pass needs no bias, and no weight of the first layer")
                self.assertEqual(len(nodes["shard"]), 6 * 3 if strategy == "sharded" else 0, "on each replica")
                self.assertTrue(all("share" in node["reason"] for op in nodes for node in nodes[op]))
                weight = next(node for node in nodes["reduce_scatter"] if node["bytes_moved"] == 2 * 4 * 108)
                self.assertEqual(weight["chunks"], [36, 36, 36])
                for form in ("text", "dot", "html"):
                    self.assertIn("reduce_scatter", must(sheaf("dump", plan, "--format", form, *where)).out, form)
                told = json.loads(must(sheaf("estimate", plan, "--devices", "cpu:0-2", "--batch", 9, "--json")).out)
                self.assertEqual(sum(node["bytes_moved"] for node in graph["nodes"] if "bytes_moved" in node), told["bytes_moved"])
                self.assertIn("a share of the parameter", must(sheaf("explain", plan, "--op", "reduce_scatter", *where)).out)

    def test_memory_of_a_device(self):
        """With four devices, each with a memory of its own."""
        document = json.loads(self.plan.read_text())
        state = [entry["shape"] for entry in document["state"] if not entry.get("transient")]
        weights = [entry["shape"] for entry in document["parameters"] if not entry.get("buffer")]
        buffers = sum(4 * math.prod(entry["shape"]) + 4 * (entry["dtype"] == "int64") for entry in document["parameters"] if entry.get("buffer"))

        def whole(shapes):
            return [4 * sum(math.prod(shape) for shape in shapes)] * 4

        def shares(shapes):
            runs = [(math.prod(shape), -(-math.prod(shape) // 4)) for shape in shapes]
            return [4 * sum(min(run, max(0, count - i * run)) for count, run in runs) for i in range(4)]

        for strategy, kept, parameters in (("replicated", whole(state), whole(weights)), ("sharded", shares(state), whole(weights)),
                                           ("fully_sharded", shares(state), shares(weights))):
            with self.subTest(strategy):
                told = json.loads(must(sheaf("estimate", self.plans[strategy], "--devices", "cuda:0-3", "--batch", 8, "--json")).out)
                lasting = [device["lasting"] for device in told["devices"] if device["device"] in ("cuda:0", "cuda:1", "cuda:2", "cuda:3")]
                self.assertEqual([device["optimizer"] for device in lasting], kept)
                self.assertEqual([device["parameters"] for device in lasting], [parameters[0] + buffers, *parameters[1:]])

    def test_traces_name_them(self):
        for strategy, op in (("replicated", "all_reduce"), ("sharded", "reduce_scatter"), ("fully_sharded", "all_gather")):
            trace = self.path("t.json")
            must(self.train("--steps", 2, "--trace", trace, plan=self.plans[strategy]))
            self.assertIn(op, trace.read_text())

    def test_unknown(self):
        self.assert_refused(sheaf("compile", self.shared / "model.json", "-o", self.path("x.plan"), "--strategy", "duplicated"), "--strategy", status=2)
        self.assert_refused(sheaf("compile", MODELS / "tutorial.json", "-o", self.path("x.plan"), "--strategy", "replicated"), "no 'training' section")

    def test_without_replicas_it_says_so(self):
        spec = json.loads((self.shared / "model.json").read_text())
        spec["layers"][0] = {"name": "net", "type": "Net"}
        model = self.write("alone.json", json.dumps(spec))
        done = must(sheaf("compile", model, "-o", self.path("x.plan"), "--strategy", "replicated"))
        self.assertIn("warning: ", done.err)
        self.assertIn("no parameter is used only by the replicas", done.err)


class Links(ProgramTest):
    """What the links of two GPUs do while these compute, as bound; the GPUs are absent."""

    def bound(self, strategy, devices, *more):
        plan = self.dir / f"{strategy}.plan"
        if not plan.exists():
            must(sheaf("compile", MODELS / "resnet18_w8.json", "-o", plan, "--strategy", strategy))
        return must(sheaf("dump", plan, "--format", "bound", "--program", "train", "--devices", devices, "--batch", 8, *more)).out.splitlines()

    def test_sums_are_made_on_links(self):
        lines = [line for line in self.bound("replicated", "cuda:0,cuda:1") if line.startswith("#")]
        sums = {gpu: [line.split(" of ")[1].split(" ")[0] for line in lines if f" on cuda:{gpu}/link" in line and "all_reduce of" in line and "left out" not in line and ": copy" not in line]
                for gpu in (0, 1)}
        self.assertGreater(len(sums[0]), 1, "buckets")
        self.assertEqual(sums[0], sums[1], "either owns half of each bucket")
        made = [line for line in lines if "all_reduce of" in line and "placeable" in line]
        self.assertTrue(any("placeable, left out" in line for line in made), "gradients are made in their places of the bucket")
        self.assertFalse([line for line in lines if ": gather (" in line], "no collective of the first lanes brings gradients")

    def test_parameters_are_gathered_on_links(self):
        for strategy in ("sharded", "fully_sharded"):
            lines = self.bound(strategy, "cuda:0,cuda:1")
            for op in ("reduce_scatter", "all_gather"):
                moved = [line for line in lines if line.startswith("#") and f": {op} of" in line and "left out" not in line]
                self.assertTrue(moved and all("/link" in line for line in moved), (strategy, op))

    def test_links_without_work_are_not_shown(self):
        for strategy, devices in (("data_parallel", "cuda:0,cuda:1"), ("replicated", "cuda:0"), ("replicated", "cuda:0,cuda:0")):
            with self.subTest(strategy=strategy, devices=devices):
                self.assertFalse([line for line in self.bound(strategy, devices) if "/link" in line])
        told = json.loads(must(sheaf("estimate", self.dir / "data_parallel.plan", "--devices", "cuda:0,cuda:1", "--batch", 8, "--json")).out)
        self.assertEqual([device["device"] for device in told["devices"]], ["host", "cuda:0", "cuda:1"])

    @long
    def test_a_slow_link_is_hidden(self):
        """In the time of the lanes as bound: where links take a third of a step or more, it is longer than without them by at most a fifth of what they take."""
        for strategy in ("replicated", "sharded", "fully_sharded"):
            with self.subTest(strategy):
                plan = self.dir / f"{strategy}.plan"
                must(sheaf("compile", MODELS / "resnet18.json", "-o", plan, "--strategy", strategy))
                took = {}
                for rate in (12e9, 1e18):
                    describe = self.write("machine.json", json.dumps({"sheaf_devices": "1.0", "cuda": {
                        "flops_per_second": 2e13, "bytes_per_second": 1e12, "copy_bytes_per_second": rate, "seconds_per_operation": 2e-6, "seconds_per_wait": 1e-6}}))
                    took[rate] = json.loads(must(sheaf("estimate", plan, "--devices", "cuda:0,cuda:1", "--batch", 256, "--describe", describe, "--json")).out)
                copied = max(device["seconds"]["communication"] for device in took[12e9]["devices"] if "link" in device["device"])
                exposed = took[12e9]["time"]["step_seconds"] - took[1e18]["time"]["step_seconds"]
                self.assertGreater(copied, 4 * 11e6 / 12e9, "the gradients' bytes at least")
                self.assertLess(exposed, 0.2 * copied)


class Shards(TrainTest):
    def test_statistics_are_those_of_shard_0(self):
        """One device with two shards is what two devices are."""
        must(self.train("--steps", 3, "--save", self.path("two"), devices="cpu:0,cpu:1"))
        must(self.train("--steps", 3, "--shards", 2, "--save", self.path("one"), devices="cpu:0"))
        two, one = (read_safetensors(self.path(name))[0] for name in ("two", "one"))
        for name in two:
            for a, b in zip(two[name].data, one[name].data):
                self.assertAlmostEqual(a, b, 5, name)

    def test_resumes_bit_for_bit_on_other_devices(self):
        options = ("--shards", 3, "--seed", 2)
        must(self.train("--steps", 8, *options, "--save", self.path("whole"), devices="cpu:0-2"))
        must(self.train("--steps", 5, *options, "--checkpoint", self.path("c"), devices="cpu:0"))
        done = must(self.train("--steps", 8, *options, "--checkpoint", self.path("c"), "--resume", "--save", self.path("parts"), devices="cpu:0,cpu:1"))
        self.assertNotIn("rounding", done.err)
        self.assertEqual(self.path("whole").read_bytes(), self.path("parts").read_bytes())
        again = must(self.train("--steps", 9, "--seed", 2, "--checkpoint", self.path("c"), "--resume", devices="cpu:0,cpu:1"))
        self.assertIn("shards 3 then, as many as devices now", again.err)

    def test_every_verb_cuts_alike(self):
        where = ("--devices", "cpu:0-2", "--batch", 9, "--shards", 4)
        graph = json.loads(must(sheaf("dump", self.plan, "--format", "json", "--program", "train", *where)).out)
        self.assertEqual(next(node["chunks"] for node in graph["nodes"] if node["op"] == "scatter"), [3, 3, 3], "torch.chunk(9, 4)")
        convolutions = [(node["replica"], node["device"]) for node in graph["nodes"] if node["op"] == "conv2d"]
        self.assertEqual(convolutions, [(0, "cpu:0"), (1, "cpu:0"), (2, "cpu:1")])
        told = json.loads(must(sheaf("estimate", self.plan, *where, "--json")).out)
        self.assertEqual(sum(node["bytes_moved"] for node in graph["nodes"] if "bytes_moved" in node), told["bytes_moved"])
        must(sheaf("verify", self.plan, *where))
        must(sheaf("verify", self.plan, "--devices", "cpu", "--shards", 3))
        measured = json.loads(must(sheaf("bench", self.plan, *where, "--program", "train", "--steps", 2, "--json")).out)
        self.assertGreater(measured["samples_per_s"], 0)
        self.assertIn("#", must(sheaf("dump", self.plan, "--format", "bound", *where)).out)

    def test_refused(self):
        for value in ("0", "-1", "4097", "x"):
            self.assert_refused(self.train("--steps", 1, "--shards", value), "--shards", status=2)
        self.assert_refused(self.train("--steps", 1, "--shards", 2, devices="cpu:0-2"), "runs on 3 devices", "2 shards", "net")
        self.assert_refused(sheaf("dump", self.plan, "--shards", 2), "--shards", status=2)
        lone = self.write("lone.json", '{"sheaf": "1.0", "name": "lone", "inputs": {"x": {"shape": ["batch", 2]}}, "layers": [{"type": "ReLU"}]}')
        self.assert_refused(sheaf("verify", lone, "--devices", "cpu:0", "--shards", 2), "no DataParallel layer", "--shards")


class Checked(TrainTest):
    """A plan whose parts don't fit together is refused when it is read."""

    @long
    def test_damaged_plans(self):
        """Of strategy `replicated`."""
        replicated = self.dir / "replicated.plan"
        must(sheaf("compile", self.shared / "model.json", "-o", replicated, "--strategy", "replicated"))
        text = replicated.read_text()

        def damaged(change):
            document = json.loads(text)
            train = document["programs"]["train"]
            change(train, train["values"], next(step for step in train["steps"] if step["op"] == "all_reduce"))
            return self.write("damaged.plan", signed(document))

        def elsewhere(train, values, step):
            step["attributes"]["region"] = 1

        def not_alike(train, values, step):
            values[step["outputs"][0]]["layout"] = "local"

        def of_unlike(train, values, step):
            update = next(s for s in train["steps"] if step["outputs"][0] in s["inputs"])
            step["op"], step["attributes"] = "transfer", {}
            values[step["outputs"][0]]["layout"] = "partial"
            self.assertEqual(values[update["outputs"][0]]["layout"], "replicated")

        def homeless(train, values, step):
            next(value for value in values if value["role"] == "state")["layout"] = "local"

        def one_of_many(train, values, step):
            part = step["inputs"][0]
            next(u for u in train["updates"] if values[u["value"]]["shape"] == values[part]["shape"])["value"] = part

        for change, words in ((elsewhere, "'region'"), (not_alike, "the same on each replica"), (of_unlike, "of which it is made, isn't"),
                              (homeless, "on each replica alike"), (one_of_many, "an update is one value")):
            with self.subTest(change.__name__):
                self.assert_refused(sheaf("verify", damaged(change), "--devices", "cpu:0,cpu:1"), words)


    @long
    def test_damaged_shares(self):
        sharded = self.dir / "sharded.plan"
        must(sheaf("compile", self.shared / "model.json", "-o", sharded, "--strategy", "sharded"))
        text = sharded.read_text()

        def of_summands(train, values, step):
            step["op"] = "shard"

        def nothing_in_shares(train, values, step):
            values[step["outputs"][0]]["layout"] = "replicated"

        def whole_state(train, values, step):
            next(value for value in values if value["role"] == "state")["layout"] = "replicated"

        def unlike_shapes(train, values, step):
            share = values[step["outputs"][0]]
            update = next(s for s in train["steps"] if step["outputs"][0] in s["inputs"])
            update["inputs"][0] = next(i for i, v in enumerate(values) if v["role"] == "state" and v["shape"] != share["shape"])

        def not_element_by_element(train, values, step):
            update = next(s for s in train["steps"] if step["outputs"][0] in s["inputs"])
            update["kernel"] = next(s["kernel"] for s in train["steps"] if "softmax" in s.get("kernel", ""))

        def updates_a_share(train, values, step):
            part = next(u for u in train["updates"] if values[u["value"]].get("layout") == "sharded")
            next(u for u in train["updates"] if values[u["value"]].get("layout") == "replicated" and values[u["value"]]["shape"] == values[part["value"]]["shape"])["value"] = part["value"]

        for change, words in ((of_summands, "'shard' takes is the same on each replica"), (nothing_in_shares, "'reduce_scatter' gives is in shares"),
                              (whole_state, ""), (unlike_shapes, "neither a share of the same shape"), (not_element_by_element, ""),
                              (updates_a_share, "aren't both in shares")):
            with self.subTest(change.__name__):
                document = json.loads(text)
                train = document["programs"]["train"]
                change(train, train["values"], next(step for step in train["steps"] if step["op"] == "reduce_scatter"))
                self.assert_refused(sheaf("verify", self.write("damaged.plan", signed(document)), "--devices", "cpu:0,cpu:1"), words)


class Verified(TrainTest):
    @long
    def test_right_plans_pass(self):
        for model, strategy, devices, batch in (("digits_cnn.json", "fully_sharded", "cpu:0-2", 7), ("word_language_model.json", "sharded", "cpu:0,cpu:1", 3),
                                                ("data_parallel_model.json", "replicated", "cpu:0-3", 2)):
            with self.subTest(model=model):
                must(sheaf("verify", MODELS / model, "--strategy", strategy, "--devices", devices, "--batch", batch, "--steps", 1))


if __name__ == "__main__":
    unittest.main()
