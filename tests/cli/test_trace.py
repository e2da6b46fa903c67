"""`--trace` and `--profile` of `sheaf run` and `sheaf train`: what the file holds, what is printed, what is refused."""
import json
import unittest

from program import must, sheaf_run
from training import TrainTest


class TraceFile:
    """A trace, with what every one must fulfil (Chrome's trace event format, as Perfetto reads it)."""

    PHASES = {"M": {"name", "args"}, "X": {"name", "cat", "ts", "dur", "args", "tid"}, "s": {"name", "cat", "ts", "id", "tid"},
              "f": {"name", "cat", "ts", "id", "tid", "bp"}, "C": {"name", "ts", "args"}}

    def __init__(self, test, path):
        whole = json.loads(path.read_text(encoding="utf-8"))
        self.other, self.slices, self.counters, self.tracks, flows, last = whole["otherData"], [], [], {}, {}, 0
        for event in whole["traceEvents"]:
            test.assertIn(event["ph"], self.PHASES, event)
            test.assertLessEqual(self.PHASES[event["ph"]], set(event), event)
            test.assertEqual(event["pid"], 1)
            if event["ph"] == "M":
                if event["name"] == "thread_name":
                    test.assertNotIn(event["tid"], self.tracks)
                    self.tracks[event["tid"]] = event["args"]["name"]
                continue
            test.assertGreaterEqual(event["ts"], last, "events are in the order of their times")
            last = event["ts"]
            if event["ph"] == "C":
                test.assertGreaterEqual(event["args"]["live"], 0)
                self.counters.append(event)
                continue
            test.assertIn(event["tid"], self.tracks, "each track has a name")
            if event["ph"] == "X":
                test.assertGreaterEqual(event["dur"], 0)
                self.slices.append(event)
            else:
                test.assertNotIn(event["ph"], flows.setdefault(event["id"], {}), "an id twice")
                flows[event["id"]][event["ph"]] = event
        self.flows = list(flows.values())
        for flow in self.flows:
            test.assertEqual(set(flow), {"s", "f"}, flow)
            test.assertLessEqual(flow["s"]["ts"], flow["f"]["ts"])
            test.assertEqual((flow["s"]["name"], flow["f"]["bp"]), (flow["f"]["name"], "e"))
            for end in flow.values():
                test.assertTrue(any(s["tid"] == end["tid"] and s["ts"] - 1e-3 <= end["ts"] <= s["ts"] + s["dur"] + 1e-3 for s in self.slices), end)

    def on(self, track):
        return [s for s in self.slices if self.tracks[s["tid"]] == track]

    def operations(self, program):
        """By step: the slices within each of the program's steps that are operations."""
        steps = [s for s in self.on("steps") if s["args"]["program"] == program]
        return {s["args"]["step"]: [o for o in self.slices if o["cat"] not in ("step", "wait") and
                                    s["ts"] - 1e-3 <= o["ts"] <= s["ts"] + s["dur"]] for s in steps}


