"""sheaf estimate: what it says, as text and JSON, and what it refuses."""
import json
import unittest

from program import MODELS, SHEAF_RUN, ProgramTest, cpu_has_bf16, execute, must, sheaf
from training import CNN

# `sheaf estimate`, or `sheaf-run estimate` of a build without compiler.
ESTIMATE = [SHEAF_RUN[0], "estimate"]
CLASSES = ["parameters", "derived", "gradients", "optimizer", "activations", "workspace", "communication"]


class Estimates(ProgramTest):
    def estimate(self, *arguments):
        return execute([*ESTIMATE, *arguments])

    def json(self, *arguments):
        return json.loads(must(self.estimate(*arguments, "--json")).out)

    def test_json_adds_up(self):
        plan = self.compile(CNN)
        for devices, batch in (("cpu", 4), ("cpu:0", 9), ("cpu:0,cpu:1", 9), ("cpu:0-2", 64)):
            with self.subTest(devices=devices, batch=batch):
                told = self.json(plan, "--devices", devices, "--batch", batch)
                self.assertEqual((told["model"], told["program"], told["batch"]), ("stripes", "train", batch))
                for device in told["devices"]:
                    self.assertEqual(list(device["at_peak"]), CLASSES)
                    self.assertEqual(sum(device["at_peak"].values()), device["arena_bound_bytes"])
                    self.assertEqual(sum(device["lasting"].values()) + device["arena_bytes"], device["peak_bytes"])
                    self.assertLessEqual(len(device["largest"]), 10)
                    self.assertLessEqual(device["arena_bound_bytes"], device["arena_bytes"])
                    if device["arena_bytes"]:
                        self.assertIn("layer", device["peak"])
                self.assertAlmostEqual(sum(layer["flops"] for layer in told["layers"]), told["work"]["flops"])
                self.assertAlmostEqual(sum(device["work"]["flops"] for device in told["devices"]), told["work"]["flops"])
                self.assertEqual(sum(node["bytes_moved"] for node in told["movements"]), told["bytes_moved"])
                # Conv(1, 4, 3), BatchNorm(4) with running statistics and a count, Linear(36, 3); Adam keeps two of each.
                trained = (4 * 9 + 4 + 4 + 4 + 36 * 3 + 3) * 4
                self.assertEqual(told["memory"]["parameter_bytes"], trained + 8 * 4 + 8 + 2 * trained)
                self.assertGreater(told["time"]["step_seconds"], 0)

    def test_movements_are_those_of_dump(self):
        plan = self.compile(CNN)
        told = self.json(plan, "--devices", "cpu:0,cpu:1", "--batch", "9", "--program", "train")
        graph = json.loads(must(sheaf("dump", plan, "--format", "json", "--program", "train", "--devices", "cpu:0,cpu:1", "--batch", "9")).out)
        inserted = [(node["id"], node["bytes_moved"]) for node in graph["nodes"] if "bytes_moved" in node]
        self.assertTrue(any(moved > 0 for _, moved in inserted))
        self.assertEqual([(node["id"], node["bytes_moved"]) for node in told["movements"]], inserted)

    def test_programs(self):
        plan = self.compile(CNN)
        infer = self.json(plan, "--devices", "cpu:0", "--batch", "4", "--program", "infer")
        train = self.json(plan, "--devices", "cpu:0", "--batch", "4")
        self.assertEqual((infer["program"], train["program"]), ("infer", "train"))
        self.assertEqual(infer["devices"][0]["lasting"]["optimizer"], 0)
        self.assertGreater(train["work"]["flops"], 2 * infer["work"]["flops"])
        # A model without training has one program.
        plan = self.compile(MODELS / "tutorial.json")
        self.assertEqual(self.json(plan, "--devices", "cpu:0", "--batch", "4")["program"], "infer")
        self.assert_refused(self.estimate(plan, "--devices", "cpu:0", "--batch", "4", "--program", "train"), "training")

    def test_largest_batch(self):
        plan = self.compile(CNN)
        for limit in (100_000, "1MiB"):
            found = self.json(plan, "--devices", "cpu:0,cpu:1", "--batch", "8", "--memory", limit)["largest_batch"]
            most = [max(device["peak_bytes"] for device in self.json(plan, "--devices", "cpu:0,cpu:1", "--batch", found["batch"] + more)["devices"]) for more in (0, 1)]
            self.assertLessEqual(most[0], found["memory_bytes"])
            self.assertGreater(most[1], found["memory_bytes"])
            self.assertEqual(found["peak_bytes"], most[0])
        self.assertIn("not even one row", must(self.estimate(plan, "--devices", "cpu:0", "--batch", "8", "--memory", "100")).out)

    def test_more_than_the_machine_has(self):
        plan = self.compile(MODELS / "data_parallel_model.json")
        rows = 10**10  # of 10 floats
        told = self.json(plan, "--devices", "cpu:0", "--batch", rows, "--program", "infer")
        self.assertGreater(told["devices"][0]["peak_bytes"], 40 * rows)

    @unittest.skipUnless(cpu_has_bf16(), "this CPU has no bf16")
    def test_bf16_products_have_their_own_rate(self):
        times = {}
        for rate in (1e6, 1e9):
            describe = self.write("rates.json", json.dumps({"sheaf_devices": "1.0", "cpu": {"flops_per_second": 1e6, "bf16_flops_per_second": rate}}))
            for precision in ("f32", "bf16"):
                plan = self.dir / f"{precision}.plan"
                must(sheaf("compile", self.write("model.json", CNN), "--precision", precision, "-o", plan))
                times[precision, rate] = self.json(plan, "--devices", "cpu:0", "--batch", "8", "--describe", describe)["time"]["step_seconds"]
        self.assertEqual(times["f32", 1e6], times["f32", 1e9])
        self.assertLess(times["bf16", 1e9], 0.9 * times["bf16", 1e6])

    def test_describe(self):
        plan = self.compile(CNN)
        slow = self.write("slow.json", '{"sheaf_devices": "1.0", "cpu": {"flops_per_second": 1e6, "operations": {"conv": 1e6}}}')
        told = self.json(plan, "--devices", "cpu:0", "--batch", "8", "--describe", slow)
        self.assertGreater(told["time"]["step_seconds"], told["work"]["flops"] / 1e6 * 0.9)
        self.assertEqual(told["time"]["description"], str(slow))
        wrong = self.write("wrong.json", '{"sheaf_devices": "1.0", "cpu": {"flops_per_second": -1}}')
        self.assert_refused(self.estimate(plan, "--devices", "cpu:0", "--batch", "8", "--describe", wrong), "wrong.json", "flops_per_second")
        self.assert_refused(self.estimate(plan, "--devices", "cpu:0", "--batch", "8", "--describe", self.dir / "gone.json"), "gone.json")

    def test_text(self):
        plan = self.compile(CNN)
        out = must(self.estimate(plan, "--devices", "cpu:0,cpu:1", "--batch", "8", "--memory", "1MiB")).out
        for part in ("stripes, program train, batch 8 on cpu:0,cpu:1", *CLASSES, "largest on cpu:0 at its peak, in ", "bound by",
                     "moved between devices", "time: a step takes", "largest batch in 1.0 MiB a device"):
            self.assertIn(part, out)

    def test_gpus_need_not_be_there(self):
        plan = self.compile(CNN)
        gpus = "cuda:500,cuda:501"  # no machine has them
        for devices, program in ((gpus, "train"), ("cuda:500", "train"), ("cpu:0,cuda:500", "infer"),
                                 ("cpu:0,cuda:500", "train")):
            with self.subTest(devices=devices, program=program):
                names = [device for device in devices.split(",") if device.startswith("cuda")]
                told = self.json(plan, "--devices", devices, "--batch", 64, "--program", program, "--memory", "1GiB")
                self.assertEqual([device["device"] for device in told["planned"]], names)
                for device in told["planned"]:
                    self.assertRegex(device["why"], "^.+; planned for as an NVIDIA H200$")
                self.assertEqual([device["device"] for device in told["devices"]], ["host", *devices.split(",")])
                for device in told["devices"]:
                    self.assertEqual(sum(device["lasting"].values()) + device["arena_bytes"], device["peak_bytes"])
                    if device["device"] in names:
                        self.assertGreater(device["most"]["activations"], 0)  # it computes its chunk
                self.assertNotIn("seconds", json.dumps(told))
                self.assertIn(names[0], told["time"]["none"])
                self.assertGreater(told["largest_batch"]["batch"], 64)
                if program == "train":  # which cuBLASLt does on the GPU, where the parameters are
                    unknown = {part["op"]: part for part in told["memory"]["uncertain"]}
                    self.assertEqual(unknown["linear_backward_weight"]["devices"], names)
                    home = 1 if devices.startswith("cuda") else 0  # CPU devices' memory is the host's
                    self.assertGreater(told["devices"][home]["lasting"]["parameters"], 0)
        out = must(self.estimate(plan, "--devices", gpus, "--batch", 64)).out
        for part in ("not here:", "cuda:500, cuda:501: ", "memory that isn't known without the device:", "time: not estimated;", "moved between devices"):
            self.assertIn(part, out)

    def test_gpus_by_their_data_sheet(self):
        plan = self.compile(CNN)
        seconds = {}
        for model, name in (("b200", "NVIDIA B200"), ("h200", "NVIDIA H200"), ("l4", "NVIDIA L4")):
            told = self.json(plan, "--devices", "cuda:0,cuda:1", "--batch", 4096, "--device-model", model)
            self.assertEqual([device["why"] for device in told["planned"]], [f"planned for as an {name}"] * 2)
            seconds[model] = told["time"]["step_seconds"]
            self.assertIn(name, told["time"]["description"])
            for device in told["devices"][1:]:
                self.assertGreater(device["work"]["launches"], 0)
            kinds = {kind["op"]: kind for kind in told["kinds"]}
            self.assertAlmostEqual(sum(kind["seconds"] for kind in told["kinds"]), sum(device["seconds"]["busy"] for device in told["devices"]))
            self.assertEqual(sum(kind.get("launches", 0) for kind in told["kinds"]), sum(device["work"].get("launches", 0) for device in told["devices"]))
            self.assertIn(kinds["conv"]["bound"], ("compute", "memory", "overhead"))
        self.assertLess(seconds["b200"], seconds["h200"])
        self.assertLess(seconds["h200"], seconds["l4"])
        out = must(self.estimate(plan, "--devices", "cuda:0", "--batch", 8, "--device-model", "h100")).out
        for part in ("planned for as an NVIDIA H100", "launches of GPUs: ", "time: a step takes", "data sheet"):
            self.assertIn(part, out)
        self.assert_refused(self.estimate(plan, "--devices", "cuda:0", "--batch", 8, "--device-model", "tpu"), "--device-model", "rtx4090", status=2)
        self.assert_refused(self.estimate(plan, "--devices", "cpu:0", "--batch", 8, "--device-model", "l4"), "the list has none")

    def test_described_gpus_have_times(self):
        plan = self.compile(CNN)
        describe = self.write("gpu.json", '{"sheaf_devices": "1.0", "cuda": {"flops_per_second": 5e13}}')
        told = self.json(plan, "--devices", "cuda:500", "--batch", "8", "--describe", describe)
        self.assertGreater(told["time"]["step_seconds"], 0)

    def test_refused(self):
        plan = self.compile(CNN)
        good = (plan, "--devices", "cpu:0", "--batch", "8")
        for wrong in ((plan,), (plan, "--batch", "8"), (plan, "--devices", "cpu:0"), (plan, "--devices", "cpu:0", "--batch", "0"),
                      (plan, "--devices", "cpu:0", "--batch", "-1"), (plan, "--devices", "cpu:0", "--batch", "many"),
                      (plan, "--devices", "tpu:0", "--batch", "8"), (plan, "--devices", "", "--batch", "8"), (*good, "--memory", "lots"),
                      (*good, "--memory", "0"), (*good, "--memory", "-1GiB"), (*good, "--program", "both"), (*good, "--nonsense"), ()):
            with self.subTest(wrong=wrong):
                self.assert_refused(self.estimate(*wrong), "error: ", status=2)
        self.assert_refused(self.estimate(self.dir / "gone.plan", "--devices", "cpu:0", "--batch", "8"), "gone.plan")
        self.assertEqual(self.estimate("--help").status, 0)


unittest.main()
