"""cuDNN's engines are measured with `--tune`, and its plans are kept: `sheaf` with the stand-ins for the driver and cuDNN.

CTest sets LD_LIBRARY_PATH to the folder of the stand-ins. The stand-in has for a convolution in strict f32 the engine 70 with four settings,
and behind them the engine 0. It takes as long as the tests tell it.
"""
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from program import SHEAF_RUN, ProgramTest, execute, must, sheaf  # noqa: E402

MODEL = """{"sheaf": "1.0", "name": "convolutions", "inputs": {"x": {"shape": ["batch", 4, 6, 6]}},
"layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
  {"name": "first", "type": "Conv2d", "in_channels": 4, "out_channels": 8, "kernel_size": 3, "padding": 1, "bias": false},
  {"name": "second", "type": "Conv2d", "in_channels": 8, "out_channels": 4, "kernel_size": 3, "bias": false}]}}]}"""
ALL = [f"eng70_k2={choice}" for choice in range(4)] + ["eng0_k2=0"]


def slow_but(*quick):
    return ",".join(f"{name}:30000" for name in ALL if name not in quick)


class EngineChoices(ProgramTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cache = self.path("cache")
        environment = mock.patch.dict(os.environ, {"SHEAF_CACHE": str(self.cache), "STAND_IN_CUDNN_COUNTS": str(self.path("counts"))})
        environment.start()
        self.addCleanup(environment.stop)
        model, self.plan = self.path("model.json"), self.path("model.plan")
        model.write_text(MODEL)
        must(sheaf("compile", model, "-o", self.plan))

    def path(self, name):
        return self.folder / name

    def explained(self, *more, devices="cuda:0", **environment):
        with mock.patch.dict(os.environ, environment):
            done = must(sheaf("explain", self.plan, "first", "--devices", devices, "--batch", 4, *more))
        return " ".join(done.out.split()), done

    def counts(self):
        return json.loads(self.path("counts").read_text())

    def choices(self):
        files = list(self.cache.glob("*.json"))
        self.assertEqual(len(files), 1)
        return files[0]

    def known(self):
        return json.loads(self.choices().read_text())["operations"]

    def kept(self):
        return sorted((self.cache / "gpu").iterdir())

    def run_plan(self, *more, name="out", **environment):
        with mock.patch.dict(os.environ, environment):
            must(execute([*SHEAF_RUN, self.plan, "--devices", "cuda:0", "--input", "x=random:4", "--output", self.path(name), *more]))
        return self.path(name).read_bytes()

    def test_off_takes_the_first_of_the_heuristics(self):
        told, done = self.explained(STAND_IN_CUDNN_DURATIONS=slow_but("eng70_k2=2"))
        self.assertIn("cuDNN engine 70", told)
        self.assertNotIn("measured", told)
        self.assertEqual([file.name for file in self.cache.iterdir()], ["gpu"], "no choices")
        self.assertEqual(self.counts()["executed"], 0)

    def test_the_quickest_is_taken_and_kept(self):
        told, _ = self.explained("--tune", "full", STAND_IN_CUDNN_DURATIONS=slow_but("eng70_k2=2"))
        for name in ALL:
            self.assertRegex(told, name + r" \S+ ms")
        self.assertIn("eng70_k2=2 makes the program the quickest", told)
        self.assertGreaterEqual(self.counts()["executed"], 2 * 5 * 6, "both convolutions, five engines, six times")
        for key, entry in self.known().items():
            self.assertTrue(key.startswith("Stand-in GPU, sm_90, cuDNN 9.19.0, CUDA driver 13.0: "), key)
            self.assertEqual((entry["take"], entry["model"]), ("eng70_k2=2", "eng70_k2=0"))
            self.assertAlmostEqual(entry["seconds"]["eng0_k2=0"], 0.03, places=4)
            self.assertLess(entry["seconds"]["eng70_k2=2"], 1e-3)
        # The same on the next run, whatever would be quicker then.
        text = self.choices().read_text()
        again, _ = self.explained("--tune", "quick", STAND_IN_CUDNN_DURATIONS=slow_but("eng0_k2=0"))
        self.assertEqual(again, told)
        self.assertEqual(self.counts()["executed"], 0)
        self.assertEqual(self.choices().read_text(), text)

    def test_gpus_of_one_kind_have_one_choice(self):
        self.explained("--tune", "full", devices="cuda:0,cuda:1", STAND_IN_CUDNN_DURATIONS=slow_but("eng70_k2=3"))
        self.assertEqual({entry["take"] for entry in self.known().values()}, {"eng70_k2=3"})
        self.assertEqual(len(self.known()), 2, "each convolution of two rows once")

    def test_other_versions_measure_for_themselves(self):
        self.explained("--tune", "full", STAND_IN_CUDNN_DURATIONS=slow_but("eng70_k2=2"))
        told, _ = self.explained("--tune", "quick", STAND_IN_CUDNN_VERSION="92000", STAND_IN_CUDNN_DURATIONS=slow_but("eng70_k2=0"))
        self.assertNotIn("eng70_k2=2 makes the program the quickest", told)
        self.assertEqual(len(self.known()), 4)

    def test_choices_that_cant_be_used_do_no_harm(self):
        self.explained("--tune", "full", STAND_IN_CUDNN_DURATIONS=slow_but("eng70_k2=2"))
        entries = self.known()
        file = self.choices()
        # One that is no engine's.
        text = json.loads(file.read_text())
        for entry in text["operations"].values():
            entry["take"] = "eng99_k2=7"
        file.write_text(json.dumps(text))
        told, _ = self.explained("--tune", "quick")
        self.assertIn("cuDNN engine 70", told)
        self.assertNotIn("eng99_k2=7", file.read_text(), "chosen anew")
        for damage in ("", "{", file.read_text()[:200]):
            file.write_text(damage)
            told, done = self.explained("--tune", "full", STAND_IN_CUDNN_DURATIONS=slow_but("eng70_k2=1"))
            self.assertIn("eng70_k2=1 makes the program the quickest", told)
            self.assertEqual(done.err.count("warning"), 1, done.err)
            self.assertEqual(self.known().keys(), entries.keys())

    def test_plans_are_made_once(self):
        first, _ = self.explained()
        made = self.counts()
        self.assertEqual((made["built"], made["loaded"]), (2, 0))
        expected = self.run_plan(name="first")
        again, _ = self.explained()
        self.assertEqual(again, first)
        counts = self.counts()
        self.assertEqual((counts["heuristics"], counts["built"], counts["loaded"]), (0, 0, 2))
        self.assertEqual(self.run_plan(), expected)
        self.assertTrue(any(expected), "the stand-in has computed something")

    def test_a_plan_that_doesnt_load_is_made_anew(self):
        first, _ = self.explained()
        whole = {file: file.read_bytes() for file in self.kept()}
        bent = lambda text: text[:-20] + bytes([text[-20] ^ 1]) + text[-19:]
        for damage in (lambda text: b"", lambda text: text[:100], lambda text: text[:-1], bent, lambda text: b"\xff" * 1000):
            for file, text in whole.items():
                file.write_bytes(damage(text))
            told, done = self.explained()
            self.assertEqual((told, done.err), (first, ""))
            self.assertEqual({file: file.read_bytes() for file in self.kept()}, whole, "written anew")
        # A whole file of another key, and a plan that cuDNN itself doesn't take.
        names = list(whole)
        names[0].write_bytes(whole[names[1]])
        self.assertEqual(self.explained()[0], first)
        self.assertEqual(self.explained(STAND_IN_CUDNN_FORGETS="1")[0], first)
        self.assertEqual(self.counts()["built"], 2)

    def test_what_cant_be_kept_is_told_once(self):
        self.cache.write_text("a file, not a folder")
        told, done = self.explained()
        self.assertIn("cuDNN engine 70", told)
        self.assertEqual(done.err.count("warning"), 1, done.err)
        self.assertIn("isn't kept", done.err)


if __name__ == "__main__":
    unittest.main()
