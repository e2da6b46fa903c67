"""NVIDIA_TF32_OVERRIDE is noticed: `sheaf` with the stand-ins for the driver and cuDNN warns of it, once, where a run asks for strict f32.

CTest sets LD_LIBRARY_PATH to the folder of the stand-ins.
"""
import os
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from program import SHEAF_RUN, ProgramTest, execute, must, sheaf  # noqa: E402

MODEL = """{"sheaf": "1.0", "name": "convolutions", "inputs": {"x": {"shape": ["batch", 4, 6, 6]}},
"layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
  {"name": "first", "type": "Conv2d", "in_channels": 4, "out_channels": 8, "kernel_size": 3, "bias": false},
  {"name": "second", "type": "Conv2d", "in_channels": 8, "out_channels": 4, "kernel_size": 3, "bias": false}]}}]}"""


class Tf32(ProgramTest):
    def setUp(self):
        super().setUp()
        self.plan = self.compile(MODEL)
        without = mock.patch.dict(os.environ, {"SHEAF_CACHE": str(self.dir / "cache")})
        without.start()
        self.addCleanup(without.stop)
        os.environ.pop("NVIDIA_TF32_OVERRIDE", None)

    def warnings(self, *more, override=None, devices="cuda:0"):
        """What a run says about TF32, and what it computes."""
        with mock.patch.dict(os.environ, {} if override is None else {"NVIDIA_TF32_OVERRIDE": override}):
            done = must(execute([*SHEAF_RUN, self.plan, "--devices", devices, "--input", "x=random:4", "--output", self.dir / "out.safetensors", *more]))
        return [line for line in done.err.splitlines() if "TF32" in line], (self.dir / "out.safetensors").read_bytes()

    def test_strict_f32_warns_once(self):
        none, expected = self.warnings()
        self.assertEqual(none, [])
        for devices in ("cuda:0", "cuda:0,cuda:1"):
            with self.subTest(devices=devices):
                told, found = self.warnings(override="1", devices=devices)
                self.assertEqual(len(told), 1, "two convolutions, on each device")
                self.assertIn("warning: NVIDIA_TF32_OVERRIDE=1 lets NVIDIA's libraries round", told[0])
                self.assertIn("unset it, or set it to 0", told[0])
                self.assertEqual(found, expected)

    def test_nothing_is_said_where_nothing_changes(self):
        for override in ("0", ""):
            self.assertEqual(self.warnings(override=override)[0], [])
        self.assertEqual(self.warnings("--numerics", "fast", override="1")[0], [])
        self.assertEqual(self.warnings(override="1", devices="cpu:0")[0], [])

    def test_a_plan_for_an_absent_gpu_says_nothing(self):
        with mock.patch.dict(os.environ, {"NVIDIA_TF32_OVERRIDE": "1"}):
            done = must(sheaf("explain", self.plan, "--devices", "cuda:0", "--batch", 4, "--device-model", "h200"))
        self.assertNotIn("NVIDIA_TF32_OVERRIDE", done.err)

    def test_devices_names_it(self):
        with mock.patch.dict(os.environ, {"NVIDIA_TF32_OVERRIDE": "1"}):
            self.assertIn("NVIDIA_TF32_OVERRIDE=1", must(sheaf("devices")).out.replace(" = ", "="))


if __name__ == "__main__":
    unittest.main()
