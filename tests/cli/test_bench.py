"""`sheaf bench`: what it prints, in text and JSON; comparisons; what is refused. Timings themselves are no tests."""
import json
import unittest

from program import SHEAF_RUN, execute, must
from tensors import Tensor, write_npy
from training import TrainTest


def bench(*arguments, **options):
    return execute([SHEAF_RUN[0], "bench", *arguments], **options)


class Bench(TrainTest):
    def bench(self, *more, devices="cpu:0,cpu:1", batch=8):
        return bench(self.plan, "--devices", devices, "--batch", batch, *more)

    def report(self, *more, **options):
        return json.loads(must(self.bench("--json", *more, **options)).out)

    def test_json(self):
        for program in ("infer", "train"):
            report = self.report("--program", program, "--steps", 7)
            self.assertEqual((report["model"], report["program"], report["batch"], report["steps"]), ("stripes", program, 8, 7))
            self.assertEqual(report["devices"], ["cpu:0", "cpu:1"])
            self.assertEqual((report["numerics"], report["precision"], report["weights"]), ("strict", "f32", "random"))
            self.assertRegex(report["plan_sha256"], "^[0-9a-f]{64}$")
            spread = [report[f"step_seconds{part}"] for part in ("_min", "_q1", "", "_q3", "_max")]
            self.assertEqual(spread, sorted(spread))
            self.assertGreater(spread[0], 0)
            self.assertAlmostEqual(report["samples_per_s"] * report["step_seconds"], 8, places=6)
            self.assertGreater(report["bind_seconds"], 0)
            self.assertGreater(report["peak_MiB"], 1)
            self.assertGreaterEqual(report["warm_up_steps"], 2)
            self.assertGreaterEqual(report["threads"], 1)
            self.assertTrue(report["producer"])

    def test_text(self):
        done = must(self.bench("--steps", 5, "--numerics", "fast", "--threads", 1))
        self.assertRegex(done.out, r"\Astripes, inference, batch 8, on cpu:0,cpu:1, 1 thread, fast f32\n")
        self.assertRegex(done.out, r"(?m)^  step     \S+ (µs|ms|s), median of 5; quartiles \S+ to \S+, fastest \S+, slowest \S+$")
        self.assertRegex(done.out, r"(?m)^  tail     95% within \S+, 99% within \S+ (µs|ms|s)$")
        self.assertRegex(done.out, r"(?m)^  rate     \S+ samples/s$")
        self.assertEqual(done.err, "")

    def test_compare(self):
        old = self.path("old.json")
        must(self.bench("--steps", 5, "-o", old))
        report = self.report("--steps", 5, "--compare", old)
        self.assertEqual(report["compared"]["old"], str(old))
        self.assertIn(report["compared"]["verdict"], ("faster", "slower", "within the spread"))
        self.assertEqual(report["compared"]["differences"], [])
        self.assertAlmostEqual(report["compared"]["ratios"]["step_seconds"], report["step_seconds"] / json.loads(old.read_text())["step_seconds"])
        # The same against one that was a thousand times slower, and on another device.
        changed = json.loads(old.read_text())
        for name in list(changed):
            if name.startswith("step_seconds"):
                changed[name] *= 1000
        changed["samples_per_s"] /= 1000
        changed["devices"] = ["cpu:7"]
        slow = self.write("slow.json", json.dumps(changed))
        done = must(self.bench("--steps", 5, "--compare", slow))
        self.assertRegex(done.out, r"(?m)^  faster: the quartiles don't overlap$")
        self.assertIn('they differ in devices: ["cpu:7"], now ["cpu:0","cpu:1"]', done.out)

    def test_one_step(self):
        report = self.report("--steps", 1, "--warm-up", 1, devices="cpu")
        self.assertEqual((report["steps"], report["warm_up_steps"], report["devices"]), (1, 1, ["cpu"]))
        self.assertEqual(report["step_seconds"], report["step_seconds_min"])

    def test_profile_and_trace(self):
        report = self.report("--steps", 3, "--profile", "--trace", self.path("t.json"), "--program", "train")
        self.assertEqual(report["profile"]["program"], "train")
        self.assertIn("conv_backward_weight", {row["op"] for row in report["profile"]["by_kind"]})
        self.assertTrue(json.loads(self.path("t.json").read_text())["traceEvents"])
        done = must(self.bench("--steps", 3, "--profile"))
        self.assertIn("profile of infer, batch 8", done.out)

    def test_given_data_and_weights(self):
        write_npy(self.path("x.npy"), Tensor("F32", (8, 1, 6, 6), [0.5] * 288))
        must(self.train("--steps", 1, "--save", self.path("w.safetensors")))
        report = self.report("--data", f"x={self.path('x.npy')}", "--weights", self.path("w.safetensors"), "--steps", 2)
        self.assertEqual(report["weights"], str(self.path("w.safetensors")))
        self.assert_refused(self.bench("--data", f"x={self.path('x.npy')}", batch=9), "x.npy", "[9, 1, 6, 6]")
        self.assert_refused(self.bench("--data", "z=random:8"), "'z'")

    def test_what_is_refused(self):
        for arguments, word in ((("--steps", 0), "--steps"), (("--program", "test"), "--program"), (("--threads", "x"), "--threads"),
                                (("--speed",), "--speed"), (("--data", "x"), "--data")):
            self.assert_refused(self.bench(*arguments), word, status=2)
        self.assert_refused(self.bench(batch=0), "--batch", status=2)
        self.assert_refused(self.bench(devices="gpu"), "gpu", status=2)
        self.assert_refused(bench(), "PLAN", status=2)
        self.assert_refused(bench(self.plan, "--batch", 8), "--devices", status=2)
        self.assert_refused(bench(self.plan, "--devices", "cpu"), "--batch", status=2)
        self.assert_refused(bench(self.path("none.plan"), "--devices", "cpu", "--batch", 1), "none.plan")
        self.assert_refused(self.bench("--compare", self.path("none.json")), "none.json")
        self.assert_refused(self.bench("--compare", self.write("bad.json", "{}")), "bad.json", "sheaf bench --json")
        self.assert_refused(self.bench("-o", self.path("no/such.json")), "such.json")
        self.assertFalse(self.path("no").exists())


if __name__ == "__main__":
    unittest.main()
