"""Runs sheaf's programs for a test: a limit on time, and no signal may end them.

The programs come from the environment, which CTest sets: SHEAF (compile, dump, …), SHEAF_RUN (what executes
plans, `sheaf run` unless a build has the runtime alone), SHEAF_SOURCE_DIR.
"""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("SHEAF_SOURCE_DIR", Path(__file__).resolve().parents[2]))
SHEAF = os.environ.get("SHEAF", str(SOURCE / "build/bin/sheaf"))
SHEAF_RUN = os.environ.get("SHEAF_RUN", SHEAF + " run").split()
MODELS = SOURCE / "models"
LIMIT_SECONDS = float(os.environ.get("SHEAF_LIMIT_SECONDS", 60))


class Done:
    """What a finished program left: exit status, stdout, stderr."""

    def __init__(self, command, status, out, err):
        self.command, self.status, self.out, self.err = command, status, out, err

    def __str__(self):
        return f"$ {' '.join(self.command)}\nexit {self.status}\n{self.out}{self.err}"


def execute(command, cwd=None, stdin=None, limit=LIMIT_SECONDS):
    command = [str(part) for part in command]
    done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, timeout=limit)
    result = Done(command, done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
    if result.status < 0 or result.status > 2:
        raise AssertionError(f"ended by a signal or an unknown status:\n{result}")
    return result


def sheaf(*arguments, **options):
    return execute([SHEAF, *arguments], **options)


def sheaf_run(*arguments, **options):
    return execute([*SHEAF_RUN, *arguments], **options)


def must(done):
    """`done`, which must have succeeded."""
    if done.status != 0:
        raise AssertionError(f"failed:\n{done}")
    return done


def cpu_has_bf16():
    """Whether a CPU device here runs plans that compute in bf16."""
    flags = Path("/proc/cpuinfo").read_text().split()
    return "avx512_bf16" in flags or "amx_bf16" in flags


class ProgramTest(unittest.TestCase):
    """A test case in a folder of its own, `self.dir`."""

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="sheaf-test-"))
        self.addCleanup(shutil.rmtree, self.dir, True)

    def write(self, name, content):
        path = self.dir / name
        path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
        return path

    def compile(self, model, name="model.plan"):
        """Compiles a model file (a path, or JSON text) and returns the plan's path."""
        if not isinstance(model, Path):
            model = self.write("model.json", model)
        plan = self.dir / name
        must(sheaf("compile", model, "-o", plan))
        return plan

    def assert_refused(self, done, *words, status=1, place=None):
        """Exit status `status`, and stderr has `place` ("file.json:3:5") and all `words`."""
        self.assertEqual(done.status, status, str(done))
        self.assertEqual(done.out, "", f"stdout of a refused command\n{done}")
        if place:
            self.assertIn(f"{place}: error: ", done.err, str(done))
        elif status == 1:
            self.assertRegex(done.err, r"error: ", str(done))
        for word in words:
            self.assertIn(word, done.err, str(done))
