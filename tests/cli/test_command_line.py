"""The command line's own errors, its exit statuses, and where output goes."""
import os
import shutil
import subprocess
import unittest
from pathlib import Path

from program import MODELS, SHEAF, SHEAF_RUN, ProgramTest, execute, must, sheaf, sheaf_run

TUTORIAL = MODELS / "tutorial.json"


class UsageErrors(ProgramTest):
    """Exit status 2, a word on stderr, nothing on stdout, no file."""

    def assert_usage_error(self, done, *words):
        self.assert_refused(done, *words, status=2)
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), self.before, str(done))

    def setUp(self):
        super().setUp()
        self.plan = self.compile(TUTORIAL)
        self.before = sorted(p.name for p in self.dir.iterdir())

    def test_no_verb(self):
        done = execute([SHEAF], cwd=self.dir)
        self.assertEqual(done.status, 2, str(done))
        self.assertIn("compile", done.err)

    def test_unknown_verb_suggests_the_nearest(self):
        self.assert_usage_error(sheaf("compil", TUTORIAL, cwd=self.dir), "compil", "compile")

    def test_unknown_option(self):
        for verb in (("compile", TUTORIAL), ("run", self.plan), ("dump", self.plan), ("devices",)):
            self.assert_usage_error(sheaf(*verb, "--frobnicate", cwd=self.dir), "--frobnicate")

    def test_option_without_its_value(self):
        self.assert_usage_error(sheaf("compile", TUTORIAL, "-o", cwd=self.dir), "-o")
        self.assert_usage_error(sheaf("run", self.plan, "--devices", cwd=self.dir), "--devices")

    def test_compile_needs_model_and_output(self):
        self.assert_usage_error(sheaf("compile", "-o", "x.plan", cwd=self.dir))
        self.assert_usage_error(sheaf("compile", TUTORIAL, cwd=self.dir), "-o")
        self.assert_usage_error(sheaf("compile", TUTORIAL, TUTORIAL, "-o", "x.plan", cwd=self.dir))

    def test_unknown_precision_and_format(self):
        self.assert_usage_error(sheaf("compile", TUTORIAL, "-o", "x.plan", "--precision", "f8", cwd=self.dir), "f8", "f32")
        self.assert_usage_error(sheaf("dump", self.plan, "--format", "pdf", cwd=self.dir), "pdf", "svg")

    def test_batch_sizes(self):
        for size in ("0", "-1", "1.5", "many", "", "99999999999999999999"):
            self.assert_usage_error(
                sheaf_run(self.plan, "--devices", "cpu:0", "--input", "x=random:4", "--batch-size", size, cwd=self.dir), "batch")

    def test_both_spellings_of_the_batch(self):
        two = ("--devices", "cpu:0,cpu:1")
        for spelling in ("--batch", "--batch-size"):
            for verb in (("dump",), ("estimate",), ("explain",), ("verify",), ("bench", "--steps", "1"), ("run", "--input", "x=random:4")):
                with self.subTest(verb=verb[0], spelling=spelling):
                    must(sheaf(verb[0], self.plan, *verb[1:], *two, spelling, 4, cwd=self.dir))

    def test_extensions_of_other_formats(self):
        base = (self.plan, "--devices", "cpu:0")
        self.assert_usage_error(sheaf_run(*base, "--input", "x=random:4", "--output", "o.npy", cwd=self.dir), "o.npy", ".safetensors")
        self.assert_usage_error(sheaf_run(*base, "--input", "x=random:4", "--trace", "t.html", cwd=self.dir), "t.html", ".json")
        self.assert_usage_error(sheaf("train", *base, "--batch", 2, "--steps", 1, "--plot", "p.png", cwd=self.dir), "p.png", ".svg")
        self.assert_usage_error(sheaf("train", *base, "--batch", 2, "--steps", 1, "--save", "w.pt", cwd=self.dir), "w.pt", ".safetensors")
        self.assert_usage_error(sheaf("dump", self.plan, "--format", "svg", "-o", "p.html", cwd=self.dir), "p.html", ".svg")

    def test_device_lists(self):
        for devices in ("gpu:0", "tpu", "cpu:", "cpu:x", "cpu:-1", "cpu:3-1", "cpu:0,", ",cpu:0", "cpu:0 cpu:1", "cpu:0-999999999",
                        "cuda:x", "cpu:99999999999999999999"):
            done = sheaf_run(self.plan, "--devices", devices, "--input", "x=random:4", cwd=self.dir)
            self.assert_usage_error(done)

    def test_sources(self):
        for source in ("x=random:", "x=random:-1", "x=random:1.5", "x=random:many", "random:4", "=random:4", "x="):
            self.assert_usage_error(sheaf_run(self.plan, "--devices", "cpu:0", "--input", source, cwd=self.dir), "--input")

    def test_other_values(self):
        base = (self.plan, "--devices", "cpu:0", "--input", "x=random:4")
        self.assert_usage_error(sheaf_run(*base, "--numerics", "sloppy", cwd=self.dir), "sloppy", "strict")
        self.assert_usage_error(sheaf_run(*base, "--seed", "x", cwd=self.dir), "--seed")

    def test_run_needs_devices(self):
        self.assert_usage_error(sheaf_run(self.plan, "--input", "x=random:4", cwd=self.dir), "--devices")


