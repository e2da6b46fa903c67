"""`checkpoint: true`: activations are computed once more in the backward pass. It changes memory, never what is computed."""
import hashlib
import json
import unittest

from program import execute, must, sheaf
from training import TRAIN, TrainTest


def model(layers, inputs, outputs, loss="MSELoss", modules=None, optimizer=None):
    """A model file whose last layer gives the output, `net`."""
    return {"sheaf": "1.0", "name": "net", "inputs": {"x": {"shape": ["batch", *inputs]}}, "modules": modules or {}, "layers": layers,
            "training": {"targets": {"y": {"shape": ["batch", *outputs]}}, "loss": {"type": loss},
                         "optimizer": optimizer or {"type": "Adam", "lr": 0.01}}}


def parallel(module):
    return {"name": "net", "type": "DataParallel", "module": module}


def sequential(*layers, **more):
    return {"type": "Sequential", "layers": list(layers), **more}


def linear(n, m):
    return {"type": "Linear", "in_features": n, "out_features": m}


DEEP = {"params": {"width": 64}, "layers": [{"name": "norm", "type": "LayerNorm", "normalized_shape": ["$width"]},
                                            {"name": "wide", "type": "Linear", "in_features": "$width", "out_features": 256}, {"name": "act", "type": "GELU"},
                                            {"name": "narrow", "type": "Linear", "in_features": 256, "out_features": "$width"}, {"name": "drop", "type": "Dropout", "p": 0.1},
                                            {"name": "sum", "type": "Add", "inputs": ["input", "drop"]}]}


def deep(checkpoint, blocks):
    """Residual blocks of which each keeps far more than its input."""
    mark = {"checkpoint": True} if checkpoint else {}
    return model([parallel(sequential(*({"type": "Block", **mark} for _ in range(blocks)), linear(64, 3)))], [64], [3], modules={"Block": DEEP})


def conv(n, m):
    return {"type": "Conv2d", "in_channels": n, "out_channels": m, "kernel_size": 3, "padding": 1}


def images(**mark):
    """Batch norms with running statistics, dropouts of two kinds, pooling with a workspace; the outer container holds an inner one."""
    def norm(n):
        return {"type": "BatchNorm2d", "num_features": n}
    inner = sequential(conv(8, 8), norm(8), {"type": "SiLU"}, {"type": "Dropout2d", "p": 0.3}, **mark)
    outer = sequential(conv(3, 8), norm(8), {"type": "SiLU"}, inner, {"type": "MaxPool2d", "kernel_size": 2}, conv(8, 8), norm(8), {"type": "Tanh"}, **mark)
    head = sequential({"type": "Flatten"}, {"type": "Dropout", "p": 0.4}, linear(128, 4), **mark)
    return [sequential(outer, head)]


def sequences(**mark):
    """A recurrent layer of two levels with dropout between them, an attention with dropout, a Print."""
    block = {"inputs": ["x"], "layers": [
        {"name": "lstm", "type": "LSTM", "input_size": 8, "hidden_size": 8, "num_layers": 2, "dropout": 0.2, "batch_first": True, "inputs": ["x"]},
        {"name": "attention", "type": "MultiheadAttention", "embed_dim": 8, "num_heads": 2, "dropout": 0.1, "batch_first": True, "inputs": ["lstm", "lstm", "lstm"]},
        {"name": "print", "type": "Print", "text": "in the block {0}", "inputs": ["attention"]}, {"name": "sum", "type": "Add", "inputs": ["x", "print"]}]}
    return {"Block": block}, [sequential({"type": "Block", **mark}, {"type": "Block", **mark}, linear(8, 2))]


