"""What a device list does: chunks, repeated devices, indices beyond the list, host-only mode."""
import json
import unittest

from program import MODELS, ProgramTest, must, sheaf, sheaf_run
from tensors import read_safetensors

# semantics: torch.chunk's sizes for B rows on N devices.
CHUNKS = {(30, 3): [10, 10, 10], (10, 3): [4, 4, 2], (30, 8): [4] * 7 + [2], (10, 8): [2] * 5, (9, 4): [3, 3, 3], (5, 4): [2, 2, 1], (2, 4): [1, 1],
          (17, 8): [3] * 5 + [2], (33, 8): [5] * 6 + [3], (0, 4): [0], (1, 1): [1]}


def two_line_model(layer):
    return '{"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 4]}}, "layers": [\n' + layer + "]}"


class Chunks(ProgramTest):
    def test_table(self):
        plan = self.compile(MODELS / "tutorial.json")
        for (batch, devices), chunks in CHUNKS.items():
            with self.subTest(batch=batch, devices=devices):
                names = ",".join(f"cpu:{i}" for i in range(devices))
                if batch:  # dump takes a batch size, which 0 is not
                    graph = json.loads(must(sheaf("dump", plan, "--format", "json", "--devices", names, "--batch", batch)).out)
                    for op in ("scatter", "gather"):
                        self.assertEqual([n["chunks"] for n in graph["nodes"] if n["op"] == op], [chunks], op)
                    used = {n["device"] for n in graph["nodes"] if n["op"] == "linear"}
                    self.assertEqual(used, {f"cpu:{i}" for i in range(len(chunks))})
                done = must(sheaf_run(plan, "--devices", names, "--input", f"x=random:{batch}"))
                inside = [line for line in done.out.splitlines() if line.startswith("\tIn Model")]
                self.assertEqual(len(inside), len(chunks), done.out)


class Lists(ProgramTest):
    def outputs(self, plan, devices, rows=11):
        out = self.dir / "out.safetensors"
        must(sheaf_run(plan, "--devices", devices, "--input", f"x=random:{rows}", "--output", out))
        return read_safetensors(out)[0]

    def test_equal_chunks_give_equal_bits(self):
        plan = self.compile(MODELS / "data_parallel_model.json")
        for one, other in (("cpu:0,cpu:1", "cpu:0,cpu:0"), ("cpu:0,cpu:1", "cpu:3,cpu:1"), ("cpu:0-2", "cpu:1,cpu:1,cpu:0")):
            self.assertEqual(self.outputs(plan, one), self.outputs(plan, other), f"{one} and {other}")

    def test_an_index_beyond_the_list_names_the_models_line(self):
        for layer in ('{"name": "a", "type": "ReLU", "device": "cuda:2"}',
                      '{"name": "a", "type": "DataParallel", "module": {"type": "ReLU"}, "device_ids": [0, 2]}',
                      '{"name": "a", "type": "DataParallel", "module": {"type": "ReLU"}, "output_device": 2}'):
            with self.subTest(layer=layer):
                plan = self.compile(two_line_model(layer))
                done = sheaf_run(plan, "--devices", "cpu:0,cpu:1", "--input", "x=random:4")
                self.assert_refused(done, "2")
                self.assertRegex(done.err, r"model\.json:2:[0-9]+: error: ", str(done))
                done = sheaf("dump", plan, "--format", "json", "--devices", "cpu:0,cpu:1", "--batch", "4")
                self.assertRegex(done.err, r"model\.json:2:[0-9]+: error: ", str(done))
                # Host-only mode and a list that is long enough both do.
                for devices in ("cpu", "cpu:0-2"):
                    self.outputs(plan, devices)

    def test_scalars_become_a_vector_with_a_warning(self):
        plan = self.compile('{"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 4]}}, "layers": ['
                            '{"name": "y", "type": "DataParallel", "module": {"type": "Mean", "dim": [0, 1]}}]}')
        done = must(sheaf_run(plan, "--devices", "cpu:0-2", "--input", "x=random:9", "--output", self.dir / "out.safetensors"))
        self.assertIn("Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and return a vector.", done.err)
        self.assertEqual(read_safetensors(self.dir / "out.safetensors")[0]["y"].shape, (3,))

    def test_cuda_without_cuda(self):
        plan = self.compile(MODELS / "data_parallel_model.json")
        done = sheaf_run(plan, "--devices", "cuda:512", "--input", "x=random:4")
        self.assert_refused(done, "cuda")


unittest.main()
