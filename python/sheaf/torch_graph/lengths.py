"""Which sizes of the inputs are lengths: named by the caller, and as symbols of an exported program."""
import re

import torch

from ..error import Diagnostic, Error
from .extent import BATCH, Sizes

_NAME = re.compile("[A-Za-z_]+")


def length(name, most=None):
    """What from_torch() takes for a length: its name, with its largest number a torch.export.Dim."""
    _check(name)
    return name if most is None else torch.export.Dim(name, max=most)


def _check(name):
    if not _NAME.fullmatch(name) or name == BATCH:
        raise Error(f"'{name}' can't name a length: letters and '_' can, other than 'batch', which is what batch_dim says")


def named(lengths, inputs):
    """{input: {dimension: (name, largest number or None)}} of what a caller gives: {input: {dimension: a name or a torch.export.Dim}}.
    `inputs` are the names there are."""
    if unknown := set(lengths) - set(inputs):
        raise Error(f"lengths names {', '.join(sorted(unknown))}; the inputs are {', '.join(inputs)}")
    found, largest = {}, {}
    for given, dims in lengths.items():
        for dim, given_length in dims.items():
            name = given_length if isinstance(given_length, str) else given_length.__name__
            _check(name)
            most = getattr(given_length, "max", None)
            most = int(most) if most is not None and most < 2**31 else None
            if largest.setdefault(name, most) != most:
                raise Error(f"the length '{name}' is given with two largest numbers, {largest[name]} and {most}")
            found.setdefault(given, {})[dim] = (name, most)
    return found


def sizes_of(program, graph, roles):
    """The Sizes of a program whose inputs have these: a list of {dimension: the batch or a length}, in the order of the graph's inputs."""
    names, largest = {}, {}
    for (node, given), dims in zip(graph.inputs, roles):
        for dim, name in dims.items():
            size = node.meta["val"].shape[dim]
            if not isinstance(size, torch.SymInt):
                continue  # of no elements, or torch.export has refused it
            if not size.node.expr.is_symbol:
                raise Error(f"dimension {dim} of '{given}' isn't of any size: the module makes it {size.node.expr} of other sizes")
            symbol = size.node.expr
            if names.setdefault(symbol.name, name) != name:
                raise Error(f"the module works only where '{name}', dimension {dim} of '{given}', is the same number as '{names[symbol.name]}'")
            if name != BATCH:
                upper = program.range_constraints[symbol].upper if symbol in program.range_constraints else None
                numbers = [number for number in (largest.get(name), int(upper) if upper is not None and upper < 2**31 else None) if number is not None]
                largest[name] = min(numbers, default=None)
    return Sizes(names, largest)


def roles_of(graph, lengths, notes):
    """What each free size of an exported program's inputs is, as sizes_of() wants it: what `lengths` names (as named() gives it), then
    the batch, the first of the others, then lengths that get names here, which the notes say."""
    symbols = [{dim: size.node.expr for dim, size in enumerate(node.meta["val"].shape) if isinstance(size, torch.SymInt)} for node, _ in graph.inputs]
    roles = {}
    for (_, given), sizes in zip(graph.inputs, symbols):
        for dim, (name, _) in lengths.get(given, {}).items():
            if dim not in sizes:
                raise Error(f"dimension {dim} of '{given}' isn't a free size of the exported program")
            roles[sizes[dim]] = name
    others = {}  # symbol → where it is first
    for (_, given), sizes in zip(graph.inputs, symbols):
        for dim, symbol in sizes.items():
            if symbol not in roles:
                others.setdefault(symbol, (dim, given))
    if not others:
        raise Error([Diagnostic(
            "of the inputs' sizes none is free that could be the batch: export the module with "
            'dynamic_shapes={"x": {0: torch.export.Dim("batch")}}, the same Dim for each input')])
    batch, *further = others
    roles[batch] = BATCH
    for place, symbol in enumerate(further):
        name = "length" + "_" * place
        dim, given = others[symbol]
        roles[symbol] = name
        notes.append(f"the size of dimension {dim} of '{given}' is called '{name}', since exported programs don't keep their Dims' names: "
                     f"--length {given}:{dim}=seq gives it another one")
    return [{dim: roles[symbol] for dim, symbol in sizes.items()} for sizes in symbols]
