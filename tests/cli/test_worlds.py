"""Training in several processes: the bits of one, one set of outputs, and one end for all."""
import json
import os
import signal
import time
import unittest
from unittest import mock

from program import MODELS, ProgramTest, long, must, sheaf
from tensors import Tensor, write_npy
from test_images import MODEL as COLOURS
from test_images import png
from training import TRAIN
from worlds import ENDING, ENVIRONMENT, MISSING, FaultTest, World, WorldTest, program_on_slow_links
from worlds import Overlap as Traced


class MemoryOfARank(WorldTest):
    """A transformer with Adam in four processes takes what `estimate` says of them, to the byte; shares are a quarter."""

    def test_as_estimated(self):
        model = json.loads((MODELS / "transformer_encoder.json").read_text())
        model["training"]["optimizer"] = {"type": "Adam", "lr": 0.001}
        self.path("m.json").write_text(json.dumps(model))
        kept = {}
        for strategy in ("replicated", "sharded", "fully_sharded"):
            with self.subTest(strategy):
                plan = self.path("m.plan")
                must(sheaf("compile", self.path("m.json"), "-o", plan, "--strategy", strategy))
                told = json.loads(must(sheaf("estimate", plan, "--devices", "0/cpu:0,1/cpu:0,2/cpu:0,3/cpu:0", "--batch", 8, "--json")).out)
                devices = {device["device"]: device for device in told["devices"]}
                kept[strategy] = devices["3/cpu:0"]["lasting"]
                if strategy == "replicated":
                    continue
                must(self.run_world(("cpu:0",) * 4, "--steps", 1, "--trace", self.path("t.json"), plan=plan, data=("x=random:8", "y=random:8"), batch=8))
                program = json.loads(self.path("t.json").read_text())["otherData"]["programs"][0]
                taken = {part["device"]: part["arena_bytes"] for part in program["memory"]}
                self.assertGreater(taken["0/cpu:0"], 0)
                self.assertEqual(taken, {name: device["arena_bytes"] for name, device in devices.items() if device["arena_bytes"] and name in ("host", "0/cpu:0", "0/messages")})
        # Each tensor's share is rounded up by less than an element, and steps are counted once.
        self.assertEqual(kept["sharded"]["parameters"], kept["replicated"]["parameters"])
        self.assertAlmostEqual(kept["sharded"]["optimizer"] / kept["replicated"]["optimizer"], 0.25, delta=0.01)
        self.assertAlmostEqual(kept["fully_sharded"]["optimizer"] / kept["replicated"]["optimizer"], 0.25, delta=0.01)
        self.assertAlmostEqual(kept["fully_sharded"]["parameters"] / kept["replicated"]["parameters"], 0.25, delta=0.01)


