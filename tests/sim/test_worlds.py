"""Processes with virtual GPUs: in every strategy and arrangement the bits of one process, checkpoints that any other resumes, and one end for all."""
import json
import os
import signal
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


class Transports(VirtualGpus):
    """How data goes between ranks' GPUs, and why."""

    def linked(self, lists, *more, strategy="replicated", **variables):
        """`variables`: the environment's, by rank."""
        commands = []
        for rank, devices in enumerate(lists):
            own = [f"{name}={values[rank]}" for name, values in variables.items()]
            commands.append(["env", *own, *self.command(*self.steps, *self.outputs(), *more, devices=devices, plan=self.plan_of(strategy))])
        return World(commands, cwd=self.shared).end()

    def messages(self):
        """Lanes and implementations of rank 0's messages, by its trace."""
        events = json.loads(self.path("t.json").read_text())["traceEvents"]
        lanes = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
        return {(lanes[event["tid"]], event["args"]["implementation"]) for event in events if event.get("cat") in ("send", "receive")}

    def test_traces_name_it(self):
        one = self.results(self.train(*self.steps, *self.outputs(), devices="cuda:0"))
        for link in ("virtual link 2.5", ""):
            done = self.linked(("cuda:0", "cuda:0"), "--trace", self.path("t.json"), SHEAF_SIM_LINK=(link, link))
            self.assertTrue(self.results(done) == one)
            on_links = {(lane, by) for lane, by in self.messages() if lane == "0/link"}
            self.assertEqual(on_links, {("0/link", link)} if link else set())
            self.assertIn(("0/messages", "message"), self.messages())

    def test_through_host_memory(self):
        one = self.results(self.train(*self.steps, *self.outputs(), devices="cuda:0"))
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                done = self.linked(("cuda:0", "cuda:0"), strategy=strategy, SHEAF_SIM_LINK=("virtual link 1.0", ""))
                self.assertTrue(self.results(done) == one)
                self.assertIn("note: data between ranks' devices go through their hosts' memories: 1/cuda:0 can't be linked: "
                              "this machine was made without", done.err)

    def test_reasons(self):
        for lists, variables, reason in (
            (("cuda:0", "cuda:0"), {"SHEAF_SIM_LINK": ("v 1", "v 2")}, "rank 1 has v 2, and rank 0 has v 1"),
            (("cuda:1", "cuda:1"), {"SHEAF_SIM_MACHINE": ("m", "m")}, "0/cuda:1 and 1/cuda:1 are the same device, m:1"),
            (("cuda:0", "cpu:0,cuda:0"), {}, "1/cpu:0 can't be linked: devices of its kind have no link between processes"),
        ):
            with self.subTest(reason):
                done = self.linked(lists, **variables)
                self.results(done)
                self.assertIn(f"go through their hosts' memories: {reason}", done.err)

    @long
    def test_a_rank_that_never_joins(self):
        one = self.results(self.train(*self.steps, *self.outputs(), devices="cuda:0"))
        done = self.linked(("cuda:0", "cuda:0"), SHEAF_SIM_LINK_FAULT=("absent", "absent"))
        self.assertTrue(self.results(done) == one)
        self.assertIn("not all ranks' GPUs have joined within 30 s", done.err)

    def test_plans_name_it(self):
        plan = self.plan_of("sharded")
        for devices, lane, by, transport in (
            ("0/cuda:0,1/cuda:0", "0/link", "NCCL", "from device to device, by NCCL"),
            ("0/cuda:0,1/cpu:0", "0/messages", "message", "through their hosts' memories: 1/cpu:0 can't be linked"),
        ):
            at = ("--program", "train", "--devices", devices, "--batch", 16, "--device-model", "h200")
            bound = must(sheaf("dump", plan, *at, "--format", "bound")).out
            self.assertRegex(bound, rf"on {lane}: send of net.module.conv .*, by {by}, to rank 1")
            self.assertIn(f"data between ranks' devices go {transport}", must(sheaf("estimate", plan, *at)).out)
            estimate = json.loads(must(sheaf("estimate", plan, *at, "--json")).out)
            self.assertEqual(estimate["transport"], transport)


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
    @long
    def test_a_killed_rank(self):
        for strategy in ("data_parallel", "fully_sharded"):
            with self.subTest(strategy):
                plan = self.dir / f"{strategy}.plan"
                must(sheaf("compile", self.shared / "model.json", "-o", plan, "--strategy", strategy))
                self.killed(1, devices="cuda:0", plan=plan)

    @long
    def test_a_stopped_rank(self):
        world, processes = self.started(("cuda:0",) * 3)
        os.kill(processes[2], signal.SIGSTOP)
        done = self.ended(world, processes, devices="cuda:0")
        self.assertIn("rank 2: it has given no sign of life for 5 s", done.err)

    def test_swapped_messages(self):
        for message in (0, 30):  # as all operations are loaded; in a step
            world = self.world(("cuda:0", "cuda:0"), "--steps", 10, "--shards", 4, environment={**ENVIRONMENT, "SHEAF_SIM_LINK_FAULT": str(message)})
            done = world.end(limit=20)
            self.assertNotEqual(done.status, 0)
            self.assertRegex(done.err, r"error: .*messages don't match: rank . sends")
            self.assertRegex(done.err, r"error: rank [01]: .*messages don't match")

    def test_a_loss_that_is_not_finite(self):
        done = self.run_world(("cuda:0", "cuda:0"), "--steps", 40, "--lr", "1e30", "--save", self.path("w"))
        self.assertEqual(done.status, 1, str(done))
        self.assertIn("the first output that isn't finite is that of layer", done.err)
        self.assertFalse(self.path("w").exists())


if MISSING:
    print(f"skipped: {MISSING}")
unittest.main()
