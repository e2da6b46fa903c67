"""Files and descriptors that a surrounding gives: outputs that are inputs, empty names, links, pipes, closed descriptors, signals and
limits while a file is written. What is there stays as it was, nothing is left behind, and the exit status says what happened."""
import concurrent.futures
import json
import os
import resource
import signal
import subprocess
import threading
import time
import unittest

from program import LIMIT_SECONDS, MODELS, SHEAF, SHEAF_RUN, ProgramTest, execute, must, sheaf, sheaf_run
from tensors import read_safetensors

MODEL = MODELS / "data_parallel_model.json"
TRAIN = [SHEAF_RUN[0], "train"]


class HostileTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.model = self.write("m.json", MODEL.read_text())
        self.plan = self.dir / "p"
        must(sheaf("compile", "m.json", "-o", "p", cwd=self.dir))

    def content(self):
        return {path.name: path.read_bytes() for path in self.dir.iterdir() if path.is_file()}

    def run_command(self, *more, rows=4):
        return [*SHEAF_RUN, "p", "--devices", "cpu:0", "--input", f"x=random:{rows}", *more]

    def train_command(self, *more, epochs=1):
        return [*TRAIN, "p", "--devices", "cpu:0", "--data", "x=random:8", "--data", "y=random:8", "--batch-size", 4, "--epochs", epochs, *more]

    def in_folder(self, command):
        return execute(command, cwd=self.dir)


class OutputsThatAreInputs(HostileTest):
    def assert_kept(self, *commands, words=()):
        for command in commands:
            with self.subTest(command=command):
                before = self.content()
                self.assert_refused(self.in_folder(command), *words, status=2)
                self.assertEqual(self.content(), before)

    def test_are_refused(self):
        must(self.in_folder(self.train_command("--save", "w")))
        (self.dir / "x.idx").write_bytes(b"\0\0\x08\x01\0\0\0\1\7")
        (self.dir / "old.json").write_text("{}")
        self.assert_kept([SHEAF, "compile", "m.json", "-o", "m.json"],
                         [SHEAF, "dump", "p", "-o", "p"],
                         [SHEAF, "dump", "m.json", "--diff", "p", "-o", "p"],
                         self.run_command("--output", "p"), self.run_command("--trace", "p"),
                         self.run_command("--weights", "w", "--output", "w"),
                         [*SHEAF_RUN, "p", "--devices", "cpu:0", "--input", "x=x.idx", "--output", "x.idx"],
                         self.train_command("--plot", "p"), self.train_command("--trace", "p"), self.train_command("--weights", "w", "--save", "w"),
                         self.train_command("--eval", "x=x.idx", "--metrics", "x.idx"),
                         [SHEAF, "bench", "p", "--devices", "cpu:0", "--batch", 2, "--compare", "old.json", "-o", "old.json"],
                         words=("reads",))

    def test_by_any_name(self):
        (self.dir / "link").symlink_to("p")
        (self.dir / "hard").hardlink_to(self.dir / "p")
        (self.dir / "folder").mkdir()
        for name in ("link", "hard", "./p", "folder/../p", self.dir / "p", f"/proc/self/cwd/p"):
            self.assert_kept([SHEAF, "dump", "p", "-o", name], words=("reads as 'p'", str(name)))

    def test_no_two_outputs_in_one_file(self):
        (self.dir / "folder").mkdir()
        (self.dir / "link").symlink_to("new")  # to what isn't there yet
        for other in ("new", "./new", "folder/../new", "link"):
            self.assert_kept(self.train_command("--save", "new", "--metrics", other), words=("--save", "--metrics", "writes too"))
        self.assert_kept(self.train_command("--save", "new", "--checkpoint", "new"), words=("writes too",))
        must(self.in_folder(self.train_command("--save", "/dev/null", "--plot", "/dev/null")))


class EmptyNames(HostileTest):
    def test_are_refused(self):
        before = self.content()
        for option in ("--save", "--checkpoint", "--metrics", "--plot", "--weights", "--trace"):
            with self.subTest(option):
                self.assert_refused(self.in_folder(self.train_command(option, "")), option, "empty", status=2)
                self.assert_refused(self.in_folder(self.train_command(option + "=")), option, "empty", status=2)
        for command in (self.run_command("--output", ""), self.run_command("--weights", ""), [SHEAF, "compile", "m.json", "-o", ""],
                        [SHEAF, "compile", "", "-o", "q"], [SHEAF, "dump", ""], [SHEAF, "dump", "p", "-o", ""], [SHEAF, "verify", "", "--devices", "cpu:0"],
                        [SHEAF, "bench", "p", "--devices", "cpu:0", "--batch", 1, "-o", ""]):
            with self.subTest(command=command):
                self.assert_refused(self.in_folder(command), "empty", status=2)
        self.assertEqual(self.content(), before)


class ClosedDescriptors(HostileTest):
    def test_no_file_takes_their_numbers(self):
        def close_all():
            for number in (0, 1, 2):
                os.close(number)
        command = [str(part) for part in self.train_command("--metrics", "m.jsonl", "--save", "w", "--checkpoint", "c", epochs=3)]
        done = subprocess.run(command, cwd=self.dir, preexec_fn=close_all, timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len([json.loads(line) for line in (self.dir / "m.jsonl").read_text().splitlines()]), 9)
        read_safetensors(self.dir / "w")


