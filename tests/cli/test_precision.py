"""`sheaf compile --precision bf16`: what the plan says, where it runs, and that it learns."""
import importlib.util
import json
import os
import unittest
from pathlib import Path
from unittest import mock

from program import MODELS, SOURCE, ProgramTest, cpu_has_bf16, execute, must, sheaf, sheaf_run
from tensors import difference, read_safetensors
from training import TRAIN

NEEDS_BF16 = unittest.skipUnless(cpu_has_bf16(), "this CPU has no bf16; its refusal is tested")

# The last convolution's weight has a size that no activation has.
CONVOLUTIONS = """{"sheaf": "1.0", "name": "convolutions", "inputs": {"x": {"shape": ["batch", 32, 8, 8]}},
"modules": {"Net": {"layers": [
  {"name": "first", "type": "Conv2d", "in_channels": 32, "out_channels": 48, "kernel_size": 3, "padding": 1},
  {"name": "bn", "type": "BatchNorm2d", "num_features": 48}, {"name": "relu", "type": "ReLU"},
  {"name": "last", "type": "Conv2d", "in_channels": 48, "out_channels": 64, "kernel_size": 3, "padding": 1},
  {"name": "average", "type": "AdaptiveAvgPool2d", "output_size": 1}, {"name": "flatten", "type": "Flatten"}]}},
"layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Net"}}],
"training": {"targets": {"label": {"shape": ["batch"], "dtype": "int64"}},
  "loss": {"type": "CrossEntropyLoss", "inputs": ["net", "label"]}, "optimizer": {"type": "SGD", "lr": 0.01, "momentum": 0.9}}}"""
WEIGHT_BYTES = (48 * 64 * 9 * 2, 48 * 64 * 9 * 4)


class Precision(ProgramTest):
    def compile_bf16(self, model):
        plan = self.dir / "bf16.plan"
        must(sheaf("compile", "--precision", "bf16", MODELS / model, "-o", plan))
        return plan

    def outputs(self, plan, devices):
        out = self.dir / "out.safetensors"
        must(sheaf_run(plan, "--devices", devices, "--input", "x=random:5", "--seed", 3, "--output", out))
        return read_safetensors(out)[0]


class Plan(Precision):
    def test_says_what_it_needs_and_casts_are_nodes(self):
        plan = self.compile_bf16("resnet18_w8.json")
        content = json.loads(plan.read_text())
        self.assertEqual((content["precision"], content["requires"]), ("bf16", ["bf16"]))
        graph = json.loads(must(sheaf("dump", plan, "--format", "json")).out)
        casts = [node for node in graph["nodes"] if node["op"] == "cast"]
        self.assertTrue(casts)
        self.assertEqual([node for node in casts if not node.get("reason")], [])
        kinds = {(e["dtype"]) for e in graph["edges"]}
        self.assertEqual(kinds, {"float32", "bfloat16"})
        # What leaves a convolution is bf16, in the training step too; what is updated is f32.
        for program in ("infer", "train"):
            values, steps = content["programs"][program]["values"], content["programs"][program]["steps"]
            convolutions = [s for s in steps if s["op"] == "conv"]
            self.assertTrue(convolutions)
            self.assertEqual({values[s["outputs"][0]]["dtype"] for s in convolutions}, {"bfloat16"})
        gradients = [s for s in steps if s["op"] == "conv_backward_weight"]
        self.assertEqual({values[s["outputs"][0]]["dtype"] for s in gradients}, {"float32"})
        self.assertEqual({p["dtype"] for p in content["parameters"]} - {"int64"}, {"float32"})

    def test_f16_compiles_for_gpus_and_cpus_refuse_it_with_the_reason(self):
        plan = self.dir / "f16.plan"
        must(sheaf("compile", "--precision", "f16", MODELS / "resnet18_w8.json", "-o", plan))
        content = json.loads(plan.read_text())
        self.assertEqual((content["precision"], content["requires"]), ("f16", ["f16"]))
        values, steps = content["programs"]["train"]["values"], content["programs"]["train"]["steps"]
        self.assertEqual({values[s["outputs"][0]]["dtype"] for s in steps if s["op"] == "conv"}, {"float16"})
        self.assertEqual({values[s["outputs"][0]]["dtype"] for s in steps if s["op"] == "conv_backward_weight"}, {"float32"})
        done = sheaf_run(plan, "--devices", "cpu:0", "--input", "x=random:2", "--output", self.dir / "out.safetensors")
        self.assert_refused(done, "layer 'net.module.0'", "float16", "CUDA", "--precision bf16")
        self.assertFalse((self.dir / "out.safetensors").exists())

    def test_a_cpu_without_bf16_refuses_it_with_the_reason(self):
        plan = self.compile_bf16("resnet18_w8.json")
        with mock.patch.dict(os.environ, {"DNNL_MAX_CPU_ISA": "AVX2"}):
            done = sheaf_run(plan, "--devices", "cpu:0", "--input", "x=random:2", "--output", self.dir / "out.safetensors")
        self.assert_refused(done, "bfloat16", "AVX-512 BF16", "--precision f32")
        self.assertFalse((self.dir / "out.safetensors").exists())


