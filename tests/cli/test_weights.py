"""Weights: PyTorch's names with and without `module.`, and files that don't fit or are damaged."""
import io
import json
import math
import struct
import unittest
import zipfile

from program import SOURCE, ProgramTest, must, sheaf_run
from tensors import Tensor, drawn, read_safetensors, write_safetensors

# y = relu(x W0' + b0) W1' + b1, data-parallel: the names in PyTorch are net.module.0.weight …
MODEL = """{"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 3]}}, "layers": [
{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
  {"type": "Linear", "in_features": 3, "out_features": 4}, {"type": "ReLU"}, {"type": "Linear", "in_features": 4, "out_features": 2}]}}]}"""
SHAPES = {"net.module.0.weight": (4, 3), "net.module.0.bias": (4,), "net.module.2.weight": (2, 4), "net.module.2.bias": (2,)}


def resnet50_weights():
    """The names and shapes of torchvision.models.resnet50().state_dict(), zeros for values."""
    def norm(name, size):
        for part in ("weight", "bias", "running_mean", "running_var"):
            yield f"{name}.{part}", (size,)
        yield f"{name}.num_batches_tracked", ()

    def shapes():
        yield "conv1.weight", (64, 3, 7, 7)
        yield from norm("bn1", 64)
        width = 64
        for layer, (blocks, planes) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 1):
            for block in range(blocks):
                name, out = f"layer{layer}.{block}", 4 * planes
                for i, shape in enumerate(((planes, width, 1, 1), (planes, planes, 3, 3), (out, planes, 1, 1)), 1):
                    yield f"{name}.conv{i}.weight", shape
                    yield from norm(f"{name}.bn{i}", shape[0])
                if block == 0:
                    yield f"{name}.downsample.0.weight", (out, width, 1, 1)
                    yield from norm(f"{name}.downsample.1", out)
                width = out
        yield "fc.weight", (1000, 2048)
        yield "fc.bias", (1000,)
    return [(name, Tensor("I64" if not shape else "F32", shape, bytes((8 if not shape else 4) * math.prod(shape)))) for name, shape in shapes()]


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

    def test_names_of_a_model_that_is_wrapped_as_a_whole(self):
        whole = self.outputs(self.weights)
        plain = {name.replace("net.module.", ""): t for name, t in self.weights.items()}  # model.state_dict()
        for front in ("", "module.", "net.", "net.module.", "module.net.module.", "model.net.", "_orig_mod.module.net."):
            with self.subTest(front=front):
                self.assertEqual(whole, self.outputs({front + name: t for name, t in plain.items()}))
        # Names that are another layer's are not taken for this one's.
        done = self.refuse({"other." + name: t for name, t in plain.items()}, "4 missing, 4 superfluous", "'net.module.0.weight'", "'other.0.bias'")
        self.assertIn("with or without what all of them begin with", done.err)

    def test_torchvisions_resnet50(self):
        plan = self.compile((SOURCE / "models/resnet50.json").read_text(), "resnet50.plan")
        weights = dict(resnet50_weights())
        write_safetensors(self.dir / "w.safetensors", weights)
        done = must(sheaf_run(plan, "--devices", "cpu:0", "--weights", "w.safetensors", "--input", "image=random:0", cwd=self.dir))
        self.assertEqual(done.err, "")
        del weights["fc.weight"]  # one name less is one note, and the rest still fits
        write_safetensors(self.dir / "w.safetensors", weights)
        done = sheaf_run(plan, "--devices", "cpu:0", "--weights", "w.safetensors", "--input", "image=random:0", cwd=self.dir)
        self.assert_refused(done, "w.safetensors", "1 missing", "net.module.fc.weight")
        self.assertLess(len(done.err.splitlines()), 4)

    def test_other_floating_point_types_are_converted_and_said(self):
        whole = self.outputs({name: Tensor("F32", t.shape, [round(v * 8) / 8 for v in t.data]) for name, t in self.weights.items()})
        eighths = {name: [round(v * 8) / 8 for v in t.data] for name, t in self.weights.items()}

        def bits(value, wide):  # of a number that needs few of them
            word = struct.unpack("<I", struct.pack("<f", value))[0]
            return struct.unpack("<H", struct.pack("<e", value))[0] if not wide else word >> 16
        for dtype, name, of in (("F16", "float16", lambda v: bits(v, False)), ("BF16", "bfloat16", lambda v: bits(v, True)), ("F64", "float64", float)):
            with self.subTest(dtype):
                write_safetensors(self.dir / "w.safetensors", {n: Tensor(dtype, SHAPES[n], [of(v) for v in values]) for n, values in eighths.items()})
                done = must(self.execute())
                self.assertEqual(done.err, f"w.safetensors: note: 4 tensors are {name}; converted to the parameters' float32\n")
                self.assertEqual(read_safetensors(self.dir / "out.safetensors")[0]["net"], whole)

    def test_files_of_pytorch_and_numpy_are_named(self):
        def zipped(*names):
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w") as archive:
                for name in names:
                    archive.writestr(name, b"")
            return buffer.getvalue()
        self.refuse(zipped("model/data.pkl", "model/data/0"), "a PyTorch file", "save_file", "torch.load('w.safetensors'")
        self.refuse(b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", "a PyTorch file", "save_file")
        self.write("a'$(b).pt", b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.")  # no command for a shell is made of it
        done = sheaf_run(self.plan, "--devices", "cpu:0", "--weights", "a'$(b).pt", "--input", "x=random:1", cwd=self.dir)
        self.assert_refused(done, "torch.load('FILE'")
        self.refuse(zipped("x.npy"), "NumPy")
        self.refuse(b"a,b\n1,2\n" * 9, "not a safetensors file")

    def test_lists_are_short(self):
        done = self.refuse({f"layer{i}.weight": drawn("w", (1,)) for i in range(500)}, "4 missing, 500 superfluous", "495 more")
        self.assertLess(len(done.err.splitlines()), 15)

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