class Recompute(TrainTest):
    def after_steps(self, spec, devices, *more):
        """What three steps with batches of 5, 5 and 2 rows leave: parameters and buffers, losses, what was printed."""
        plan = self.dir / "net.plan"
        must(sheaf("compile", self.write("net.json", json.dumps(spec)), "-o", plan, *(("--strategy", "fully_sharded") if "sharded" in more else ())))
        done = must(execute([*TRAIN, plan, "--devices", devices, "--data", "x=random:12", "--data", "y=random:12", "--batch-size", 5, "--steps", 3, "--seed", 4,
                             *(option for option in more if option != "sharded"), "--save", self.path("w"), "--metrics", self.path("m.jsonl")]))
        return self.losses(), hashlib.sha256(self.path("w").read_bytes()).hexdigest(), done.out.count("in the block")

    def check(self, make, devices, more=()):
        """`make(mark)` is a model whose checkpoints have the fields `mark`: they change nothing."""
        with self.subTest(devices=devices, more=more):
            self.assertEqual(self.after_steps(make(checkpoint=True), devices, *more), self.after_steps(make(), devices, *more))

    def test_batch_norm_dropout_and_checkpoints_in_checkpoints(self):
        self.check(lambda **mark: model(images(**mark), [3, 8, 8], [4]), "cpu")
        self.check(lambda **mark: model([parallel(images(**mark)[0])], [3, 8, 8], [4]), "cpu:0-2")

    def test_recurrent_layers_attention_and_prints(self):
        def make(**mark):
            modules, layers = sequences(**mark)
            return model([parallel(layers[0])], [6, 8], [6, 2], modules=modules)

        self.check(make, "cpu:0,cpu:1")

    def test_a_checkpoint_around_a_parallel_region(self):
        self.check(lambda **mark: model([sequential(linear(8, 8), {"type": "Tanh"}, parallel(sequential(linear(8, 8), {"type": "GELU"}, linear(8, 8))), {"type": "ReLU"}, **mark),
                                         linear(8, 3)], [8], [3]), "cpu:0-2")

    def test_micro_batches_and_parameters_in_shares(self):
        for more in (("--micro-batches", 2), ("sharded",)):
            self.check(lambda **mark: deep(bool(mark), 2), "cpu:0-2", more)

    def planned(self, spec, *more):
        plan = self.dir / "net.plan"
        must(sheaf("compile", self.write("net.json", json.dumps(spec)), "-o", plan, *more))
        return json.loads(must(execute([TRAIN[0], "estimate", plan, "--devices", "cpu:0,cpu:1", "--batch", 1024, "--json"])).out)

    def test_memory_is_that_of_the_blocks_inputs_and_one_block(self):
        whole, part = self.planned(deep(False, 8)), self.planned(deep(True, 8))
        value = 512 * 64 * 4  # a replica's input of a block, in bytes
        for with_all, with_few in zip(whole["devices"], part["devices"]):
            if not with_all["arena_bytes"]:
                continue
            # A block keeps its input, the norm's result, 4 times that before and after the GELU.
            self.assertGreater(with_all["arena_bytes"], 8 * 10 * value)
            self.assertLess(with_few["arena_bytes"], 8 * value + 24 * value)
        # The forward pass once more: a third of the step, less what isn't needed for the gradients.
        self.assertLess(part["work"]["flops"], 1.34 * whole["work"]["flops"])
        self.assertGreater(part["work"]["flops"], 1.1 * whole["work"]["flops"])

    def test_dump_and_explain_say_why(self):
        path = self.write("net.json", json.dumps(deep(True, 2)))
        graph = json.loads(must(sheaf("dump", path, "--format", "json", "--program", "train")).out)
        again = [node for node in graph["nodes"] if "computed once more" in (node.get("reason") or "")]
        self.assertEqual({node["layer"] for node in again if node["op"] == "gelu"}, {"net.module.0.act", "net.module.1.act"})
        self.assertTrue(all(f"'{node['layer'].rsplit('.', 1)[0]}' is a checkpoint" in node["reason"] for node in again))
        self.assertNotIn("linear", {node["op"] for node in again if node["layer"] == "net.module.2"})
        self.assertIn("computed once more", must(sheaf("explain", path, "net.module.1.act", "--program", "train")).out)
        inference = json.loads(must(sheaf("dump", path, "--format", "json", "--program", "infer")).out)
        self.assertFalse([node for node in inference["nodes"] if "computed once more" in (node.get("reason") or "")])

    def test_it_is_true_or_false(self):
        spec = deep(False, 1)
        spec["layers"][0]["module"]["checkpoint"] = "yes"
        self.assert_refused(sheaf("compile", self.write("net.json", json.dumps(spec)), "-o", self.dir / "net.plan"), "'checkpoint' of layer 'module' must be true or false")


unittest.main()
