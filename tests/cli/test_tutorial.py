"""The data-parallelism tutorial prints what PyTorch prints on 1, 2, 3 and 8 devices (100 rows in batches of 30)."""
import unittest

from program import MODELS, ProgramTest, must, sheaf_run

CHUNKS = {"cpu": ([30], [10]), "cpu:0": ([30], [10]), "cpu:0,cpu:1": ([15, 15], [5, 5]), "cpu:0-2": ([10, 10, 10], [4, 4, 2]),
          "cpu:0-7": ([4] * 7 + [2], [2] * 5), "cpu:0,cpu:0": ([15, 15], [5, 5])}


class Trace(ProgramTest):
    def test_trace(self):
        plan = self.compile(MODELS / "tutorial.json")
        for devices, (whole, last) in CHUNKS.items():
            with self.subTest(devices=devices):
                done = must(sheaf_run(plan, "--devices", devices, "--input", "x=random:100", "--batch-size", "30"))
                lines = done.out.splitlines()
                for rows in (30, 30, 30, 10):
                    chunks = whole if rows == 30 else last
                    inside = [f"\tIn Model: input size torch.Size([{n}, 5]) output size torch.Size([{n}, 2])" for n in chunks]
                    outside = f"Outside: input size torch.Size([{rows}, 5]) output_size torch.Size([{rows}, 2])"
                    self.assertEqual(sorted(lines[:len(inside)]), sorted(inside), done.out)
                    self.assertEqual(lines[len(inside)], outside, done.out)
                    del lines[:len(inside) + 1]
                self.assertEqual(lines, [], done.out)
                self.assertEqual(done.err, "")


unittest.main()