class Trace(TrainTest):
    def test_training(self):
        must(self.train("--epochs", 2, *self.evaluate(), "--trace", self.path("t.json"), "--metrics", self.path("m.jsonl")))
        trace = TraceFile(self, self.path("t.json"))
        self.assertLessEqual({"steps", "cpu:0", "cpu:1", "data"}, set(trace.tracks.values()))
        steps = trace.operations("train")
        self.assertEqual(list(steps), list(range(1, 13)), "two epochs of six steps")
        sizes = {len(operations) for operations in steps.values()}
        self.assertEqual(len(sizes), 1, f"every step has all its operations: {sizes}")
        for operations in steps.values():
            layers = {o["args"].get("layer") for o in operations}
            self.assertLessEqual({"net.module.conv", "net.module.bn", "net.module.fc"}, layers, layers)
            kinds = {o["cat"] for o in operations}
            self.assertLessEqual({"conv", "conv_backward_weight", "linear_backward_weight", "update"}, kinds, kinds)
            self.assertEqual({o["args"]["replica"] for o in operations if o["cat"] == "conv"}, {0, 1})
        self.assertTrue(trace.operations("infer"), "evaluation is there, too")
        waits = [w for w in trace.on("data")]
        self.assertEqual([w["args"]["step"] for w in waits], list(range(1, 13)))
        moved = {flow["s"]["name"] for flow in trace.flows}
        self.assertLessEqual({"scatter", "reduce"}, moved, moved)
        self.assertEqual({c["name"] for c in trace.counters} - {"host arena", "cpu:0 arena", "cpu:1 arena"}, set())
        self.assertGreater(max(c["args"]["live"] for c in trace.counters), 0)
        self.assertEqual({p["program"] for p in trace.other["programs"]}, {"train", "infer"})

    def test_a_trace_changes_nothing(self):
        must(self.train("--steps", 8, "--save", self.path("plain")))
        must(self.train("--steps", 8, "--save", self.path("traced"), "--trace", self.path("t.json"), "--profile"))
        self.assertEqual(self.path("plain").read_bytes(), self.path("traced").read_bytes())

    def run_it(self, *more, rows=100, batch=30):
        return sheaf_run(self.plan, "--devices", "cpu:0,cpu:1", "--input", f"x=random:{rows}", "--batch-size", batch, *more)

    def test_inference_with_a_remainder(self):
        must(self.run_it("--trace", self.path("t.json"), "--output", self.path("out.safetensors")))
        trace = TraceFile(self, self.path("t.json"))
        self.assertEqual([s["args"]["rows"] for s in trace.on("steps")], [30, 30, 30, 10])
        self.assertEqual(len(trace.operations("infer")), 4)

    def test_profile(self):
        done = must(self.run_it("--profile"))
        self.assertRegex(done.out, r"profile of infer, batch 30: \d+\.\d+ us a step, median of 3 steps|profile of infer, batch 30: .* ms")
        self.assertIn("profile of infer, batch 10", done.out)
        for word in ("GFLOP/s", "GB/s", "roofline", "net.module.conv", "waits", "layer", "kind of operation"):
            self.assertIn(word, done.out)
        self.assertRegex(done.out, r"(?m)^ +\d+\.\d{3} +\d+\.\d +\d+ +\d+\.\d +\d+\.\d +\d+%  conv$")
        done = must(self.train("--steps", 4, "--profile"))
        self.assertRegex(done.out.splitlines()[0], r"^stripes: train loss ")
        self.assertIn("profile of train, batch 16", done.out)
        self.assertIn("for data", done.out)

    def test_what_cannot_be_written_is_refused_before_the_run(self):
        out = self.path("out.safetensors")
        done = self.run_it("--trace", self.path("no/such/t.json"), "--output", out)
        self.assert_refused(done, "t.json", "can't be written")
        self.assertFalse(out.exists())
        self.assert_refused(self.train("--steps", 4, "--trace", self.dir, "--save", out), str(self.dir))
        self.assertFalse(out.exists())
        self.assert_refused(self.run_it("--trace"), "--trace", status=2)
        devices = self.write("devices.json", "{}")
        for command in (self.run_it, lambda *more: self.train("--steps", 1, *more)):
            self.assert_refused(command("--describe", devices), "--profile", status=2)
            self.assert_refused(command("--profile", "--describe", devices), "devices.json")
            self.assert_refused(command("--profile", "--describe", self.path("none")), "none")

    def test_a_failed_run_leaves_no_trace(self):
        done = sheaf_run(self.plan, "--devices", "cpu:0,cpu:1", "--input", "x=missing.npy", "--trace", self.path("t.json"))
        self.assert_refused(done, "missing.npy")
        self.assertFalse(self.path("t.json").exists())
        self.assertEqual(list(self.dir.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