class EqualBits(WorldTest):
    """Every strategy, in several arrangements of processes and devices: the bits of one process."""

    def results(self, done):
        must(done)
        return self.path("w").read_bytes(), self.losses()

    def outputs(self):
        return ("--save", self.path("w"), "--metrics", self.path("m.jsonl"))

    def plan_of(self, strategy):
        plan = self.dir / f"{strategy}.plan"
        must(sheaf("compile", self.shared / "model.json", "-o", plan, "--strategy", strategy))
        return plan

    def test_as_in_one_process(self):
        """90 rows in batches of 16 end with one of 10; evaluation sees what was trained."""
        options = ("--epochs", 1, "--shards", 3, "--seed", 5, *self.evaluate(), *self.outputs())
        one = self.results(self.train(*options, devices="cpu:0-2"))
        evaluated = [line for line in self.lines() if "eval_accuracy" in line][0]
        for strategy, lists in (("replicated", ("cpu:0", "cpu:0")), ("replicated", ("cpu:0", "cpu:0", "cpu:0")), ("data_parallel", ("cpu:0,cpu:1", "cpu:0")),
                                ("sharded", ("cpu:0", "cpu:0,cpu:1")), ("fully_sharded", ("cpu:0", "cpu:0", "cpu:0"))):
            with self.subTest(strategy=strategy, lists=lists):
                self.assertEqual(self.results(self.run_world(lists, *options, plan=self.plan_of(strategy))), one)
                epoch = [line for line in self.lines() if "eval_accuracy" in line][0]
                self.assertEqual((epoch["eval_accuracy"], epoch["eval_loss"]), (evaluated["eval_accuracy"], evaluated["eval_loss"]))

    def test_statistics_of_the_whole_batch(self):
        """A SyncBatchNorm's sums go from rank to rank in the midst of both passes; the last batch has a row for each of two shards."""
        model = self.write("sync.json", self.model.replace("BatchNorm2d", "SyncBatchNorm"))
        options = ("--epochs", 1, "--shards", 3, "--seed", 5, *self.outputs())
        first = None
        for strategy, lists in (("replicated", ("cpu:0", "cpu:0")), ("data_parallel", ("cpu:0,cpu:1", "cpu:0")), ("sharded", ("cpu:0", "cpu:0", "cpu:0")),
                                ("fully_sharded", ("cpu:0", "cpu:0,cpu:1"))):
            plan = self.dir / "sync.plan"
            must(sheaf("compile", model, "-o", plan, "--strategy", strategy))
            with self.subTest(strategy=strategy, lists=lists):
                first = first or self.results(self.train(*options, devices="cpu:0-2", plan=plan, batch=22))
                self.assertEqual(self.results(self.run_world(lists, *options, plan=plan, batch=22)), first)

    @long
    def test_other_models(self):
        for model, more in (("data_parallel_model.json", ()), ("word_language_model.json", ()), ("digits_cnn.json", ("--micro-batches", 2))):
            spec = json.loads((MODELS / model).read_text())
            data = [f"{name}=random:12" for name in (*spec["inputs"], *spec["training"]["targets"])]
            plan = self.dir / "other.plan"
            must(sheaf("compile", MODELS / model, "-o", plan, "--strategy", "replicated"))
            options = ("--steps", 2, "--shards", 2, "--lr", "0.01", *more, *self.outputs())
            with self.subTest(model=model):
                one = self.results(self.train(*options, devices="cpu:0,cpu:1", plan=plan, data=data, batch=8))
                self.assertEqual(self.results(self.run_world(("cpu:0", "cpu:0"), *options, plan=plan, data=data, batch=8)), one)

    @long
    def test_resumed_in_other_arrangements(self):
        plan = self.plan_of("replicated")
        options = ("--shards", 3, "--seed", 5, "--metrics", self.path("m.jsonl"))
        must(self.train("--steps", 9, *options, "--save", self.path("whole"), devices="cpu:0-2", plan=plan))
        folder = self.path("checkpoints")
        must(self.run_world(("cpu:0", "cpu:0"), "--steps", 4, *options, "--checkpoint", folder, plan=plan))
        done = must(self.run_world(("cpu:0", "cpu:0", "cpu:0"), "--steps", 7, *options, "--checkpoint", folder, "--resume", plan=self.plan_of("fully_sharded")))
        self.assertEqual(done.err.count("4 steps done"), 1)
        must(self.train("--steps", 9, *options, "--checkpoint", folder, "--resume", "--save", self.path("parts"), devices="cpu:0", plan=self.plan))
        self.assertEqual(self.path("parts").read_bytes(), self.path("whole").read_bytes())

    def test_outputs_come_once(self):
        done = must(self.run_world(("cpu:0", "cpu:0"), "--epochs", 2, "--plot", self.path("p.svg"), "--trace", self.path("t.json"), "--profile", *self.outputs()))
        self.assertEqual(done.out.count("time by layer"), done.out.count("lanes"), done.out)
        tracks = {event["args"]["name"] for event in json.loads(self.path("t.json").read_text())["traceEvents"] if event["name"] == "thread_name"}
        self.assertTrue({"0/cpu:0", "0/messages"} <= tracks and not any(track.startswith("1/") for track in tracks), tracks)
        self.assertEqual(done.out.count("after 2 epochs"), 1, done.out)
        self.assertIn("on 0/cpu:0,1/cpu:0", done.out)
        self.assertEqual(done.err.count("batch size"), 1, done.err)
        self.assertEqual(len(self.losses()), 12)
        self.assertTrue(self.path("p.svg").read_text().startswith("<svg"))

    @long
    def test_the_best_and_when_to_end(self):
        """A learning rate of nothing makes no epoch better than the first: rank 0 keeps that one, and all end with it."""
        options = ("--epochs", 9, "--lr", 0, "--shards", 2, *self.evaluate(), "--best", "accuracy", "--patience", 2, *self.outputs())
        one = (self.results(self.train(*options, "--save-best", self.path("best"), "--tensorboard", self.path("one"))), self.path("best").read_bytes())
        two = (self.results(self.run_world(("cpu:0", "cpu:0"), *options, "--save-best", self.path("best"), "--tensorboard", self.path("two"))), self.path("best").read_bytes())
        self.assertEqual(two, one)
        self.assertEqual(max(line["epoch"] for line in self.lines()), 3)
        self.assertEqual(len(list(self.path("two").iterdir())), 1)