@NEEDS_BF16
class Runs(Precision):
    def test_close_to_f32_but_not_the_same_and_the_same_bits_each_time(self):
        wide, narrow = self.compile(MODELS / "resnet18_w8.json"), self.compile_bf16("resnet18_w8.json")
        for devices in ("cpu", "cpu:0", "cpu:0-2"):
            expected, found = self.outputs(wide, devices), self.outputs(narrow, devices)
            for name, tensor in expected.items():
                self.assertEqual(found[name].dtype, "F32")
                error = difference(found[name], tensor)
                self.assertLess(error, 0.05)
                self.assertGreater(error, 1e-5, "that is f32's accuracy")
            self.assertEqual(found, self.outputs(narrow, devices))
        self.assertEqual(self.outputs(narrow, "cpu:0,cpu:0"), self.outputs(narrow, "cpu:0,cpu:1"))

    @unittest.skipUnless(importlib.util.find_spec("sklearn"), "scikit-learn ships the digits")
    def test_digits_are_learned(self):
        must(execute(["/usr/bin/python3", SOURCE / "tools/digits.py", self.dir]))
        plan, metrics = self.compile_bf16("digits_cnn.json"), self.dir / "m.jsonl"
        part = lambda option, name: [option, f"x={self.dir}/{name}-images-idx3-ubyte", option, f"label={self.dir}/{name}-labels-idx1-ubyte"]
        for numerics in ("strict", "fast"):
            must(execute([*TRAIN, plan, "--devices", "cpu:0,cpu:1", "--batch-size", 32, "--epochs", 8, "--numerics", numerics,
                          *part("--data", "train"), *part("--eval", "test"), "--metrics", metrics]))
            epochs = [line for line in map(json.loads, metrics.read_text().splitlines()) if "step" not in line]
            self.assertGreaterEqual(epochs[-1]["eval_accuracy"], 0.97, numerics)

    @unittest.skipIf("amx_bf16" in Path("/proc/cpuinfo").read_text().split(), "with AMX, bf16 doesn't go by Winograd")
    def test_no_step_reorders_a_weight_that_it_casts(self):
        model, plan, trace = self.dir / "convolutions.json", self.dir / "c.plan", self.dir / "trace.json"
        model.write_text(CONVOLUTIONS)
        must(sheaf("compile", "--precision", "bf16", model, "-o", plan))
        # Winograd has one format for the weight in all three passes; oneDNN may have three.
        must(execute([*TRAIN, plan, "--devices", "cpu:0,cpu:1", "--batch-size", 64, "--steps", 2, "--numerics", "fast",
                      "--data", "x=random:64", "--data", "label=random:64", "--trace", trace]))
        events = [e for e in json.loads(trace.read_text())["traceEvents"] if e.get("ph") == "X" and e["name"] == "net.module.last"]
        implementations = [e["args"]["implementation"] for e in events if e["cat"].startswith("conv")]
        self.assertTrue(implementations and all("winograd" in name for name in implementations), implementations)
        self.assertEqual([e["args"]["implementation"] for e in events if e["cat"] == "reorder"
                          and e["args"]["read_bytes"] in WEIGHT_BYTES], [])


if __name__ == "__main__":
    unittest.main()
