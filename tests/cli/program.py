"""Runs sheaf's programs for a test: a limit on time, and no signal may end them.

The programs come from the environment, which CTest sets: SHEAF (compile, dump, …), SHEAF_RUN (what executes
plans, `sheaf run` unless a build has the runtime alone), SHEAF_SOURCE_DIR. SHEAF_MANY_RUNS names a program that does what
SHEAF_RUN does, all of it in one process (tests/gpu/many_runs.cpp). SHEAF_TESTS=short leaves the tests marked @long out,
SHEAF_TESTS=long the others.
"""
import atexit
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("SHEAF_SOURCE_DIR", Path(__file__).resolve().parents[2]))
SHEAF = os.environ.get("SHEAF", str(SOURCE / "build/bin/sheaf"))
SHEAF_RUN = os.environ.get("SHEAF_RUN", SHEAF + " run").split()
MODELS = SOURCE / "models"
PLANS = os.environ.get("SHEAF_PLANS")
TESTS = os.environ.get("SHEAF_TESTS")
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


class ManyRuns:
    """Runs in one process, until one of them takes too long or ends it: the next begins another."""

    def __init__(self, program):
        self.program, self.process = program, None
        self.folder = Path(tempfile.mkdtemp(prefix="sheaf-many-"))
        atexit.register(self.end)

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, True)

    def run(self, arguments):
        command = [self.program, *(str(part) for part in arguments)]
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        out, err = self.folder / "out", self.folder / "err"
        late = threading.Timer(LIMIT_SECONDS, self.process.kill)
        late.start()
        try:
            self.process.stdin.write((json.dumps({"arguments": command[1:], "out": str(out), "err": str(err)}) + "\n").encode())
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        late.cancel()
        said = [file.read_text(errors="replace") if file.exists() else "" for file in (out, err)]
        result = Done(command, int(answer) if answer else -1, *said)
        if not answer or result.status > 2:
            raise AssertionError(f"ended by a signal, after {LIMIT_SECONDS} s or with an unknown status:\n{result}")
        return result


MANY_RUNS = ManyRuns(os.environ["SHEAF_MANY_RUNS"]) if "SHEAF_MANY_RUNS" in os.environ else None


def sheaf_run(*arguments, **options):
    return MANY_RUNS.run(arguments) if MANY_RUNS and not options else execute([*SHEAF_RUN, *arguments], **options)


def must(done):
    """`done`, which must have succeeded."""
    if done.status != 0:
        raise AssertionError(f"failed:\n{done}")
    return done


def plan_of(model, plan, *options):
    """Compiles `model` to the file `plan`, for a test that is about how plans run. Such tests share their plans, also with those of a
    sanitizer's build, which runs what the default build compiled: SHEAF_PLANS names the folder. A plan that is there already may
    name another test's model file, of the same content."""
    compile_to = lambda file: must(sheaf("compile", model, "-o", file, *options))
    if not PLANS:
        compile_to(plan)
        return plan
    program = os.stat(SHEAF)
    folder = Path(PLANS) / f"{program.st_size}-{program.st_mtime_ns}"
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for older in set(Path(PLANS).iterdir()) - {folder}:  # compilers
            shutil.rmtree(older, ignore_errors=True)
    kept = folder / hashlib.sha256(repr(options).encode() + Path(model).read_bytes()).hexdigest()
    if not kept.exists():
        mine = kept.with_suffix(f".{os.getpid()}")
        compile_to(mine)
        mine.rename(kept)
    shutil.copyfile(kept, plan)
    return plan


def cpu_has_bf16():
    """Whether a CPU device here runs plans that compute in bf16."""
    flags = Path("/proc/cpuinfo").read_text().split()
    return "avx512_bf16" in flags or "amx_bf16" in flags


def long(method):
    """Marks a test that looks at every case of what others look at a few of (tests/CMakeLists.txt: sheaf_long)."""
    method.long = True
    return method


class ProgramTest(unittest.TestCase):
    """A test case in a folder of its own, `self.dir`."""
    compiled = {}  # plans of this process by the model's name and content

    def setUp(self):
        is_long = getattr(getattr(self, self._testMethodName), "long", False)
        if TESTS and TESTS != ("long" if is_long else "short"):
            self.skipTest("SHEAF_TESTS")
        self.dir = Path(tempfile.mkdtemp(prefix="sheaf-test-"))
        self.addCleanup(shutil.rmtree, self.dir, True)

    def write(self, name, content):
        path = self.dir / name
        path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
        return path

    def compile(self, model, name="model.plan"):
        """Compiles a model file (a path, or JSON text), once in all tests of a process; returns the plan's path."""
        if not isinstance(model, Path):
            model = self.write("model.json", model)
        plan = self.dir / name
        key = model.name, model.read_bytes()
        if key in self.compiled:
            plan.write_bytes(self.compiled[key])
        else:
            must(sheaf("compile", model, "-o", plan))
            self.compiled[key] = plan.read_bytes()
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