class Links(HostileTest):
    def test_a_dangling_link_is_written_through(self):
        (self.dir / "folder").mkdir()
        (self.dir / "link").symlink_to("folder/new")
        must(self.in_folder([SHEAF, "compile", "m.json", "-o", "link"]))
        self.assertTrue((self.dir / "link").is_symlink())
        self.assertEqual((self.dir / "folder/new").read_bytes(), self.plan.read_bytes())

    def test_a_ring_is_refused_and_kept(self):
        (self.dir / "a").symlink_to("b")
        (self.dir / "b").symlink_to("a")
        self.assert_refused(self.in_folder([SHEAF, "compile", "m.json", "-o", "a"]), "a: error: can't be written")
        self.assert_refused(self.in_folder(self.train_command("--save", "a")), "a: error: can't be written")
        self.assertTrue((self.dir / "a").is_symlink() and (self.dir / "b").is_symlink())


class Pipes(HostileTest):
    """A named pipe's other end is waited for, but not for ever."""

    def setUp(self):
        super().setUp()
        os.mkfifo(self.dir / "pipe")

    def test_without_another_end(self):
        os.mkfifo(self.dir / "nobody_writes")  # of its own: all three wait at once
        cases = [
            ([SHEAF, "compile", "m.json", "-o", "pipe"], "nobody reads from this pipe"),
            ([SHEAF, "compile", "nobody_writes", "-o", "new"], "nobody writes to this pipe"),
            (self.train_command("--metrics", "pipe"), "nobody reads from this pipe"),
        ]
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as threads:
            for done, (_, reason) in zip(threads.map(self.in_folder, [command for command, _ in cases]), cases):
                self.assert_refused(done, reason)
        self.assertFalse((self.dir / "new").exists())

    def test_with_one(self):
        taken = []
        reader = threading.Thread(target=lambda: taken.append((self.dir / "pipe").read_bytes()))
        reader.start()
        must(self.in_folder([SHEAF, "compile", "m.json", "-o", "pipe"]))
        reader.join()
        self.assertEqual(taken[0], self.plan.read_bytes())
        writer = threading.Thread(target=lambda: (time.sleep(0.3), (self.dir / "pipe").write_text(MODEL.read_text())))
        writer.start()
        must(self.in_folder([SHEAF, "compile", "pipe", "-o", "new"]))
        writer.join()
        self.assertTrue((self.dir / "new").exists())


class Interruptions(HostileTest):
    ROWS = 200_000  # some megabytes of outputs

    def test_signals_while_a_file_is_written(self):
        command = [str(part) for part in self.run_command("--output", "o.st", rows=self.ROWS)]
        started = time.monotonic()
        must(self.in_folder(command))
        whole_time, whole = time.monotonic() - started, (self.dir / "o.st").read_bytes()
        before = {**self.content(), "o.st": b"old"}
        signals = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGPIPE, signal.SIGALRM, signal.SIGKILL, signal.SIGQUIT]
        for i, number in enumerate(signals * 2):
            (self.dir / "o.st").write_bytes(b"old")
            running = subprocess.Popen(command, cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, restore_signals=True)
            time.sleep(whole_time * (0.3 + 0.7 * i / (2 * len(signals))))
            running.send_signal(number)
            running.wait(LIMIT_SECONDS)
            now = self.content()
            self.assertIn(now["o.st"], (b"old", whole))
            self.assertEqual({**now, "o.st": b"old"}, before, f"left behind by {number.name}")

    def test_a_limit_on_file_sizes_is_an_error(self):
        def limit(size):
            return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        before = self.content()
        for size in (0, 100, 4096, 100_000):
            for command in ([SHEAF, "compile", "m.json", "-o", "q"], self.run_command("--output", "q", rows=self.ROWS),
                            self.train_command("--metrics", "q", epochs=3000), self.train_command("--save", "q", "--checkpoint", "c")):
                with self.subTest(size=size, command=command):
                    done = subprocess.run([str(part) for part in command], cwd=self.dir, preexec_fn=limit(size), capture_output=True, timeout=LIMIT_SECONDS)
                    if done.returncode == 0:  # the limit is larger than what it writes
                        (self.dir / "q").unlink()
                        continue
                    self.assertEqual(done.returncode, 1, f"{command} {done.stderr}")
                    self.assertIn(b"error: ", done.stderr)
                    left = self.content()
                    log = left.pop("q", b"")  # of --metrics: whole lines
                    for line in log.splitlines():
                        json.loads(line)
                    (self.dir / "q").unlink(missing_ok=True)
                    self.assertEqual(left, before)



class WithoutProc(HostileTest):
    def test_is_told_with_how_to_mount_it(self):
        def hidden(command):
            return self.in_folder(["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh", *command])

        if subprocess.run(["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/proc"], capture_output=True).returncode != 0:
            self.skipTest("no namespaces of one's own here")
        before = self.content()
        for command in ([SHEAF, "compile", "m.json", "-o", "q"], self.run_command()):
            done = hidden(command)
            self.assertEqual(done.status, 1, done.err)
            self.assertIn("note: mount -t proc proc /proc", done.err)
        self.assertEqual(self.content(), before)


unittest.main()
