"""sheaf import NET.pt2 -o NET.json [--weights NET.safetensors]"""
import argparse
import os
import sys
import tempfile
import warnings

from .error import Diagnostic, Error


def main(arguments):
    """Runs the command; gives its exit status: 0 done, 1 the model is at fault, 2 the command line is."""
    parser = argparse.ArgumentParser("sheaf import", description="Makes a model file of an exported PyTorch program.")
    parser.add_argument("file", metavar="NET.pt2", help="what torch.export.save wrote")
    parser.add_argument("-o", dest="output", metavar="NET.json", required=True, help="where the model file goes")
    parser.add_argument("--weights", metavar="NET.safetensors", help="where the weights go")
    given = parser.parse_args(arguments)  # leaves with status 2
    outputs = [path for path in (given.output, given.weights) if path]
    if len({os.path.realpath(path) for path in (given.file, *outputs)}) < 1 + len(outputs):
        parser.error("an output is the input, or another output")
    try:
        model = imported(given.file)
        write(model, given.output, given.weights)
    except Error as problem:
        print(problem, file=sys.stderr)
        return 1
    for note in model.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


def imported(file):
    """The ModelFile of an exported program."""
    try:
        import torch
    except ImportError:
        raise Error([Diagnostic("PyTorch isn't installed, which wrote it and has to read it: pip install torch", file)]) from None
    from .torch_graph import from_exported
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own, of how it reads
            program = torch.export.load(file)
    except Exception as problem:  # whatever torch, zip and pickle raise
        raise Error([Diagnostic(f"it can't be read as what torch.export.save writes: {problem}", file)]) from None
    return from_exported(program, name=os.path.splitext(os.path.basename(file))[0])


def write(model, output, weights):
    """Writes both files, whole or not at all."""
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