class OwnRows(WorldTest):
    """Each process reads, and decodes, only the rows that its devices compute."""
    model = COLOURS
    data = ("x=images:whole,resize", "label=classes:whole")

    def setUp(self):
        super().setUp()
        self.pictures = sorted(f"{name}/{i}.png" for name in ("blue", "red") for i in range(4))
        for number, picture in enumerate(self.pictures):
            for folder in ("whole", "rank0", "rank1"):
                file = self.shared / folder / picture
                file.parent.mkdir(parents=True, exist_ok=True)
                whole = png(9 + number, 10, (20 * number, 90, 255 - 20 * number))
                # Of four rows the first two are rank 0's.
                damaged = folder != "whole" and folder != f"rank{number // 2 % 2}"
                file.write_bytes(whole[:20] + bytes(len(whole) - 20) if damaged else whole)

    def run_on(self, folder, *more, batch=4):
        names = [part for flag in ("--data", "--eval") for part in (flag, folder("x=images:{},resize"), flag, folder("label=classes:{}"))]
        return self.run_world(("cpu:0", "cpu:0"), "--epochs", 2, "--no-shuffle", "--shards", 2, *names, "--save", self.path("w"), *more, data=(), batch=batch)

    @long
    def test_others_rows_may_be_damaged(self):
        for more, batch in (((), 4), (("--micro-batches", 2), 8)):
            with self.subTest(batch=batch):
                must(self.run_on(lambda text: lambda rank: text.format(f"rank{rank}"), *more, batch=batch))
                own = self.path("w").read_bytes()
                must(self.run_on(lambda text: text.format("whole"), *more, batch=batch))
                self.assertEqual(self.path("w").read_bytes(), own)

    def test_a_damaged_row_is_named_by_its_rank(self):
        done = self.run_on(lambda text: text.format("rank0"))
        self.assertEqual(done.status, 1)
        self.assertIn(f"rank 1: rank0/{self.pictures[2]}: error: damaged", done.err.replace("\n", " "))
        self.assertFalse(self.path("w").exists())


class Differences(WorldTest):
    """Before the first step the processes compare what they are about to do."""

    def refused(self, *words, lists=("cpu:0", "cpu:0"), more=(), **options):
        done = self.run_world(lists, "--steps", 3, "--save", self.path("w"), *more, **options)
        self.assertEqual(done.status, 1, done)
        for word in words:
            self.assertIn(word, done.err)
        self.assertFalse(self.path("w").exists())

    def test_options(self):
        self.refused("rank 1: --seed is 7, and on rank 0 it is 6", more=("--seed", lambda rank: 6 + rank))
        self.refused("rank 1: --lr is 0.5", more=("--lr", lambda rank: ("0.25", "0.5")[rank]))

    def test_data(self):
        other = ["x=test-images.gz", "label=test-labels"]
        commands = [self.command("--steps", 3, devices="cpu:0", data=data) for data in (None, other)]
        done = World(commands, cwd=self.shared).end()
        self.assertEqual(done.status, 1)
        self.assertIn("rank 1: the fingerprint of --data", done.err)

    def test_host_only_mode_and_ranks(self):
        self.refused("rank 1: --devices cpu is host-only mode", lists=("cpu:0", "cpu"))
        self.refused("each process has a list of its own", lists=("0/cpu:0,1/cpu:0",) * 2)


