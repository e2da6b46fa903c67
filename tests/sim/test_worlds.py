"""Processes with virtual GPUs: in every strategy and arrangement the bits of one process, checkpoints that any other resumes, and one end for all."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from program import long, must, sheaf
from worlds import ENVIRONMENT, MISSING, FaultTest, World, WorldTest

STRATEGIES = ("data_parallel", "replicated", "sharded", "fully_sharded")


class VirtualGpus(WorldTest):
    # Chunks of batch norm's channels, and parameters of 36, 4, 108 and 3 elements: their shares are uneven, or empty.
    steps = ("--steps", 3, "--seed", 7, "--shards", 4)

    def plan_of(self, strategy):
        plan = self.shared / f"{strategy}.plan"
        if not plan.exists():
            must(sheaf("compile", self.shared / "model.json", "-o", plan, "--strategy", strategy))
        return plan

    def results(self, done):
        """Nothing was misused, or the program's status would tell; the saved file and the losses."""
        must(done)
        return self.path("w").read_bytes(), self.losses()

    def outputs(self):
        return ("--save", self.path("w"), "--metrics", self.path("m.jsonl"))


class EqualBits(VirtualGpus):
    def alike(self, arrangements, strategies=STRATEGIES):
        one = self.results(self.train(*self.steps, *self.outputs(), devices="cuda:0"))
        for lists in arrangements:
            for strategy in strategies:
                with self.subTest(lists=lists, strategy=strategy):
                    done = self.run_world(lists, *self.steps, *self.outputs(), plan=self.plan_of(strategy))
                    self.assertTrue(self.results(done) == one)

    def test_two_processes(self):
        self.alike([("cuda:0", "cuda:0")])

    def test_shares_of_unequal_size(self):
        self.alike([("cuda:0", "cuda:0", "cuda:0")], ("sharded",))

    def test_several_devices_in_a_process(self):
        self.alike([("cuda:0,cuda:1", "cuda:1"), ("cuda:2", "cuda:0,cuda:0")], ("replicated",))

    @long
    def test_many_processes(self):
        self.alike([("cuda:0",) * 3, ("cuda:0",) * 4, ("cuda:0,cuda:1", "cuda:0,cuda:1")])

    @long
    def test_another_order_of_streams(self):
        one = self.results(self.train(*self.steps, *self.outputs(), devices="cuda:0"))
        for strategy in STRATEGIES:
            command = self.command(*self.steps, *self.outputs(), devices="cuda:0", plan=self.plan_of(strategy))
            for seed in ("2", "3"):
                with self.subTest(strategy=strategy, seed=seed):
                    world = World([command] * 3, cwd=self.shared, environment={**ENVIRONMENT, "SHEAF_SIM_SEED": seed})
                    self.assertTrue(self.results(world.end()) == one)


class Checkpoints(VirtualGpus):
    def test_other_arrangements_go_on(self):
        def run(steps, strategy, lists, *more):
            options = ("--steps", steps, "--seed", 7, "--shards", 4, *self.outputs(), *more)
            if len(lists) == 1:
                return self.results(self.train(*options, devices=lists[0], plan=self.plan_of(strategy)))
            return self.results(self.run_world(lists, *options, plan=self.plan_of(strategy)))

        whole = run(4, "replicated", ["cuda:0"])
        kept = ("--checkpoint", self.path("c"), "--checkpoint-every", 1)
        run(2, "fully_sharded", ["cuda:0", "cuda:0"], *kept)
        run(3, "sharded", ["cuda:0,cuda:1"], *kept, "--resume")
        weights, losses = run(4, "replicated", ["cuda:0"] * 3, *kept, "--resume")
        self.assertEqual((weights, losses[-1:]), (whole[0], whole[1][-1:]))


class Pictures(VirtualGpus):
    """What an IDX file has as bytes crosses to each process's GPU as bytes, and stands for the same numbers."""

    def test_cross_as_bytes(self):
        one = self.results(self.train(*self.steps, *self.outputs(), devices="cuda:0"))
        for lists, as_bytes in ((("cuda:0", "cuda:0"), True), (("cuda:0", "cuda:0,cpu:0"), False)):
            with self.subTest(lists=lists):
                done = self.run_world(lists, *self.steps, *self.outputs(), "--trace", self.path("t.json"), plan=self.plan_of("replicated"))
                results = self.results(done)
                self.assertEqual("bytes to numbers" in self.path("t.json").read_text(), as_bytes)
                if as_bytes:  # a CPU rounds in another way
                    self.assertTrue(results == one)


class Faults(FaultTest):
    def test_a_killed_rank(self):
        for strategy in ("data_parallel", "fully_sharded"):
            with self.subTest(strategy):
                plan = self.dir / f"{strategy}.plan"
                must(sheaf("compile", self.shared / "model.json", "-o", plan, "--strategy", strategy))
                self.killed(1, devices="cuda:0", plan=plan)

    def test_a_loss_that_is_not_finite(self):
        done = self.run_world(("cuda:0", "cuda:0"), "--steps", 40, "--lr", "1e30", "--save", self.path("w"))
        self.assertEqual(done.status, 1, str(done))
        self.assertIn("the first output that isn't finite is that of layer", done.err)
        self.assertFalse(self.path("w").exists())


if MISSING:
    print(f"skipped: {MISSING}")
unittest.main()
