"""Inputs from files: every format, and files that are damaged, hostile or don't fit the model."""
import gzip
import struct
import unittest

from program import ProgramTest, must, sheaf_run
from tensors import Tensor, drawn, npy_bytes, read_safetensors, write_idx, write_npy, write_npz, write_safetensors


def identity(shape, dtype="float32", more=""):
    return f'{{"sheaf": "1.0", "name": "m", "inputs": {{"x": {{"shape": {shape}, "dtype": "{dtype}"}}{more}}}, "layers": [{{"name": "y", "type": "Identity", "inputs": ["x"]}}]}}'


class Sources(ProgramTest):
    def execute(self, plan, *inputs, devices="cpu:0", batch=None):
        (self.dir / "out.safetensors").unlink(missing_ok=True)
        given = [part for source in inputs for part in ("--input", source)]
        return sheaf_run(plan, "--devices", devices, *given, *(["--batch-size", batch] if batch else []), "--output", "out.safetensors", cwd=self.dir)

    def output(self, plan, *inputs, **more):
        must(self.execute(plan, *inputs, **more))
        return read_safetensors(self.dir / "out.safetensors")[0]["y"]

    def refuse(self, plan, source, *words):
        done = self.execute(plan, source)
        self.assert_refused(done, *words)
        self.assertFalse((self.dir / "out.safetensors").exists(), str(done))


class Formats(Sources):
    def test_every_format_says_the_same(self):
        x = drawn("x", (7, 3))
        write_npy(self.dir / "x.npy", x)
        write_npz(self.dir / "x.npz", {"other": drawn("o", (2, 2)), "x": x})
        write_npz(self.dir / "stored.npz", {"x": x}, compressed=False)
        write_safetensors(self.dir / "x.safetensors", {"other": drawn("o", (2, 2)), "x": x})
        plan = self.compile(identity('["batch", 3]'))
        for source in ("x.npy", "x.npz:x", "stored.npz:x", "x.safetensors:x"):
            for batch in (None, 1, 2, 7, 100):
                with self.subTest(source=source, batch=batch):
                    self.assertEqual(self.output(plan, f"x={source}", batch=batch), x)

    def test_integers(self):
        for dtype, code in (("int64", "I64"), ("int32", "I32"), ("uint8", "U8")):
            with self.subTest(dtype=dtype):
                x = drawn("x", (5, 2), 0, 200, code)
                write_npy(self.dir / "x.npy", x)
                plan = self.compile(identity('["batch", 2]', dtype))
                self.assertEqual(self.output(plan, "x=x.npy"), x)

    def test_rows_along_another_dimension(self):
        x = drawn("x", (3, 7))
        write_npy(self.dir / "x.npy", x)
        plan = self.compile(identity('[3, "batch"]'))
        for batch in (None, 2, 3):
            self.assertEqual(self.output(plan, "x=x.npy", batch=batch), x)

    def test_idx_images(self):
        pixels = drawn("pixels", (6, 4, 5), 0, 256, "U8")
        expected = Tensor("F32", (6, 1, 4, 5), [p / 255 for p in pixels.data])
        plan = self.compile(identity('["batch", 1, 4, 5]'))
        for name in ("images-idx3-ubyte", "images-idx3-ubyte.gz"):
            write_idx(self.dir / name, pixels)
            with self.subTest(name):
                actual = self.output(plan, f"x={name}", batch=4)
                self.assertEqual(actual.shape, expected.shape)
                for a, e in zip(actual.data, expected.data):
                    self.assertAlmostEqual(a, e, delta=1e-7)

    def test_bytes_of_other_files_are_numbers_and_that_is_said(self):
        pixels = drawn("pixels", (6, 4, 5), 0, 256, "U8")
        write_npy(self.dir / "x.npy", pixels)
        write_npz(self.dir / "x.npz", {"x": pixels})
        write_safetensors(self.dir / "x.safetensors", {"x": pixels})
        plan = self.compile(identity('["batch", 4, 5]'))
        for source in ("x.npy", "x.npz:x", "x.safetensors:x"):
            done = must(self.execute(plan, f"x={source}"))
            self.assertEqual(read_safetensors(self.dir / "out.safetensors")[0]["y"], Tensor("F32", (6, 4, 5), pixels.data))
            self.assertRegex(done.err, rf"\A{source}: note: 'x' takes the bytes as the numbers 0 to 255; .* IDX .*\n\Z")
        done = must(self.execute(self.compile(identity('["batch", 4, 5]', "uint8")), "x=x.npy"))
        self.assertEqual(done.err, "")

    def test_half_precision_is_printed(self):
        for dtype in ("float16", "bfloat16"):
            write_npy(self.dir / "x.npy", Tensor("F32", (2, 3), [0.5, -1.25, 3, 0, 1024, -0.75]))
            plan = self.compile(identity('["batch", 3]', dtype))
            done = must(sheaf_run(plan, "--devices", "cpu:0", "--input", "x=x.npy", cwd=self.dir))
            self.assertEqual(done.out, f"y {dtype} [2, 3]: 0.5 -1.25 3 0 1024 -0.75\n")

    def test_random_rows(self):
        plan = self.compile(identity('["batch", 3]'))
        x = self.output(plan, "x=random:1000")
        self.assertEqual(x.shape, (1000, 3))
        self.assertAlmostEqual(sum(x.data) / 3000, 0, delta=0.15)
        # Rows are the same whatever the batch they go in with.
        self.assertEqual(x, self.output(plan, "x=random:1000", batch=7))

    def test_no_rows(self):
        plan = self.compile(identity('["batch", 3]'))
        for devices in ("cpu", "cpu:0", "cpu:0,cpu:1"):
            self.assertEqual(self.output(plan, "x=random:0", devices=devices), Tensor("F32", (0, 3), []))