class FaultsOfTheRun(ProgramTest):
    """Exit status 1 and a message, nothing written."""

    def setUp(self):
        super().setUp()
        self.plan = self.compile(TUTORIAL)
        self.before = sorted(p.name for p in self.dir.iterdir())

    def refused(self, done, *words):
        self.assert_refused(done, *words)
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), self.before, str(done))

    def test_absent_files(self):
        self.refused(sheaf("compile", "absent.json", "-o", "x.plan", cwd=self.dir), "absent.json")
        self.refused(sheaf_run("absent.plan", "--devices", "cpu:0", "--input", "x=random:4", cwd=self.dir), "absent.plan")
        self.refused(sheaf("dump", "absent.plan", "--format", "text", cwd=self.dir), "absent.plan")
        base = (self.plan, "--devices", "cpu:0")
        self.refused(sheaf_run(*base, "--input", "x=absent.npy", cwd=self.dir), "absent.npy")
        self.refused(sheaf_run(*base, "--input", "x=random:4", "--weights", "absent.safetensors", cwd=self.dir), "absent.safetensors")

    def test_folders_where_files_are_expected(self):
        self.refused(sheaf("compile", ".", "-o", "x.plan", cwd=self.dir))
        self.refused(sheaf_run(".", "--devices", "cpu:0", "--input", "x=random:4", cwd=self.dir))
        self.refused(sheaf("compile", TUTORIAL, "-o", ".", cwd=self.dir))

    def test_outputs_that_cannot_be_written(self):
        self.refused(sheaf("compile", TUTORIAL, "-o", "absent/x.plan", cwd=self.dir), "absent/x.plan")
        self.refused(sheaf("dump", self.plan, "--format", "text", "-o", "absent/x.txt", cwd=self.dir), "absent/x.txt")
        done = sheaf_run(self.plan, "--devices", "cpu:0", "--input", "x=random:4", "--output", "absent/x.safetensors", cwd=self.dir)
        self.assertEqual(done.status, 1, str(done))
        self.assertIn("absent/x.safetensors", done.err)

    def test_a_full_device_is_noticed(self):
        here, batch = ["--devices", "cpu:0"], ["--batch", "3"]
        commands = [[*SHEAF_RUN, self.plan, *here, "--input", "x=random:4"], [*SHEAF_RUN, self.plan, *here, "--input", "x=random:4", "--profile"]]
        commands += [[SHEAF, *words] for words in (
            ["compile", TUTORIAL, "-o", "/dev/stdout"], ["dump", self.plan, "--format", "json"], ["dump", TUTORIAL, "--format", "mlir"],
            ["verify", self.plan, *here], ["explain", self.plan, "fc", *here, *batch], ["estimate", self.plan, *here, *batch],
            ["bench", self.plan, *here, *batch, "--steps", "2", "--json"], ["devices"], ["help", "run"], ["completion", "bash"], ["--version"])]
        with open("/dev/full", "w") as full:
            for command in commands:
                with self.subTest(command=command):
                    done = subprocess.run([str(word) for word in command], stdout=full, stderr=subprocess.PIPE, timeout=60)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertRegex(done.stderr.decode(), r"error: .*can(no|')t be written: No space left on device")
        self.assert_refused(sheaf("dump", self.plan, "--format", "json", "-o", "/dev/full", cwd=self.dir))

    def test_inputs_by_name(self):
        base = (self.plan, "--devices", "cpu:0")
        self.refused(sheaf_run(*base, "--input", "y=random:4", cwd=self.dir), "y", "x")
        done = sheaf_run(*base, cwd=self.dir)
        self.assertIn(done.status, (1, 2), str(done))
        self.assertIn("x", done.err)
        done = sheaf_run(*base, "--input", "x=random:4", "--input", "x=random:4", cwd=self.dir)
        self.assertIn(done.status, (1, 2), str(done))
        self.assertIn("x", done.err)


