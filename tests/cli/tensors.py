"""Tensor files for tests, with Python's standard library alone: safetensors, npy, npz, IDX."""
import array
import gzip
import io
import json
import math
import random
import struct
import zipfile
from pathlib import Path

CODES = {"F32": "f", "F64": "d", "F16": "H", "BF16": "H", "I64": "q", "I32": "i", "U8": "B", "BOOL": "B"}  # halves as their bits
NPY = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}


class Tensor:
    """dtype as safetensors spells it ("F32"), shape as a tuple, data as a flat array.array."""

    def __init__(self, dtype, shape, data):
        self.dtype, self.shape, self.data = dtype, tuple(shape), array.array(CODES[dtype], data)
        assert len(self.data) == math.prod(self.shape), (len(self.data), self.shape)

    def rows(self, begin, end):
        """Rows [begin, end) of the first dimension."""
        row = math.prod(self.shape[1:])
        return Tensor(self.dtype, (end - begin, *self.shape[1:]), self.data[begin * row:end * row])

    def __eq__(self, other):
        """Equal bits, so that -0.0 differs from 0.0 and a NaN equals itself."""
        return (self.dtype, self.shape, self.data.tobytes()) == (other.dtype, other.shape, other.data.tobytes())


def drawn(name, shape, low=-1.0, high=1.0, dtype="F32"):
    """Numbers that depend on `name` alone, so that no file has to hold them (Python keeps random() stable)."""
    draw = random.Random(name).random
    count = math.prod(shape)
    if dtype == "F32":
        return Tensor(dtype, shape, [low + (high - low) * draw() for _ in range(count)])
    return Tensor(dtype, shape, [int(low + (high - low) * draw()) for _ in range(count)])


def write_safetensors(path, tensors, metadata=None):
    header, offset = {}, 0
    if metadata:
        header["__metadata__"] = metadata
    for name, t in tensors.items():
        size = len(t.data) * t.data.itemsize
        header[name] = {"dtype": t.dtype, "shape": list(t.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(t.data.tobytes() for t in tensors.values()))


def read_safetensors(path):
    """Returns (tensors by name, metadata)."""
    blob = Path(path).read_bytes()
    size = struct.unpack("<Q", blob[:8])[0]
    header = json.loads(blob[8:8 + size])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        data = array.array(CODES[entry["dtype"]])
        data.frombytes(blob[8 + size + begin:8 + size + end])
        tensors[name] = Tensor(entry["dtype"], entry["shape"], data)
    return tensors, metadata


def npy_bytes(tensor, fortran=False):
    shape = f"({tensor.shape[0]},)" if len(tensor.shape) == 1 else str(tensor.shape)
    header = f"{{'descr': '{NPY[tensor.dtype]}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + tensor.data.tobytes()


def write_npy(path, tensor):
    Path(path).write_bytes(npy_bytes(tensor))


def write_npz(path, tensors, compressed=True):
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, tensor in tensors.items():
            archive.writestr(name + ".npy", npy_bytes(tensor))


def write_idx(path, tensor):
    """Bytes only (type 8), as MNIST has them; a name that ends in .gz is compressed."""
    assert tensor.dtype == "U8"
    blob = struct.pack(">BBBB", 0, 0, 8, len(tensor.shape)) + struct.pack(f">{len(tensor.shape)}I", *tensor.shape)
    blob += tensor.data.tobytes()
    if str(path).endswith(".gz"):
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as stream:
            stream.write(blob)
        blob = packed.getvalue()
    Path(path).write_bytes(blob)


def difference(actual, expected):
    """Largest difference, relative to the largest value of `expected`; inf if anything else differs."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return math.inf
    if not expected.data:
        return 0.0
    if expected.dtype != "F32":
        return 0.0 if actual.data == expected.data else math.inf
    worst = 0.0
    for a, e in zip(actual.data, expected.data):
        if math.isfinite(e):
            error = abs(a - e)
            worst = error if error > worst or error != error else worst
        elif not (a == e or (a != a and e != e)):
            return math.inf
    largest = max((abs(e) for e in expected.data if math.isfinite(e)), default=0.0)
    return math.inf if worst != worst else worst / (largest or 1.0)
