"""Folders of pictures as data: training, resuming bit for bit with augmentation, and what is refused."""
import shutil
import struct
import unittest
import zlib

from program import ProgramTest, execute, must, sheaf
from training import TRAIN

MODEL = """{"sheaf": "1.0", "name": "colours", "inputs": {"x": {"shape": ["batch", 3, 8, 8]}},
"layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
  {"type": "Conv2d", "in_channels": 3, "out_channels": 4, "kernel_size": 3}, {"type": "ReLU"}, {"type": "Flatten"},
  {"type": "Linear", "in_features": 144, "out_features": 2}]}}],
"training": {"targets": {"label": {"shape": ["batch"], "dtype": "int64"}}, "loss": {"type": "CrossEntropyLoss"},
  "optimizer": {"type": "Adam", "lr": 0.01}, "metrics": ["accuracy"]}}"""


def png(width, height, colour):
    """The bytes of a picture in one colour, with stripes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + b"".join(bytes((c + 9 * (x * y % 7)) % 256 for c in colour) for x in range(width)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


class Images(ProgramTest):
    def setUp(self):
        super().setUp()
        self.plan = self.compile(MODEL)
        for name, colour in (("blue", (10, 20, 180)), ("red", (170, 30, 10))):
            (self.dir / "pictures" / name).mkdir(parents=True)
            for i in range(10):
                (self.dir / "pictures" / name / f"{i}.png").write_bytes(png(12 + i, 10 + i % 3, tuple(c + i for c in colour)))

    def train(self, *more, options=",random_resized_crop,flip,mean=0.5,std=0.25"):
        return execute([*TRAIN, self.plan, "--devices", "cpu:0,cpu:1", "--batch-size", 8, "--data", f"x=images:pictures{options}", "--data", "label=classes:pictures",
                        *more], cwd=self.dir)

    def test_learns_and_says_what_it_waited(self):
        done = must(self.train("--epochs", 12, "--drop-last", "--eval", "x=images:pictures,resize,mean=0.5,std=0.25", "--eval", "label=classes:pictures"))
        self.assertRegex(done.err, r"batch size +8, 2 steps an epoch, 4 rows dropped\n")
        self.assertRegex(done.out, r"\Acolours: eval accuracy 1.0000, .* after 12 epochs, .*% waiting for data, on cpu:0,cpu:1\n\Z")

    def test_a_resumed_run_sees_what_it_would_have_seen(self):
        must(self.train("--steps", 11, "--save", "whole.safetensors"))
        must(self.train("--steps", 4, "--checkpoint", "c"))
        must(self.train("--steps", 11, "--checkpoint", "c", "--resume", "--save", "parts.safetensors"))
        self.assertEqual((self.dir / "parts.safetensors").read_bytes(), (self.dir / "whole.safetensors").read_bytes())
        self.assert_refused(self.train("--steps", 12, "--checkpoint", "c", "--resume", "--drop-last"), "drops them")
        (self.dir / "pictures/red/new.png").write_bytes(png(9, 9, (1, 2, 3)))
        self.assert_refused(self.train("--steps", 12, "--checkpoint", "c", "--resume"), "number of rows is 20")

    def test_a_damaged_picture_is_named(self):
        whole = (self.dir / "pictures/blue/3.png").read_bytes()
        (self.dir / "pictures/blue/3.png").write_bytes(whole[:len(whole) // 2])
        done = self.train("--epochs", 1)
        self.assert_refused(done, "pictures/blue/3.png: error: damaged: ", "of training")

    def test_what_does_not_fit_is_refused(self):
        self.assert_refused(self.train("--epochs", 1, options=""), "pixels, the model takes 8 x 8", "resize")
        shutil.rmtree(self.dir / "pictures/red")
        (self.dir / "pictures/red").mkdir()
        self.assert_refused(self.train("--epochs", 1), "pictures/red", "no pictures")


if __name__ == "__main__":
    unittest.main()
