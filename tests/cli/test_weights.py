"""Weights: PyTorch's names with and without `module.`, and files that don't fit or are damaged."""
import json
import struct
import unittest

from program import ProgramTest, must, sheaf_run
from tensors import drawn, read_safetensors, write_safetensors

# y = relu(x W0' + b0) W1' + b1, data-parallel: the names in PyTorch are net.module.0.weight …
MODEL = """{"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 3]}}, "layers": [
{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
  {"type": "Linear", "in_features": 3, "out_features": 4}, {"type": "ReLU"}, {"type": "Linear", "in_features": 4, "out_features": 2}]}}]}"""
SHAPES = {"net.module.0.weight": (4, 3), "net.module.0.bias": (4,), "net.module.2.weight": (2, 4), "net.module.2.bias": (2,)}


class Weights(ProgramTest):
    def setUp(self):
        super().setUp()
        self.plan = self.compile(MODEL)
        self.weights = {name: drawn(name, shape) for name, shape in SHAPES.items()}
        write_safetensors(self.dir / "x.safetensors", {"x": drawn("x", (5, 3))})

    def execute(self, devices="cpu:0,cpu:1"):
        (self.dir / "out.safetensors").unlink(missing_ok=True)
        return sheaf_run(self.plan, "--devices", devices, "--weights", "w.safetensors", "--input", "x=x.safetensors:x",
                         "--output", "out.safetensors", cwd=self.dir)

    def outputs(self, weights):
        write_safetensors(self.dir / "w.safetensors", weights)
        must(self.execute())
        return read_safetensors(self.dir / "out.safetensors")[0]["net"]

    def refuse(self, content, *words):
        if isinstance(content, dict):
            write_safetensors(self.dir / "w.safetensors", content)
        else:
            self.write("w.safetensors", content)
        done = self.execute()
        self.assert_refused(done, "w.safetensors", *words)
        self.assertFalse((self.dir / "out.safetensors").exists(), str(done))
        return done

    def test_with_and_without_module(self):
        whole = self.outputs(self.weights)
        expected = []
        x, w = drawn("x", (5, 3)), self.weights
        for row in range(5):
            hidden = [max(0.0, w["net.module.0.bias"].data[j] + sum(x.data[row * 3 + i] * w["net.module.0.weight"].data[j * 3 + i] for i in range(3)))
                      for j in range(4)]
            expected += [w["net.module.2.bias"].data[k] + sum(hidden[j] * w["net.module.2.weight"].data[k * 4 + j] for j in range(4)) for k in range(2)]
        for actual, wanted in zip(whole.data, expected):
            self.assertAlmostEqual(actual, wanted, places=5)
        self.assertEqual(whole, self.outputs({name.replace("module.", ""): t for name, t in self.weights.items()}))
        # As DataParallel(whole model).state_dict() has them.
        self.assertEqual(whole, self.outputs({"module." + name.replace("module.", ""): t for name, t in self.weights.items()}))

    def test_order_in_the_file_does_not_matter(self):
        self.assertEqual(self.outputs(self.weights), self.outputs(dict(reversed(self.weights.items()))))

    def test_every_mismatch_is_listed_in_one_error(self):
        wrong = dict(self.weights)
        del wrong["net.module.0.bias"]
        wrong["net.module.2.weight"] = drawn("w", (2, 5))
        wrong["extra.weight"] = drawn("e", (1,))
        wrong["net.module.2.bias"] = drawn("b", (2,), 0, 5, "I64")
        self.refuse(wrong, "net.module.0.bias", "net.module.2.weight", "[2, 4]", "[2, 5]", "extra.weight", "net.module.2.bias", "float32", "int64")

    def test_one_parameter_twice(self):
        self.refuse({**self.weights, "net.0.bias": drawn("again", (4,))}, "net.0.bias")

    def test_empty(self):
        self.refuse({}, *SHAPES)
        self.refuse(b"")

    def test_headers(self):
        def file(header, data=b"", size=None):
            text = header if isinstance(header, bytes) else json.dumps(header).encode()
            return struct.pack("<Q", len(text) if size is None else size) + text + data

        def entry(**change):
            return {"net.module.0.bias": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16], **change}}
        for what, content in {
            "length beyond the file": file(entry(), b"\0" * 16, size=1 << 20),
            "length of 2^63": file(entry(), b"\0" * 16, size=1 << 63),
            "length of 2^64 - 1": file(entry(), b"\0" * 16, size=(1 << 64) - 1),
            "only a length": struct.pack("<Q", 0),
            "half a length": b"\x08\0\0",
            "no JSON": file(b"\x00\x01\x02"),
            "an array": file(b"[]"),
            "truncated JSON": file(b'{"a": {"dtype": "F32"'),
            "deeply nested JSON": file(b"[" * 300_000),
            "a name twice": file(b'{"a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}, "a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}}'),
            "offsets beyond the file": file(entry(data_offsets=[0, 16])),
            "offsets that fold": file(entry(data_offsets=[16, 0]), b"\0" * 16),
            "negative offsets": file(entry(data_offsets=[-16, 0]), b"\0" * 16),
            "offsets of 2^63": file(entry(data_offsets=[1 << 63, (1 << 63) + 16]), b"\0" * 16),
            "one offset": file(entry(data_offsets=[16]), b"\0" * 16),
            "offsets as text": file(entry(data_offsets=["0", "16"]), b"\0" * 16),
            "a size unlike the shape": file(entry(shape=[5]), b"\0" * 16),
            "a negative size": file(entry(shape=[-4]), b"\0" * 16),
            "sizes whose product overflows": file(entry(shape=[1 << 33, 1 << 33, 1 << 2]), b"\0" * 16),
            "a size of 1e300": file(entry(shape=[1e300]), b"\0" * 16),
            "an unknown dtype": file(entry(dtype="F31"), b"\0" * 16),
            "no dtype": file({"net.module.0.bias": {"shape": [4], "data_offsets": [0, 16]}}, b"\0" * 16),
            "overlapping tensors": file({**entry(), "b": {"dtype": "F32", "shape": [4], "data_offsets": [8, 24]}}, b"\0" * 24),
            "a hole": file({**entry(), "b": {"dtype": "F32", "shape": [4], "data_offsets": [24, 40]}}, b"\0" * 40),
            "bytes that no tensor owns": file(entry(), b"\0" * 64),
        }.items():
            with self.subTest(what):
                self.refuse(content)

    def test_truncated_anywhere(self):
        write_safetensors(self.dir / "w.safetensors", self.weights)
        blob = (self.dir / "w.safetensors").read_bytes()
        for length in range(0, len(blob), 37):
            with self.subTest(length=length):
                self.refuse(blob[:length])

    def test_batch_norm_and_tied_weights(self):
        plan = self.compile("""{"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 3]}}, "layers": [
            {"name": "a", "type": "Linear", "in_features": 3, "out_features": 3, "bias": false}, {"name": "bn", "type": "BatchNorm1d", "num_features": 3},
            {"name": "b", "type": "Linear", "in_features": 3, "out_features": 3, "bias": false, "share": {"weight": "a.weight"}}]}""")
        weights = {"a.weight": drawn("a", (3, 3)), "bn.weight": drawn("g", (3,)), "bn.bias": drawn("h", (3,)), "bn.running_mean": drawn("m", (3,)),
                   "bn.running_var": drawn("v", (3,), 0.5, 1.5), "bn.num_batches_tracked": drawn("n", (), 0, 9, "I64"), "b.weight": drawn("a", (3, 3))}
        results = []
        # A PyTorch file has a tied weight under both names, a file that was thinned out under one.
        for left_out in (None, "b.weight"):
            write_safetensors(self.dir / "w.safetensors", {k: t for k, t in weights.items() if k != left_out})
            must(sheaf_run(plan, "--devices", "cpu:0", "--weights", "w.safetensors", "--input", "x=x.safetensors:x", "--output", "o.safetensors", cwd=self.dir))
            results.append(read_safetensors(self.dir / "o.safetensors")[0]["b"])
        self.assertEqual(*results)


unittest.main()
