"""The worked examples of docs/adding-a-layer.md and docs/operations.md build, and their own tests pass: the layers compile, compute
and train as PyTorch's do, the movement moves."""
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from patched_build import PatchedBuild, execute, worked_examples

SOURCE, BUILD = Path(os.environ["SHEAF_SOURCE_DIR"]), Path(os.environ["SHEAF_BINARY_DIR"])
MODEL = "tests/unit/frontend/corpus/good/layer-squaredrelu.json"


class AddingALayer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = BUILD / "adding-a-layer"
        shutil.rmtree(cls.work, ignore_errors=True)
        cls.made = PatchedBuild(SOURCE, BUILD, cls.work, worked_examples(SOURCE))
        cls.made.make(["sheaf", "sheaf-opt", "sheaf-model-schema"])
        cls.bin, cls.source = cls.made.build / "bin", cls.made.source

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.work)

    def golden(self, runner, case):
        execute([sys.executable, self.source / "tests/golden" / runner, self.source / "tests/golden" / case],
                env={**os.environ, "SHEAF": str(self.bin / "sheaf"), "SHEAF_SOURCE_DIR": str(self.source)})

    def lit(self, name, *commands):
        test = self.source / "tests/lit" / name
        runs = " | ".join(f"{self.bin}/sheaf-opt {command}" for command in commands)
        execute(["bash", "-o", "pipefail", "-c", f"cat {test} | {runs} | {os.environ['SHEAF_FILECHECK']} {test}"])

    def test_what_was_compiled(self):
        for name in ("ir/ElementFunctions.cpp", "ir/Nn/NnStructure.cpp", "runtime/cpu/ops/adaptive_max_pool.cpp", "runtime/bind/expand/expand.cpp"):
            self.assertIn(name, self.made.compiled)
        self.assertNotIn("runtime/data/zip.cpp", self.made.compiled)

    def test_the_layer_is_new(self):
        dump = ["dump", self.source / MODEL, "--format", "text"]
        first = subprocess.run([BUILD / "bin/sheaf", *dump], capture_output=True, text=True)
        self.assertEqual(first.returncode, 1)
        self.assertIn("unknown layer type 'SquaredReLU'", first.stderr)
        self.assertIn("squaredrelu", execute([self.bin / "sheaf", *dump]))

    def test_schema(self):
        self.assertEqual(execute([self.bin / "sheaf-model-schema"]), (self.source / "frontend/model.schema.json").read_text())
        self.assertIn(execute([self.bin / "sheaf-model-schema", "--tables"]), (self.source / "docs/model-format.md").read_text())

    def test_computes_what_pytorch_computes(self):
        self.golden("run_goldens.py", "layers/squared_relu.safetensors")
        self.golden("run_goldens.py", "layers/adaptive_max_pools.safetensors")

    def test_trains_as_pytorch_trains(self):
        self.golden("run_train_goldens.py", "train/squared_relu.safetensors")
        self.golden("run_train_goldens.py", "train/adaptive_max_pools.safetensors")

    def test_the_pool_is_planned_for_gpus(self):
        """Its training step has an operation of the CUDA backend for each of its steps, where it was a max pool before; the kernels
        need a GPU."""
        plan, model = self.work / "pool.plan", self.source / "tests/golden/train/adaptive_max_pools.json"
        execute([BUILD / "bin/sheaf", "compile", model, "-o", plan])
        self.assertNotIn("adaptive_max_pool_backward", plan.read_text())
        execute([self.bin / "sheaf", "compile", model, "-o", plan])
        self.assertIn("adaptive_max_pool_backward", plan.read_text())
        execute([self.bin / "sheaf", "estimate", plan, "--devices", "cuda:0,cuda:1", "--batch", "6", "--program", "train"])

    def test_the_movement_is_found_and_moves(self):
        self.lit("passes/dist-simplify.mlir", "--dist-simplify -split-input-file")
        execute([sys.executable, self.source / "tests/cli/test_split_sum.py"],
                env={**os.environ, "SHEAF": str(self.bin / "sheaf"), "SHEAF_RUN": f"{self.bin}/sheaf run", "SHEAF_SOURCE_DIR": str(self.source)})


unittest.main()
