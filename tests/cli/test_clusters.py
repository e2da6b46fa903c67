"""What examples/cluster starts runs with: the manifest is one that the MPI operator takes, and its command and Slurm's are runs of four processes."""
import json
import shlex
import unittest

import jsonschema
import yaml
from program import MODELS, SHEAF, SOURCE, ProgramTest, must, sheaf
from tensors import drawn, write_idx
from worlds import MISSING, World

FOLDER = SOURCE / "examples/cluster"
SCHEMA = json.loads((SOURCE / "tests/cli/mpijob.schema.json").read_text())


def manifest():
    return yaml.safe_load((FOLDER / "mpijob.yaml").read_text())


def from_manifest():
    launcher = manifest()["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    words = launcher["command"] + launcher["args"]
    return words[words.index("sheaf") + 1:]


def from_script():
    text = (FOLDER / "train.sbatch").read_text().replace("\\\n", " ")
    words = next(shlex.split(line) for line in text.splitlines() if line.startswith("srun"))
    return words[words.index("sheaf") + 1:]


class Manifest(ProgramTest):
    def test_is_the_operators(self):
        jsonschema.validate(manifest(), SCHEMA)

    def test_a_misspelt_one_is_not(self):
        wrong = manifest()
        wrong["spec"]["slotsPerWorkers"] = wrong["spec"].pop("slotsPerWorker")
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


@unittest.skipIf(MISSING, MISSING)
class Commands(ProgramTest):
    def test_both_start_the_same_run(self):
        self.assertEqual(from_manifest(), from_script())

    def test_it_trains(self):
        must(sheaf("compile", MODELS / "digits_cnn.json", "-o", self.dir / "digits_cnn.plan", "--strategy", "replicated"))
        write_idx(self.dir / "images.idx", drawn("images", (128, 8, 8), 0, 256, "U8"))
        write_idx(self.dir / "labels.idx", drawn("labels", (128,), 0, 10, "U8"))
        words = from_manifest()
        words[words.index("--epochs") + 1] = "1"
        done = World([[SHEAF, *words]] * 4, cwd=self.dir).end()
        self.assertEqual(done.status, 0, done)
        self.assertTrue((self.dir / "digits.trained.safetensors").exists())
        self.assertTrue(any((self.dir / "checkpoints").iterdir()))


if __name__ == "__main__":
    unittest.main()