class Faults(FaultTest):
    """Whatever ends one rank ends all, with its reason; the newest checkpoint stays good."""

    def test_a_killed_rank(self):
        self.killed(1)

    @long
    def test_a_stopped_rank(self):
        world, processes = self.started()
        os.kill(processes[2], signal.SIGSTOP)
        done = self.ended(world, processes)
        self.assertIn("rank 2: it has given no sign of life for 5 s", done.err)

    def test_a_signal_to_one_rank_saves_and_ends_all(self):
        world, processes = self.started()
        os.kill(processes[1], signal.SIGTERM)
        done = self.ended(world, processes)
        self.assertIn("stopped by SIGTERM to rank 1", done.err)
        self.assertIn("a checkpoint is saved", done.err)

    def test_a_file_that_rank_0_can_not_write(self):
        done = self.run_world(("cpu:0", "cpu:0"), "--steps", 3, "--metrics", "/dev/full", "--save", self.path("w"))
        self.assertEqual(done.status, 1)
        self.assertIn("/dev/full", done.err)
        self.assertIn("rank 0: ", done.err)
        self.assertFalse(self.path("w").exists())

    def test_a_loss_that_is_not_finite(self):
        done = self.run_world(("cpu:0", "cpu:0"), "--steps", 40, "--lr", "1e30", "--checkpoint", self.path("c"), "--save", self.path("w"))
        self.assertEqual(done.status, 1)
        self.assertIn("the first output that isn't finite is that of layer", done.err)
        self.assertFalse(self.path("w").exists())


class WhatARankHeld(FaultTest):
    """A rank may end at any moment: neither it nor the launcher then waits for something that it held (tests/fixtures/ending.c)."""

    def one_killed_with_a_lock(self, environment):
        """Rank 1 of two is killed once it holds a lock that processes share. The run, and whether that came to pass."""
        report = self.path("killed")
        command = self.command("--steps", 2, devices="cpu:0")
        world = World([command, ["env", f"LD_PRELOAD={ENDING}", f"SHEAF_ENDING={report}", *command]], cwd=self.shared, environment=environment)
        return world, report

    def test_a_rank_takes_no_lock_that_the_launcher_waits_for(self):
        world, report = self.one_killed_with_a_lock(ENVIRONMENT)
        must(world.end(limit=30))
        self.assertFalse(report.exists())

    def test_with_the_launcher_s_locks_it_would(self):
        """This is what PMIx does if the user says so: the rank takes such a lock. Whether mpirun then ends is a matter of luck."""
        world, report = self.one_killed_with_a_lock({**ENVIRONMENT, "PMIX_MCA_gds": "ds21,hash"})
        end = time.monotonic() + 20
        while not report.exists() and time.monotonic() < end:
            time.sleep(0.02)
        for process in (world.launcher.pid, *(int(folder.name) for folder in world.children())):
            os.kill(process, signal.SIGKILL)
        world.launcher.communicate()
        self.assertTrue(report.exists())

    def test_a_crash_whose_stack_can_not_be_printed(self):
        world, processes = self.started(environment={**ENVIRONMENT, "LD_PRELOAD": str(ENDING)})
        os.kill(processes[1], signal.SIGSEGV)
        done = self.ended(world, processes)
        self.assertRegex(done.err, rf"rank 1: its process {processes[1]} ended without a word|process rank 1 with PID .* exited on signal 11")