class Refused(Sources):
    def test_shapes_and_dtypes(self):
        plan = self.compile(identity('["batch", 3]'))
        for what, tensor in {"columns": drawn("x", (4, 5)), "rank": drawn("x", (4, 3, 1)), "no rank": drawn("x", ())}.items():
            write_npy(self.dir / "x.npy", tensor)
            with self.subTest(what):
                self.refuse(plan, "x=x.npy", "x.npy", "x")
        write_npy(self.dir / "x.npy", drawn("x", (4, 3)))
        self.refuse(self.compile(identity('["batch", 3]', "int64")), "x=x.npy", "x.npy", "float32", "int64")

        write_npy(self.dir / "x.npy", Tensor("F64", (4, 3), [0.0] * 12))
        self.refuse(self.compile(identity('["batch", 4]')), "x=x.npy", "the data is float64 [4, 3]")

    def test_files_of_formats_that_are_not_read(self):
        plan = self.compile(identity('["batch", 3]'))
        for name, content, words in (("x.txt", b"1,2,3\n", ("not an IDX file", ".npy", "numpy.save")), ("x.parquet", b"PAR1" + bytes(40), ("a table", "x.csv")), ("x.png", b"\x89PNG\r\n\x1a\n" + bytes(40), ("an image", "images:DIR")),
                                     ("x.pt", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", ("a PyTorch file", "safetensors.torch"))):
            self.write(name, content)
            with self.subTest(name):
                self.refuse(plan, f"x={name}", name, *words)

    def test_inputs_of_different_length(self):
        plan = self.compile('{"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 3]}, "other": {"shape": ["batch", 3]}}, "layers": [{"name": "y", "type": "Add"}]}')
        done = self.execute(plan, "x=random:4", "other=random:5")
        self.assert_refused(done, "x", "other", "4", "5")
        self.assertFalse((self.dir / "out.safetensors").exists())

    def test_keys(self):
        write_npz(self.dir / "x.npz", {"a": drawn("x", (4, 3))})
        write_safetensors(self.dir / "x.safetensors", {"a": drawn("x", (4, 3))})
        plan = self.compile(identity('["batch", 3]'))
        self.refuse(plan, "x=x.npz:b", "x.npz", "b")
        self.refuse(plan, "x=x.safetensors:b", "x.safetensors", "b")

    def test_npy(self):
        plan = self.compile(identity('["batch", 3]'))
        good = npy_bytes(drawn("x", (4, 3)))
        header = good[10:good.index(b"\n") + 1]

        def with_header(text, data=good[-48:]):
            return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data
        for what, content in {
            "empty": b"", "magic only": good[:6], "another magic": b"\x93NUMPX" + good[6:], "version 9": good[:6] + b"\x09\x00" + good[8:],
            "truncated header": good[:40], "truncated data": good[:-1], "data too long": good + b"\0",
            "header beyond the file": good[:8] + b"\xff\xff" + good[10:],
            "objects": with_header(header.replace(b"<f4", b"|O ")), "big endian": with_header(header.replace(b"<f4", b">f4")),
            "no shape": with_header(b"{'descr': '<f4', 'fortran_order': False, }\n"),
            "a call": with_header(b"__import__('os').system('true')\n"),
            "nested": with_header(b"(" * 60000 + b"\n"),
            "negative size": with_header(header.replace(b"(4, 3)", b"(-4, 3)")),
            "huge size": with_header(header.replace(b"(4, 3)", b"(4611686018427387904, 3)")),
            "sizes whose product overflows": with_header(header.replace(b"(4, 3)", b"(4294967296, 4294967296, 3)")),
        }.items():
            self.write("x.npy", content)
            with self.subTest(what):
                self.refuse(plan, "x=x.npy", "x.npy")

    def test_fortran_order_is_understood_or_refused(self):
        plan = self.compile(identity('["batch", 2]'))
        x = Tensor("F32", (3, 2), [1, 2, 3, 4, 5, 6])
        by_columns = Tensor("F32", (3, 2), [1, 3, 5, 2, 4, 6])
        self.write("x.npy", npy_bytes(by_columns, fortran=True))
        done = self.execute(plan, "x=x.npy")
        if done.status == 0:
            self.assertEqual(read_safetensors(self.dir / "out.safetensors")[0]["y"], x)
        else:
            self.assert_refused(done, "x.npy", "ortran")

    def test_npz(self):
        plan = self.compile(identity('["batch", 3]'))
        write_npz(self.dir / "x.npz", {"x": drawn("x", (40, 3))})
        good = (self.dir / "x.npz").read_bytes()
        damaged = bytearray(good)
        damaged[80] ^= 0x55
        for what, content in {"empty": b"", "no archive": b"PK" * 50, "no directory": good[:-30], "half": good[:len(good) // 2], "damaged": bytes(damaged),
                              "directory elsewhere": good[:-6] + b"\xff\xff\xff\x7f" + good[-2:]}.items():
            self.write("x.npz", content)
            with self.subTest(what):
                self.refuse(plan, "x=x.npz:x", "x.npz")

    def test_idx(self):
        plan = self.compile(identity('["batch", 1, 4, 5]'))
        write_idx(self.dir / "x-idx3-ubyte", drawn("p", (6, 4, 5), 0, 256, "U8"))
        good = (self.dir / "x-idx3-ubyte").read_bytes()
        zipped = gzip.compress(good)
        bomb = gzip.compress(good[:4] + struct.pack(">III", 6, 4, 5) + b"\0" * (64 << 20))
        for name, content in {"magic-idx3-ubyte": b"\1" + good[1:], "type-idx3-ubyte": good[:2] + b"\x0d" + good[3:], "rank-idx3-ubyte": good[:3] + b"\xff" + good[4:],
                              "short-idx3-ubyte": good[:-1], "long-idx3-ubyte": good + b"\0", "header-idx3-ubyte": good[:9], "empty-idx3-ubyte": b"",
                              "huge-idx3-ubyte": good[:4] + b"\xff" * 12 + good[16:], "half-idx3-ubyte.gz": zipped[:len(zipped) // 2],
                              "damaged-idx3-ubyte.gz": zipped[:-6] + b"\0\0\0\0\0\0", "plain-idx3-ubyte.gz": b"\x1f\x8b" + good, "bomb-idx3-ubyte.gz": bomb}.items():
            self.write(name, content)
            with self.subTest(name):
                self.refuse(plan, f"x={name}", name)

    def test_indices_outside_the_table(self):
        plan = self.compile('{"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch"], "dtype": "int64"}}, "layers": [\n'
                            '{"name": "y", "type": "Embedding", "num_embeddings": 10, "embedding_dim": 2}]}')
        for bad in (10, -1, 1 << 40, -(1 << 62)):
            write_npy(self.dir / "x.npy", Tensor("I64", (3,), [0, bad, 9]))
            with self.subTest(index=bad):
                self.refuse(plan, "x=x.npy", str(bad))


unittest.main()
