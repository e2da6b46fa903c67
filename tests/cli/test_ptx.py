"""A model's plan has every generated kernel for GPUs: entries with the parameters that docs/cuda.md says, which ptxas assembles."""
import json
import os
import re
import shutil
import sys
import unittest

from program import MODELS, ProgramTest, execute, must, plan_of

PTXAS = os.environ.get("SHEAF_PTXAS") or shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
ENTRY = re.compile(r"^\.visible \.entry (\w+)\(\n(.*?)\n\)\n\.reqntid (\d+), 1, 1$", re.MULTILINE | re.DOTALL)
MODEL = "tutorial"


def kernel_steps(plan):
    return [step for program in plan["programs"].values() for step in program["steps"] if step["op"] == "kernel"]


class Ptx(ProgramTest):
    plan = None  # made once

    def setUp(self):
        super().setUp()
        if not Ptx.plan:
            Ptx.plan = json.loads(plan_of(MODELS / f"{MODEL}.json", self.dir / "model.plan", "--precision", "f32").read_text())
        [self.text] = [item["text"] for item in self.plan["objects"] if item["level"] == "ptx"]
        self.entries = {name: (parameters.split(",\n"), int(block)) for name, parameters, block in ENTRY.findall(self.text)}
        self.assertEqual(len(self.entries), self.text.count(".entry"))

    def test_entries_are_what_steps_launch(self):
        kernels = {kernel["name"]: kernel for kernel in self.plan["kernels"]}
        names = set(kernels)
        for kernel in kernels.values():
            parameters, block = self.entries[kernel["name"]]
            self.assertEqual(block, kernel["gpu"]["block"], kernel)
            self.assertGreaterEqual(kernel["gpu"]["items"], 1)
            if kernel.get("elementwise") and not kernel["extents"]:
                many, same_block = self.entries[kernel["name"] + "_many"]
                self.assertEqual((len(many), same_block), (3, block))
                names.add(kernel["name"] + "_many")
        self.assertEqual(names, set(self.entries))
        for step in kernel_steps(self.plan):
            parameters, _ = self.entries[step["kernel"]]
            count = len(step["inputs"]) + len(step["outputs"]) + len(step["attributes"]["extents"]) + 2
            self.assertEqual(parameters, [f"\t.param .u64 {step['kernel']}_param_{i}" for i in range(count)])

    def test_arithmetic_is_ieee_and_needs_no_library(self):
        self.assertRegex(self.text, r"\.version 7\.0\n\.target sm_80\n")
        for never in (r"\.ftz", r"\.approx", r"\.full\.", r"\bcall\b", r"\.extern", r"\.local\b", r"__nv_", r"\.align \d+ \.b8 __local"):
            self.assertNotRegex(self.text, never)

    def test_assembles(self):
        if not PTXAS:
            self.skipTest("ptxas isn't here: neither SHEAF_PTXAS nor PATH nor /usr/local/cuda/bin has it")
        source = self.write("kernels.ptx", self.text)
        for target in ("sm_80", "sm_90", "sm_100"):
            with self.subTest(target):
                done = must(execute([PTXAS, "-v", f"-arch={target}", source, "-o", self.dir / "kernels.cubin"]))
                self.assertNotIn("warning", done.err)
                # A few bytes hold where threads that went apart meet again; more would be arrays in slow memory.
                for held in re.findall(r"(\d+) bytes (?:stack frame|spill)", done.err):
                    self.assertLessEqual(int(held), 32, done.err)

    def test_threads_of_an_h200_ask_for_enough(self):
        """3.5 MB in flight keep its memory busy; it keeps 2048 threads on each of 132 multiprocessors."""
        kernels = {kernel["name"]: kernel for kernel in self.plan["kernels"]}
        bytes_of = {"float32": 4, "bfloat16": 2, "float16": 2, "int64": 8, "int32": 4, "uint8": 1, "bool": 1}
        looked = 0
        for program in self.plan["programs"].values():
            for step in (step for step in program["steps"] if step["op"] == "kernel"):
                kernel, values = kernels[step["kernel"]], program["values"]
                operands = [values[i] for i in (*step["inputs"], *step["outputs"])]
                body = self.text[self.text.index(f".entry {step['kernel']}("):].split("\n}\n")[0]
                shape = operands[0]["shape"]
                # Tensors of one shape that grow with the batch.
                alike = all(operand["shape"] == shape for operand in operands) and len(shape) > 1 and any(isinstance(size, str) for size in shape)
                # What has long arithmetic between its loads is not bound by memory.
                if not (kernel.get("elementwise") and alike and step["inputs"]) or len(re.findall(r"\bfma\.|\bdiv\.|\bsqrt\.", body)) > 40:
                    continue
                together = kernel["gpu"]["items"] // kernel["gpu"]["block"] * sum(bytes_of[operand["dtype"]] for operand in operands[:len(step["inputs"])])
                self.assertGreaterEqual(132 * 2048 * together, 3.5e6, step["kernel"])
                looked += 1
        if MODEL in ("digits_cnn", "resnet18", "resnet50", "transformer_encoder"):
            self.assertGreater(looked, 0)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        MODEL = sys.argv.pop(1)
    unittest.main()
