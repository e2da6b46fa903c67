"""Resuming `sheaf train` bit for bit: from checkpoints, after signals and kills, and what is refused."""
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

from program import LIMIT_SECONDS, execute, long, must, sheaf
from tensors import read_safetensors
from training import CNN, TrainTest


class Resumes(TrainTest):
    def checkpoints(self):
        return sorted(self.path("c").glob("checkpoint-*.safetensors"))

    def options(self, name, steps=30):
        return ["--steps", steps, *self.evaluate(), "--save", self.path(name), "--metrics", self.path(name + ".jsonl"), "--seed", 5]

    def whole(self):
        must(self.train(*self.options("whole")))

    def assert_same_as_whole(self, name):
        self.assertEqual(self.path(name).read_bytes(), self.path("whole").read_bytes())
        keep = lambda line: {k: v for k, v in line.items() if "second" not in k and k != "samples_per_s"}
        self.assertEqual([keep(line) for line in self.lines(name + ".jsonl") if line.get("complete", True)],
                         [keep(line) for line in self.lines("whole.jsonl") if line.get("complete", True)])

    def test_bit_for_bit(self):
        self.whole()
        for stop in (1, 6, 15):
            with self.subTest(stop=stop):
                shutil.rmtree(self.path("c"), ignore_errors=True)
                must(self.train(*self.options("parts", stop), "--checkpoint", self.path("c")))
                done = must(self.train(*self.options("parts"), "--checkpoint", self.path("c"), "--resume"))
                self.assertIn(f"{stop} step{'s' if stop > 1 else ''} done", done.err)
                self.assertNotIn("rounding", done.err)
                self.assert_same_as_whole("parts")

    def test_retention(self):
        must(self.train(*self.options("w"), "--checkpoint", self.path("c"), "--checkpoint-every", 4, "--keep", 2))
        self.assertEqual([p.name for p in self.checkpoints()], ["checkpoint-0000000028.safetensors", "checkpoint-0000000030.safetensors"])
        names = set(read_safetensors(self.checkpoints()[0])[0])
        self.assertTrue({"net.module.conv.weight", "net.module.bn.running_var", "net.module.fc.weight.exp_avg"} <= names, names)

    def start(self, *more):
        return subprocess.Popen(self.command(*more, "--checkpoint", self.path("c"), "--resume"), cwd=self.shared,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for_checkpoints(self, running, beyond):
        end = time.monotonic() + LIMIT_SECONDS
        while not (self.checkpoints() and self.checkpoints()[-1].name > beyond) and running.poll() is None:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)

    def test_signals_finish_the_step_and_save(self):
        for number, word in ((signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "SIGINT"), (signal.SIGHUP, "SIGHUP")):
            with self.subTest(word):
                shutil.rmtree(self.path("c"), ignore_errors=True)
                self.path("c").mkdir()
                self.path("parts").unlink(missing_ok=True)
                running = self.start(*self.options("parts", 10 ** 9), "--plot", self.path("p.svg"))
                self.wait_for_checkpoints(running, "")
                running.send_signal(number)
                out, err = running.communicate(timeout=LIMIT_SECONDS)
                self.assertEqual(running.returncode, 1, err)
                self.assertEqual(out, "")
                step = int(re.search(rf"stopped by {word} after step ([\d,]+) of", err)[1].replace(",", ""))
                self.assertIn("--resume", err)
                self.assertEqual(self.checkpoints()[-1].name, f"checkpoint-{step:010}.safetensors")
                self.assertFalse(self.path("parts").exists() or self.path("p.svg").exists())
                self.assertEqual(len(self.losses("parts.jsonl")), step)
                total = step + 3
                must(self.train(*self.options("parts", total), "--checkpoint", self.path("c"), "--resume"))
                must(self.train(*self.options("whole", total)))
                self.assert_same_as_whole("parts")

    @long
    def test_killed_many_times(self):
        total = 3000
        must(self.train(*self.options("whole", total)))
        self.path("c").mkdir()
        draw = random.Random(3).random
        kills, reached = 0, ""
        while kills < 12:
            running = self.start(*self.options("parts", total), "--checkpoint-every", 1)
            self.wait_for_checkpoints(running, reached)
            time.sleep(0.03 * draw())
            running.kill()
            out, err = running.communicate(timeout=LIMIT_SECONDS)
            if running.returncode == 0:
                break
            self.assertNotIn("passed over", err)
            self.assertEqual(running.returncode, -signal.SIGKILL, err)
            kills += 1
            reached = self.checkpoints()[-1].name
        self.assertGreater(kills, 3)
        must(self.train(*self.options("parts", total), "--checkpoint", self.path("c"), "--resume"))
        self.assert_same_as_whole("parts")
        self.assertEqual([p for p in self.path("c").iterdir() if p not in self.checkpoints()], [], "a temporary file was left")

    def test_a_damaged_checkpoint_is_passed_over(self):
        self.whole()
        must(self.train(*self.options("parts", 12), "--checkpoint", self.path("c")))
        newest = self.checkpoints()[-1]
        for damage in (lambda b: b[:-1], lambda b: b[:-3] + bytes([b[-3] ^ 4]) + b[-2:], lambda b: b"", lambda b: b"\xff" * 64):
            with self.subTest():
                newest.write_bytes(damage(newest.read_bytes() or b"x"))
                saved = newest.read_bytes()
                done = must(self.train(*self.options("parts", 12), "--checkpoint", self.path("c"), "--resume"))
                self.assertIn(f"passed over: {newest}: error: ", done.err)
                taken = str(self.path("c") / "checkpoint-0000000006.safetensors")
                self.assertIn("resuming from " + taken + ": 6 steps done", done.err)
                self.assertRegex(done.err, r"(?m)^  weights +" + re.escape(taken) + "$")
                self.assertNotEqual(newest.read_bytes(), saved)
        must(self.train(*self.options("parts"), "--checkpoint", self.path("c"), "--resume"))
        self.assert_same_as_whole("parts")
        for path in self.checkpoints():
            path.write_bytes(b"{}")
        done = self.train(*self.options("none"), "--checkpoint", self.path("c"), "--resume")
        self.assert_refused(done, "is sound", *[str(path) for path in self.checkpoints()])
        self.assertFalse(self.path("none").exists())

    def test_another_run_is_refused(self):
        options = ["--seed", 5, "--checkpoint", self.path("c")]
        must(self.train("--steps", 7, *options))
        resume = ["--steps", 9, "--resume", "--save", self.path("w")]
        self.assert_refused(self.train("--steps", 9, *options), "--resume", "step 7")
        self.assert_refused(self.train(*resume, *options, batch=15), "--batch-size", "16", "15")
        self.assert_refused(self.train(*resume, "--checkpoint", self.path("c"), "--seed", 6), "--seed", "5", "6")
        self.assert_refused(self.train(*resume, *options, "--no-shuffle"), "--no-shuffle")
        self.assert_refused(self.train(*resume, *options, data=("x=random:91", "label=random:91")), "rows", "90", "91")
        (self.dir / "other.json").write_text(CNN.replace('"p": 0.2', '"p": 0.25'))
        must(sheaf("compile", self.dir / "other.json", "-o", self.dir / "other.plan"))
        self.assert_refused(self.train(*resume, *options, plan=self.dir / "other.plan"), "another plan")
        self.assert_refused(self.train(*resume, *options, data=("x=random:90", "label=random:90")), "content", "--weights")
        self.assertFalse(self.path("w").exists())

    def test_a_folder_without_checkpoints_begins_at_the_beginning(self):
        self.path("empty").mkdir()
        for folder in ("empty", "absent", "absent/too"):
            self.assertIn("beginning at the beginning", must(self.train("--steps", 2, "--checkpoint", self.path(folder), "--resume")).err)
            self.assertTrue(list(self.path(folder).glob("checkpoint-*")))

    def test_a_folder_that_is_moved_stays_the_runs(self):
        running = self.start(*self.options("parts", 10 ** 9), "--checkpoint-every", 1)
        self.wait_for_checkpoints(running, "")
        self.path("c").rename(self.path("moved"))
        self.path("c").mkdir()
        newest = lambda: max(path.name for path in self.path("moved").glob("checkpoint-*"))
        before, end = newest(), time.monotonic() + LIMIT_SECONDS
        while newest() == before and running.poll() is None:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        running.send_signal(signal.SIGTERM)
        err = running.communicate(timeout=LIMIT_SECONDS)[1]
        self.assertEqual(running.returncode, 1, err)
        self.assertEqual(list(self.path("c").iterdir()), [])

    def test_another_number_of_cores(self):
        """How many threads share a sum decides its bits: the CPUs that the process may use stand in the checkpoint."""
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("this process may use one CPU")
        must(self.train("--steps", 3, "--checkpoint", self.path("c")))
        done = must(execute(["taskset", "-c", str(cpus[0]), *self.command("--steps", 6, "--checkpoint", self.path("c"), "--resume")], cwd=self.shared))
        self.assertIn("within rounding only", done.err)
        self.assertRegex(done.err, r"\d+ cores then, \S+ 1 core now")

    def test_other_devices_and_learning_rate(self):
        must(self.train("--steps", 7, "--seed", 5, "--lr", 0.02, "--checkpoint", self.path("c")))
        must(self.train("--steps", 12, "--seed", 5, "--lr", 0.02, "--save", self.path("whole")))
        shutil.copytree(self.path("c"), self.path("d"))
        done = must(self.train("--steps", 12, "--seed", 5, "--checkpoint", self.path("c"), "--resume", "--save", self.path("w"), devices="cpu:1,cpu:0"))
        self.assertIn("within rounding only", done.err)
        self.assertIn("cpu:0,cpu:1 then, cpu:1,cpu:0 now", done.err)
        self.assertIn("Adam(lr=0.02", done.err)
        mine, whole = read_safetensors(self.path("w"))[0], read_safetensors(self.path("whole"))[0]
        for name, tensor in whole.items():
            for a, b in zip(mine[name].data, tensor.data):
                self.assertAlmostEqual(a, b, places=4)
        done = must(self.train("--steps", 12, "--seed", 5, "--checkpoint", self.path("d"), "--resume", "--lr", 0.5))
        self.assertIn("--lr is 0.5 from here on; it was 0.02", done.err)


unittest.main()
