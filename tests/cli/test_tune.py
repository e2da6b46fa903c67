"""`--tune`: what is measured is kept and chosen again, whatever the device list; a cache that can't be used does no harm."""
import json
import os
import unittest
from unittest import mock

from program import SHEAF_RUN, execute, must, sheaf
from training import TrainTest

CONVOLUTIONS = """{"sheaf": "1.0", "name": "convolutions", "inputs": {"x": {"shape": ["batch", 16, 6, 6]}},
"layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
  {"name": "first", "type": "Conv2d", "in_channels": 16, "out_channels": 32, "kernel_size": 3, "padding": 1}, {"type": "ReLU"},
  {"name": "second", "type": "Conv2d", "in_channels": 32, "out_channels": 32, "kernel_size": 3, "stride": 2}, {"type": "Flatten"},
  {"name": "fc", "type": "Linear", "in_features": 128, "out_features": 3}]}}],
"training": {"targets": {"y": {"shape": ["batch", 3]}}, "loss": {"type": "MSELoss", "inputs": ["net", "y"]},
  "optimizer": {"type": "SGD", "lr": 0.01}}}"""


class Tunes(TrainTest):
    model = CONVOLUTIONS
    data = ("x=random:24", "y=random:24")

    def setUp(self):
        super().setUp()
        self.cache = self.path("cache")
        environment = mock.patch.dict(os.environ, {"SHEAF_CACHE": str(self.cache)})
        environment.start()
        self.addCleanup(environment.stop)

    def file(self):
        files = list(self.cache.glob("*.json"))
        self.assertEqual(len(files), 1)
        return files[0]

    def known(self):
        return json.loads(self.file().read_text())["operations"]

    def run_plan(self, *more, devices="cpu:0", name="out"):
        done = must(execute([*SHEAF_RUN, self.plan, "--devices", devices, "--input", "x=random:24", "--output", self.path(name), *more]))
        return done, self.path(name).read_bytes()

    def test_off_measures_nothing(self):
        done, _ = self.run_plan()
        self.run_plan("--tune", "off")
        self.assertFalse(self.cache.exists())
        self.assertNotIn("warning", done.err)

    def test_the_second_run_takes_what_the_first_has_measured(self):
        done, first = self.run_plan("--tune", "quick")
        self.assertNotIn("warning", done.err)
        text = self.file().read_text()
        self.assertTrue(self.known(), "there is something to choose")
        for entry in self.known().values():
            self.assertIn(entry["take"], entry.get("seconds", {entry["take"]: 0}))
        _, second = self.run_plan("--tune", "quick")
        self.assertEqual(first, second)
        self.assertEqual(self.file().read_text(), text, "nothing was measured again")

    def test_a_choice_that_stands_in_the_cache_is_taken_on_every_list(self):
        # Eight shards: whatever the list, chunks of three rows on the same number of threads.
        lists = ("cpu:0", "cpu:0,cpu:1", "cpu:0-3")
        def trained(devices, *more):
            must(self.train("--steps", 2, "--shards", 8, "--save", self.path("w"), *more, devices=devices, batch=24))
            return self.path("w").read_bytes()
        plain = [trained(devices) for devices in lists]
        trained("cpu:0", "--tune", "full")  # it measures what the cost model finds too slow for the quick way, too
        cache = json.loads(self.file().read_text())
        others = 0
        for entry in cache["operations"].values():
            other = [name for name in entry.get("seconds", {}) if name != entry["take"]]
            others += bool(other)
            entry["take"] = (other or [entry["take"]])[0]
        self.assertGreater(others, 0)
        self.file().write_text(json.dumps(cache))
        tuned = [trained(devices, "--tune", "quick") for devices in lists]
        self.assertEqual(len(set(plain)), 1)
        self.assertEqual(len(set(tuned)), 1)
        self.assertEqual({key: entry["take"] for key, entry in self.known().items()},
                         {key: entry["take"] for key, entry in cache["operations"].items()})

    def test_a_choice_made_without_a_candidate_is_made_again(self):
        self.run_plan("--tune", "quick")
        cache = json.loads(self.file().read_text())
        for entry in cache["operations"].values():
            entry["candidates"] = entry["candidates"][:-1]
            entry["take"] = entry["candidates"][0]
        self.file().write_text(json.dumps(cache))
        self.run_plan("--tune", "quick")
        self.assertTrue(all(len(entry["candidates"]) == len(cache["operations"][key]["candidates"]) + 1
                            for key, entry in self.known().items()))

    def test_explain_says_what_was_measured(self):
        arguments = ["explain", self.plan, "first", "--devices", "cpu:0", "--batch", 24]
        told = " ".join(must(sheaf(*arguments, "--tune", "full")).out.split())
        self.assertRegex(told, r"measured on this machine, (\w+ \S+ ms(, )?)+; with reorders of its neighbours \w+ makes the program the quickest")
        self.assertEqual(told, " ".join(must(sheaf(*arguments, "--tune", "quick")).out.split()))
        self.assertNotIn("measured", must(sheaf(*arguments)).out)

    def test_a_cache_that_cant_be_used_does_no_harm_and_is_told_once(self):
        _, expected = self.run_plan("--tune", "quick")
        file = self.file()
        sound = file.read_text()
        for text in ("", "{", "[]", sound[:-20], sound.replace('"machine": "', '"machine": "another '), sound.replace('"version": 2', '"version": 1')):
            with self.subTest(text=text[:30]):
                file.write_text(text)
                done, _ = self.run_plan("--tune", "quick")
                self.assertEqual(done.err.count("warning"), 1, done.err)
                self.assertIn(str(file), done.err)
                self.assertNotIn("warning", self.run_plan("--tune", "quick")[0].err, "the file was replaced")
        file.write_text(sound)
        self.assertEqual(self.run_plan("--tune", "quick")[1], expected)
        for place in ("/dev/null/cache", str(self.plan)):
            with mock.patch.dict(os.environ, {"SHEAF_CACHE": place}):
                done, _ = self.run_plan("--tune", "quick")
                self.assertEqual(done.err.count("warning"), 1, done.err)

    def test_without_any_home_nothing_is_kept(self):
        with mock.patch.dict(os.environ, clear=True):
            done, _ = self.run_plan("--tune", "quick")
        self.assertIn("SHEAF_CACHE", done.err)
        with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.path("xdg"))}):
            del os.environ["SHEAF_CACHE"]
            self.run_plan("--tune", "quick")
        self.assertEqual(len(list((self.path("xdg") / "sheaf").glob("*.json"))), 1)

    def test_a_resumed_run_says_that_implementations_are_others(self):
        checkpoint = ["--steps", 2, "--checkpoint", self.path("c")]
        must(self.train(*checkpoint, "--tune", "quick"))
        again = ["--steps", 3, "--checkpoint", self.path("c"), "--resume"]
        self.assertNotIn("rounding", must(self.train(*again, "--tune", "quick")).err)
        told = must(self.train("--steps", 4, *again[2:])).err
        self.assertRegex(told, r"implementations measured, [0-9a-f]{12} then, by the model of costs now: results equal .* within rounding only")

    def test_unknown_kinds_are_refused(self):
        done = execute([*SHEAF_RUN, self.plan, "--devices", "cpu:0", "--input", "x=random:2", "--tune", "loud"])
        self.assertEqual(done.status, 2)
        self.assertIn("'off', 'quick', 'full'", done.err)


if __name__ == "__main__":
    unittest.main()
