"""The GPU suite's archive in an empty folder, without the build tree: every program starts there, and the suite's checks pass on virtual GPUs."""
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from program import cpu_has_bf16  # noqa: E402

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ["SHEAF_BUILD_DIR"])
CASES = ["layers/linear", "models/file_tutorial", "train/adam"]
# The build tree is hidden from all that runs, where this machine lets a process have its own view of files.
HIDDEN = ["unshare", "--mount", "--map-root-user", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(BUILD)]


class Packed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="sheaf-packed-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        subprocess.run([sys.executable, HERE / "pack.py", BUILD, cls.folder, "--virtual", "--cases", *CASES], check=True, stdout=subprocess.DEVNULL)
        cls.hidden = HIDDEN if subprocess.run([*HIDDEN, "true"], capture_output=True).returncode == 0 else []
        if not cls.hidden:
            print("the build tree stays in sight: this machine gives a process no view of its own")

    def run_hidden(self, *command):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SHEAF", "LD_"))}
        return subprocess.run([*self.hidden, *map(str, command)], env=environment, capture_output=True, text=True, cwd=self.folder)

    def test_the_suite(self):
        done = self.run_hidden(sys.executable, HERE / "suite.py", self.folder, "--jobs", 2, "--markdown")
        # Virtual GPUs compute in bf16 where the CPU does.
        failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
        self.assertEqual([line for line in failed if cpu_has_bf16() or not line.startswith("FAILED   bf16 ")], [], done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"\n\d+ passed, {len(failed)} failed\n$")
        for kind in ("conformance", "own kernels", "models", "layers", "train", "bf16"):
            self.assertIn(f"| {kind} | ", done.stdout)

    def test_shards_and_budget(self):
        names = []
        for shard in (1, 2, 3):
            done = self.run_hidden(sys.executable, HERE / "suite.py", self.folder, "--shard", f"{shard}/3", "--budget", -1)
            self.assertIn("0 passed, 0 failed, ", done.stdout)
            names += [line.split("(")[0] for line in done.stdout.splitlines() if line.startswith("left out ")]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len(names), 6)

    def test_no_library_is_missing(self):
        with tarfile.open(self.folder / "suite.tar.xz") as archive:
            archive.extractall(self.folder / "all")
        for program in (self.folder / "all/bin").iterdir():
            found = self.run_hidden("env", f"LD_LIBRARY_PATH={self.folder}/all/lib", "ldd", program).stdout
            self.assertNotIn("not found", found, program.name)
            self.assertNotIn(str(BUILD), found, program.name)
        self.assertEqual(json.loads((self.folder / "all/packed.json").read_text())["cases"], CASES)


unittest.main()
