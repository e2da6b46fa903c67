"""sheaf import FILE -o NET.json [--weights NET.safetensors] [--length INPUT:DIM=NAME[:MOST]] [--size NAME=N]"""
import argparse
import os
import sys
import tempfile
import warnings
import zipfile

from .error import Diagnostic, Error, reason


def main(arguments):
    """Runs the command; gives its exit status: 0 done, 1 the model is at fault, 2 the command line is."""
    parser = argparse.ArgumentParser("sheaf import", description="Converts an exported PyTorch program or an ONNX graph to a model file.")
    parser.add_argument("file", metavar="FILE", help="NET.pt2, which torch.export.save wrote, or NET.onnx")
    parser.add_argument("-o", dest="output", metavar="NET.json", required=True, help="the model file to write")
    parser.add_argument("--weights", metavar="NET.safetensors", help="the weights file to write")
    parser.add_argument("--size", metavar="NAME=N", action="append", type=_size, default=[], help="a free size of an ONNX graph, other than the batch")
    parser.add_argument("--length", metavar="INPUT:DIM=NAME[:MOST]", action="append", type=_length, default=[],
                        help="what the model file calls an input's free size besides the batch, such as a sequence's, and its largest number, which "
                             "tables of positions and masks need: tokens:1=seq:512")
    given = parser.parse_args(arguments)  # leaves with status 2
    graph = given.file.endswith(".onnx")
    if given.size and not graph:
        parser.error("--size is for ONNX graphs")
    outputs = [path for path in (given.output, given.weights) if path]
    if len({os.path.realpath(path) for path in (given.file, *outputs)}) < 1 + len(outputs):
        parser.error("an output is the input, or another output")
    try:
        model = imported_graph(given.file, dict(given.size), given.length) if graph else imported(given.file, given.length)
        write(model, given.output, given.weights)
    except Error as problem:
        print(problem, file=sys.stderr)
        return 1
    for note in model.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


def imported(file, lengths=()):
    """The ModelFile of an exported program. `lengths` is a list of (input, dimension, name, largest number or None)."""
    torch = _torch(file)
    from .torch_graph import from_exported
    try:
        with open(file, "rb") as opened:  # torch.export.load logs what it fails on
            if not zipfile.is_zipfile(opened):
                raise ValueError("it isn't a zip archive")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own warnings about reading
            program = torch.export.load(file)
    except Exception as problem:  # whatever torch, zip and pickle raise
        raise Error([Diagnostic(f"it can't be read as what torch.export.save writes: {reason(problem)}", file)]) from None
    return from_exported(program, name=os.path.splitext(os.path.basename(file))[0], lengths=_by_input(lengths))


def imported_graph(file, sizes, lengths=()):
    """The ModelFile of an ONNX graph. `lengths` as for imported()."""
    _torch(file)
    from .onnx_graph import from_onnx
    return from_onnx(file, name=os.path.splitext(os.path.basename(file))[0], sizes=sizes, lengths=_by_input(lengths))


def _by_input(lengths):
    """As from_torch() takes them."""
    from .torch_graph.lengths import length
    found = {}
    for name, dim, given, most in lengths:
        found.setdefault(name, {})[dim] = length(given, most)
    return found


def _torch(file):
    try:
        import torch
    except ImportError:
        raise Error([Diagnostic("PyTorch isn't installed, which has to read it: pip install torch", file)]) from None
    return torch


def _size(text):
    name, _, number = text.partition("=")
    if not name or not number.isdecimal() or int(number) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' isn't NAME=N with N from 1")
    return name, int(number)


def _length(text):
    place, _, length = text.partition("=")
    name, _, dim = place.rpartition(":")
    length, colon, most = length.partition(":")
    if not name or not dim.isdecimal() or not length or (colon and (not most.isdecimal() or int(most) < 2)):
        raise argparse.ArgumentTypeError(f"'{text}' isn't INPUT:DIM=NAME, such as tokens:1=seq, or INPUT:DIM=NAME:MOST with MOST from 2")
    return name, int(dim), length, int(most) if most else None


def write(model, output, weights):
    """Writes both files, completely or not at all."""
    made = []
    try:
        for path in filter(None, (output, weights)):
            handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".sheaf-")
            os.close(handle)
            made.append((temporary, path))
        model.save(made[0][0], *(temporary for temporary, _ in made[1:]))
        for temporary, path in made:
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
    except OSError as problem:
        raise Error([Diagnostic(f"it can't be written: {problem.strerror}", problem.filename2 or path)]) from None
    finally:
        for temporary, _ in made:
            if os.path.exists(temporary):
                os.unlink(temporary)


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