class IndexBeyondTable(WorldTest):
    """An operation that fails on one rank: all ranks say which, and of which rank."""
    model = """{"sheaf": "1.0", "name": "table", "inputs": {"x": {"shape": ["batch", 2], "dtype": "int64"}},
"layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
  {"type": "Embedding", "num_embeddings": 5, "embedding_dim": 3}, {"type": "Flatten"}, {"type": "Linear", "in_features": 6, "out_features": 3}]}}],
"training": {"targets": {"label": {"shape": ["batch"], "dtype": "int64"}}, "loss": {"type": "CrossEntropyLoss"},
  "optimizer": {"type": "SGD", "lr": 0.1}}}"""

    def test_the_second_rank_s_row(self):
        x, label = self.path("x.npy"), self.path("label.npy")
        write_npy(x, Tensor("I64", (4, 2), [1, 2, 3, 4, 0, 1, 9, 0]))
        write_npy(label, Tensor("I64", (4,), [0, 1, 2, 0]))
        done = self.run_world(("cpu:0", "cpu:0"), "--steps", 2, "--no-shuffle", "--save", self.path("w"), data=(f"x={x}", f"label={label}"), batch=4)
        self.assertEqual(done.status, 1)
        for rank in (0, 1):
            self.assertRegex(done.err, rf"\[1,{rank}\]<stderr>:.*rank 1: replica 1 on device 1/cpu:0: layer 'net.module.0'")


class SlowLinks(WorldTest):
    """Processes that a delaying engine of messages joins (bench/overlap.py measures on it)."""

    def test_the_same_bits_and_a_trace_of_the_link(self):
        rate = 2e5
        program, environment = program_on_slow_links(self.dir / "slow", TRAIN[0], rate)
        options = ("--steps", 3, "--shards", 2, "--seed", 5, "--save", self.path("w"))
        must(self.train(*options, devices="cpu:0,cpu:1"))
        one = self.path("w").read_bytes()
        for strategy in ("replicated", "sharded", "fully_sharded"):
            plan = self.dir / f"{strategy}.plan"
            must(sheaf("compile", self.shared / "model.json", "-o", plan, "--strategy", strategy))
            command = [program, *self.command(*options, "--trace", self.path("t.json"), devices="cpu:0", plan=plan)[1:]]
            with self.subTest(strategy):
                must(World([command] * 2, cwd=self.shared, environment=environment).end())
                self.assertEqual(self.path("w").read_bytes(), one)
                weights = 4 * (4 * 9 + 3 * 36)  # bytes of both; either process sends half and gets half, twice
                for seconds in Traced(self.path("t.json"), rate).messages:
                    # A rank that comes late to a message sees only the rest of it on the link.
                    self.assertGreater(seconds, 2 * weights / rate * 0.5)


