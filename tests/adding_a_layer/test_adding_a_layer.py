"""docs/adding-a-layer.patch, the worked example of docs/adding-a-layer.md, applies to the sources as they are, builds, and its own
tests pass: the layer compiles, computes and trains as PyTorch's does."""
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from patched_build import PatchedBuild, execute

SOURCE, BUILD = Path(os.environ["SHEAF_SOURCE_DIR"]), Path(os.environ["SHEAF_BINARY_DIR"])
PATCH = SOURCE / "docs/adding-a-layer.patch"
MODEL = "tests/unit/frontend/corpus/good/layer-logsigmoid.json"


class AddingALayer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = BUILD / "adding-a-layer"
        shutil.rmtree(cls.work, ignore_errors=True)
        cls.made = PatchedBuild(SOURCE, BUILD, cls.work, PATCH)
        cls.made.make(["sheaf", "sheaf-opt", "sheaf-model-schema"])
        cls.bin, cls.source = cls.made.build / "bin", cls.made.source

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.work)

    def golden(self, runner, case):
        execute([sys.executable, self.source / "tests/golden" / runner, self.source / "tests/golden" / case],
                env={**os.environ, "SHEAF": str(self.bin / "sheaf"), "SHEAF_SOURCE_DIR": str(self.source)})

    def test_what_was_compiled(self):
        self.assertIn("ir/Nn/NnScalar.cpp", self.made.compiled)
        self.assertIn("ir/Nn/NnStructure.cpp", self.made.compiled)
        self.assertLess(len(self.made.compiled), 15)

    def test_the_layer_is_new(self):
        first = subprocess.run([BUILD / "bin/sheaf", "dump", self.source / MODEL, "--format", "text"], capture_output=True, text=True)
        self.assertEqual(first.returncode, 1)
        self.assertIn("unknown layer type 'LogSigmoid'", first.stderr)
        self.assertIn("logsigmoid", execute([self.bin / "sheaf", "dump", self.source / MODEL, "--format", "text"]))

    def test_schema(self):
        self.assertEqual(execute([self.bin / "sheaf-model-schema"]), (self.source / "frontend/model.schema.json").read_text())
        self.assertIn(execute([self.bin / "sheaf-model-schema", "--tables"]), (self.source / "docs/model-format.md").read_text())

    def test_parses_and_prints(self):
        test = self.source / "tests/lit/nn/elementwise.mlir"
        execute(["bash", "-o", "pipefail", "-c", f"{self.bin}/sheaf-opt {test} | {self.bin}/sheaf-opt | {os.environ['SHEAF_FILECHECK']} {test}"])

    def test_computes_what_pytorch_computes(self):
        self.golden("run_goldens.py", "layers/log_sigmoid.safetensors")

    def test_trains_as_pytorch_trains(self):
        self.golden("run_train_goldens.py", "train/log_sigmoid.safetensors")


unittest.main()