class Successes(ProgramTest):
    def test_help(self):
        done = must(sheaf("--help"))
        for verb in ("compile", "run", "dump", "devices"):
            self.assertIn(verb, done.out)
        self.assertEqual(done.err, "")

    def test_devices(self):
        self.assertIn("cpu", must(sheaf("devices")).out)

    def test_compile_is_silent_and_repeatable(self):
        done = must(sheaf("compile", TUTORIAL, "-o", "a.plan", cwd=self.dir))
        self.assertEqual((done.out, done.err), ("", ""))
        must(sheaf("compile", TUTORIAL, "-o", "b.plan", cwd=self.dir))
        self.assertEqual((self.dir / "a.plan").read_bytes(), (self.dir / "b.plan").read_bytes())
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["a.plan", "b.plan"])

    def test_compile_replaces_a_plan(self):
        self.write("x.plan", "old")
        must(sheaf("compile", TUTORIAL, "-o", "x.plan", cwd=self.dir))
        must(sheaf_run("x.plan", "--devices", "cpu:0", "--input", "x=random:4", cwd=self.dir))

    def test_equal_seeds_equal_bits(self):
        plan = self.compile(TUTORIAL)
        for name, seed in (("a", 7), ("b", 7), ("c", 8)):
            must(sheaf_run(plan, "--devices", "cpu:0", "--input", "x=random:4", "--seed", seed, "--output", f"{name}.st", cwd=self.dir))
        a, b, c = ((self.dir / f"{n}.st").read_bytes() for n in "abc")
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)


class TwoPrograms(ProgramTest):
    """Of `sheaf` and the compiler's program, which it becomes for some verbs: however the one is started, it finds the other."""

    def compile_by(self, *command):
        self.assertEqual(must(execute([*command, "compile", TUTORIAL, "-o", "made.plan"], cwd=self.dir)).err, "")
        (self.dir / "made.plan").unlink()

    def test_by_a_link_a_relative_path_and_a_name(self):
        link = self.dir / "elsewhere"
        link.symlink_to(SHEAF)
        self.compile_by(link)
        self.compile_by(os.path.relpath(SHEAF, self.dir))
        self.compile_by("env", f"PATH={Path(SHEAF).parent}:{os.environ['PATH']}", "sheaf")

    def test_without_the_compiler(self):
        alone = self.dir / "sheaf"
        shutil.copy(SHEAF, alone)
        must(execute([alone, "run", self.compile(TUTORIAL), "--devices", "cpu:0", "--input", "x=random:4"]))
        self.assert_refused(execute([alone, "compile", TUTORIAL, "-o", "made.plan"], cwd=self.dir), "needs the compiler", f"{self.dir / 'sheaf-compiler'}")


unittest.main()
