"""sheaf estimate --cluster: a training step on machines that aren't here, with every strategy."""
import json
import unittest

from program import MODELS, SHEAF_RUN, SOURCE, ProgramTest, execute, long, must, sheaf
from training import CNN

ESTIMATE = [SHEAF_RUN[0], "estimate"]
STRATEGIES = ["data_parallel", "replicated", "sharded", "fully_sharded"]
LINK = {"bytes_per_second": 1e8, "seconds": 1e-5}


class ClusterEstimates(ProgramTest):
    def cluster(self, name="cluster.json", **fields):
        described = {"sheaf_cluster": "1.0", "nodes": 2, "devices": 4, "device": "h100", "within": LINK, "between": LINK, **fields}
        return self.write(name, json.dumps({key: value for key, value in described.items() if value is not None}))

    def json(self, plan, cluster, *more, batch=64):
        return json.loads(must(execute([*ESTIMATE, plan, "--cluster", cluster, "--batch", batch, "--json", *more])).out)

    def by_strategy(self, *arguments, **options):
        told = self.json(*arguments, **options)
        self.assertEqual([one["strategy"] for one in told["strategies"]], STRATEGIES)
        return told, {one["strategy"]: one for one in told["strategies"]}

    def test_one_device_sends_nothing(self):
        alone = self.cluster(nodes=1, devices=1, within=None, between=None)
        told, found = self.by_strategy(self.compile(CNN), alone)
        for one in found.values():
            self.assertEqual((one["exposed_seconds"], one["sent_bytes"], one["collectives"]), (0, 0, 0))
            self.assertAlmostEqual(one["step_seconds"], told["compute_seconds"])
            self.assertAlmostEqual(one["efficiency"], 1)

    def test_memory_and_bytes_are_those_of_the_strategies(self):
        plan, devices = self.compile(CNN), 8
        alone = json.loads(must(execute([*ESTIMATE, plan, "--devices", "cuda:0", "--batch", 8, "--device-model", "h100", "--json"])).out)
        lasting = {kind: sum(device["lasting"][kind] for device in alone["devices"]) for kind in ("parameters", "optimizer")}
        trained = (4 * 9 + 4 + 4 + 4 + 36 * 3 + 3) * 4
        told, found = self.by_strategy(plan, self.cluster())
        self.assertEqual((told["rows_per_device"], told["devices_used"]), (8, devices))
        self.assertEqual([found[name]["memory"]["optimizer_bytes"] for name in STRATEGIES],
                         [lasting["optimizer"], lasting["optimizer"], lasting["optimizer"] / devices, lasting["optimizer"] / devices])
        self.assertAlmostEqual(found["fully_sharded"]["memory"]["parameter_bytes"], lasting["parameters"] - trained * (1 - 1 / devices))
        self.assertEqual(found["replicated"]["memory"]["parameter_bytes"], lasting["parameters"])
        share = trained * (devices - 1) / devices
        self.assertAlmostEqual(found["replicated"]["sent_bytes"], 2 * share)
        self.assertAlmostEqual(found["sharded"]["sent_bytes"], 2 * share)
        self.assertAlmostEqual(found["fully_sharded"]["sent_bytes"], 3 * share, delta=share)  # what the backward pass doesn't read isn't gathered again
        for one in found.values():
            self.assertGreaterEqual(one["communication_seconds"], one["sent_bytes"] / 1e9)
            self.assertLessEqual(one["exposed_seconds"], one["communication_seconds"] * (1 + 1e-9))

    @long
    def test_all_plans_of_a_model_are_priced_alike(self):
        (self.dir / "model.json").write_text(CNN)
        exposed = []
        for strategy in STRATEGIES:
            plan = self.dir / f"{strategy}.plan"
            must(sheaf("compile", self.dir / "model.json", "-o", plan, "--strategy", strategy))
            told, found = self.by_strategy(plan, self.cluster())
            self.assertEqual(told["compiled"], strategy)
            exposed.append({name: (one["collectives"], round(one["sent_bytes"])) for name, one in found.items()})
        for other in exposed[1:]:
            self.assertEqual(other, exposed[0])

    def test_a_faster_link_and_engines_sums_expose_less(self):
        plan = self.compile(MODELS / "digits_cnn.json")
        slow = self.by_strategy(plan, self.cluster(), batch=4096)[1]
        fast = self.by_strategy(plan, self.cluster(within={**LINK, "bytes_per_second": 1e12}, between={**LINK, "bytes_per_second": 1e12}), batch=4096)[1]
        rings = self.by_strategy(plan, self.cluster(), "--no-deterministic", batch=4096)[1]
        for name in STRATEGIES:
            self.assertLess(fast[name]["exposed_seconds"], slow[name]["exposed_seconds"])
        for name in STRATEGIES[1:]:  # each byte leaves a node once, not once for each device
            self.assertLess(rings[name]["communication_seconds"], slow[name]["communication_seconds"])

    def test_transfers_by_the_devices_own_cores_hide_nothing(self):
        plan = self.compile(CNN)
        link = {**LINK, "occupies": 1}
        told, found = self.by_strategy(plan, self.cluster(device="cpu", nodes=1, devices=2, within=link, between=None))
        replicated = found["replicated"]
        self.assertGreaterEqual(replicated["exposed_seconds"], 0.99 * (replicated["communication_seconds"] - replicated["collectives"] * 2 * 1e-5))
        self.assertGreater(told["compute_seconds"], 0)

    def test_thousands_of_devices(self):
        told, found = self.by_strategy(self.compile(CNN), self.cluster(nodes=512, devices=8), batch=2 * 4096)
        self.assertEqual((told["rows_per_device"], told["devices_used"]), (2, 4096))
        self.assertGreater(found["data_parallel"]["step_seconds"], found["replicated"]["step_seconds"])

    def test_a_device_takes_its_shards_one_after_another(self):
        told = self.json(self.compile(CNN), self.cluster(), "--shards", 12, batch=48)
        self.assertEqual((told["rows_per_device"], told["devices_used"], told["shards"]), (8, 8, 12))
        whole = self.json(self.compile(CNN), self.cluster(), batch=64)
        self.assertGreater(told["compute_seconds"], whole["compute_seconds"])  # twice as many operations

    def test_text(self):
        plan = self.compile(CNN)
        out = must(execute([*ESTIMATE, plan, "--cluster", SOURCE / "examples/cluster/h100.json", "--batch", 100])).out
        for part in ("8 nodes of 8 × NVIDIA H100", "50 devices with 2 rows each", "14 devices are without rows", *STRATEGIES, "exposed", "efficiency", "compiled for data_parallel", "assumed:"):
            self.assertIn(part, out)

    def test_what_is_refused(self):
        plan, good = self.compile(CNN), self.cluster()
        for status, arguments, said in (
                (2, ("--batch", 8), "--cluster"), (2, ("--cluster", good, "--devices", "cpu:0", "--batch", 8), "go together"),
                (2, ("--cluster", good, "--memory", "1GiB", "--batch", 8), "go together"),
                (2, ("--cluster", good, "--program", "infer", "--batch", 8), "training step"),
                (1, ("--cluster", good, "--shards", 4, "--batch", 8), "8 devices, but --shards 4"),
                (1, ("--cluster", self.dir / "gone.json", "--batch", 8), "gone.json")):
            with self.subTest(said=said, arguments=arguments):
                done = execute([*ESTIMATE, plan, *arguments])
                self.assertEqual(done.status, status, done.err)
                self.assertIn(said, done.err)
        for fields, said in (({"sheaf_cluster": "2.0"}, "version '2.0'"), ({"nodes": 0}, "nodes"), ({"device": "abacus"}, "none of cpu, h200"),
                             ({"between": None}, "between"), ({"within": {**LINK, "bytes_per_second": 0}}, "within.bytes_per_second"),
                             ({"within": {**LINK, "efficiency": [[8, 0.5], [4, 0.6]]}}, "larger than the one before"),
                             ({"within": {**LINK, "occupies": 2}}, "a share from 0 to 1"), ({"threads": 2}, "CPU devices"),
                             ({"nodes": 1 << 20, "devices": 1 << 20}, "more than"), ({"colour": "red"}, "colour")):
            with self.subTest(said=said):
                self.assert_refused(execute([*ESTIMATE, plan, "--cluster", self.cluster("bad.json", **fields), "--batch", 8]), "bad.json", said)
        plain = self.compile(MODELS / "tutorial.json")
        self.assert_refused(execute([*ESTIMATE, plain, "--cluster", good, "--batch", 8]), "training")


if __name__ == "__main__":
    unittest.main()