class Overlap(ProgramTest):
    """What the lanes for messages do while replicas compute, as bound; no process is started."""
    RANKS = ("--devices", "0/cpu:0,1/cpu:0")

    def test_buckets_go_out_while_the_backward_pass_goes_on(self):
        plan = self.dir / "resnet.plan"
        must(sheaf("compile", MODELS / "resnet18_w8.json", "-o", plan, "--strategy", "replicated"))
        lines = [line for line in must(sheaf("dump", plan, "--format", "bound", "--program", "train", *self.RANKS, "--batch", 8)).out.splitlines() if line.startswith("#")]
        last = max(number for number, line in enumerate(lines) if "conv_backward_weight" in line)
        sums = [number for number, line in enumerate(lines) if "/messages" in line and "all_reduce of" in line and "left out" not in line]
        self.assertTrue(sums and all("on 0/messages" in lines[one] or "on 1/messages" in lines[one] for one in sums))
        # Both ranks own half of each bucket, and sum the buckets in one order.
        self.assertEqual(*([lines[one].split(" of ")[1].split(" ")[0] for one in sums if f"on {rank}/messages" in lines[one]] for rank in (0, 1)))
        # No computing lane waits for a bucket before its first update.
        updates = min(number for number, line in enumerate(lines) if "commits" in line)
        self.assertLess(last, updates)
        bucketed = [line for line in lines if "all_reduce of" in line and "placeable" in line]
        self.assertTrue(bucketed and all("placeable, left out" in line for line in bucketed), "gradients are made in their places of the bucket")

    def test_weights_are_reordered_where_they_are_read(self):
        """A reorder on a lane for messages would come after slow ones, and whoever reads it would wait. With AVX2, convolutions take weights in two
        formats."""
        plan = self.dir / "resnet.plan"
        must(sheaf("compile", MODELS / "resnet18_w8.json", "-o", plan, "--strategy", "sharded"))
        with mock.patch.dict(os.environ, DNNL_MAX_CPU_ISA="AVX2"):
            lines = must(sheaf("dump", plan, "--format", "bound", "--program", "train", *self.RANKS, "--batch", 8)).out.splitlines()
        reorders = [line for line in lines if line.startswith("#") and ": reorder of" in line]
        self.assertTrue(any("/cpu:0" in line for line in reorders))
        self.assertEqual([line for line in reorders if "/messages" in line], [])

    @long
    def test_a_slow_link_is_hidden(self):
        """ResNet-18 on a link of 1 Gbit/s, in the time of the lanes as bound: the step is longer by at most a fifth of what is sent. bench/overlap.py
        measures it."""
        for strategy in ("replicated", "sharded", "fully_sharded"):
            with self.subTest(strategy):
                self.hidden(strategy)

    def hidden(self, strategy):
        plan = self.dir / f"{strategy}.plan"
        must(sheaf("compile", MODELS / "resnet18.json", "-o", plan, "--strategy", strategy))
        took = {}
        for rate in (125e6, 1e18):
            describe = self.write("machine.json", json.dumps({"sheaf_devices": "1.0", "cpu": {"cores": 2, "flops_per_second": 2.2e11, "bytes_per_second": 2.4e10,
                                                              "core_bytes_per_second": 1.3e10, "copy_bytes_per_second": rate, "operations": {"conv": 1.8e11}}}))
            took[rate] = json.loads(must(sheaf("estimate", plan, *self.RANKS, "--batch", 256, "--describe", describe, "--json")).out)
        messages = [device for device in took[125e6]["devices"] if "messages" in device["device"]]
        sent = sum(device["seconds"]["communication"] for device in messages)  # one at a time: either sends while the other receives
        gradients = 11_000_000 * 4  # bytes, and some more
        self.assertGreater(sent, 2 * gradients / 125e6)
        exposed = took[125e6]["time"]["step_seconds"] - took[1e18]["time"]["step_seconds"]
        self.assertLess(exposed, 0.2 * sent)


class Lists(ProgramTest):
    """Lists with ranks show a run of several processes without starting it."""

    def test_dump_estimate_explain_and_verify(self):
        model = MODELS / "digits_cnn.json"
        plan = self.dir / "r.plan"
        must(sheaf("compile", model, "-o", plan, "--strategy", "replicated"))
        where = ("--devices", "0/cpu:0,1/cpu:0", "--batch", 8)
        bound = must(sheaf("dump", plan, "--format", "bound", "--program", "train", *where)).out
        self.assertIn(" on 0/messages: send of ", bound)
        self.assertIn(" on 1/messages: receive of ", bound)
        graph = json.loads(must(sheaf("dump", plan, "--format", "json", "--program", "train", *where)).out)
        self.assertTrue({"0/cpu:0", "1/cpu:0"} <= {node["device"] for node in graph["nodes"]})
        must(sheaf("estimate", plan, *where))
        must(sheaf("explain", plan, "--program", "train", *where))
        must(sheaf("verify", model, "--devices", "0/cpu:0-1,1/cpu:0", "--batch", 7, "--strategy", "replicated"))

    def test_what_a_list_can_not_be(self):
        for devices, word in (("1/cpu:0", "out of order"), ("0/cpu:0,2/cpu:0", "out of order"), ("0/cpu:0,cpu:1", "has no rank"),
                              ("x/cpu:0", "no valid rank"), ("0/cpu", "host-only mode")):
            self.assert_refused(sheaf("estimate", "none.plan", "--devices", devices, "--batch", 4), word, status=2)

    def test_one_process_does_not_run_them(self):
        plan = self.compile(MODELS / "tutorial.json")
        self.assert_refused(sheaf("run", plan, "--devices", "0/cpu:0,1/cpu:0", "--input", "x=random:4"), "the device list names ranks", "mpirun -n 2")


if MISSING:
    print(f"skipped: {MISSING}")
unittest.main()
