"""Import of PyTorch modules, by torch.export."""
import inspect

import torch

from ..error import Diagnostic, Error
from ..model_file import ModelFile
from ..places import Places
from .checkpoint_call import mark
from .document import Document, arguments_of, free_name
from .examples import Examples
from .export import export, in_training
from .exported import module_of
from .extent import using
from .graph import Source, read
from .layer_types import lacking
from .lengths import named, roles_of, sizes_of
from .lowering import Lowering
from .scopes import arrange, flow, place_tensors
from .value import DTYPES, Constant, Input, Layer, Result


def from_torch(module, example_inputs, example_keywords=None, *, name=None, batch_dim=0, lengths=None):
    """The ModelFile of a torch.nn.Module.

    `example_inputs` is a tuple of what the module takes; shapes and types matter, values don't, and the batch may have any size.
    `batch_dim` is the dimension that is the batch, of every tensor, or {argument: dimension, or None where there is none}.
    `lengths` are further sizes that a run determines: {argument: {dimension: name}}, the same name for the same number; a
    torch.export.Dim("seq", max=512) instead of a name has its largest number, too, which tables of positions and masks need.
    Raises sheaf.Error with the line of the module's Python code for each operation that a model file can't express.
    """
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    examples = Examples(module, example_inputs, example_keywords or {}, batch_dim, lengths)
    notes = []
    graph, lowering, results = _lowered(module, examples, _aliases(module), in_training(module), notes)
    return _file(module, graph, lowering, results, name, notes)


def from_exported(program, *, name=None, lengths=None):
    """The ModelFile of a torch.export.ExportedProgram. It is the graph of the mode that the module was in. The first free size of its
    inputs is the batch; others are lengths, which `lengths` names as for from_torch(). Raises sheaf.Error as from_torch does."""
    module = module_of(program)
    graph, notes = read(program), []
    roles = roles_of(graph, named(lengths or {}, [given for _, given in graph.inputs]), notes)
    with using(sizes_of(program, graph, roles)):
        lowering = Lowering(graph, module, _aliases(module))
        return _file(module, graph, lowering, lowering.run(), name, notes)


def _aliases(module):
    """For each name of a parameter or buffer, all of its names."""
    aliases = {}
    for full, tensor in [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]:
        aliases.setdefault(id(tensor), []).append(full)
    return {full: tuple(names) for names in aliases.values() for full in names}


def _lowered(module, examples, aliases, training, notes):
    """The layers of the training graph if both modes compute the same, since it serves both then; else those of the
    module's own mode."""
    found, problems = {}, {}
    for mode in (True, False):
        try:
            program = export(module, examples, mode, notes)
            graph = read(program)
            graph.inputs = _named(module, graph.inputs)
            with using(sizes_of(program, graph, examples.roles())):
                lowering = Lowering(graph, module, aliases, training=mode)
                found[mode] = (graph, lowering, lowering.run())
        except Error as problem:
            problems[mode] = problem
    if training not in found:
        raise problems[training]
    if len(found) == 2 and _computed(found[True]) == _computed(found[False]):
        return found[True]
    other = "evaluation" if training else "training"
    notes.append(f"the model file has the graph of {'training' if training else 'evaluation'} mode, as the module is in; in {other} mode it computes "
                 "otherwise" + (f", in a way that can't be imported: {problems[not training].diagnostics[0].message}" if problems else ""))
    return found[training]


def _named(module, inputs):
    """A DataParallel's inputs are `*inputs`: they get the names that the module inside has for them."""
    if not isinstance(module, torch.nn.DataParallel):
        return inputs
    names = list(inspect.signature(module.module.forward).parameters)
    return [(node, names[position] if position < len(names) else name) for position, (node, name) in enumerate(inputs)]


# Modules may leave these out of their evaluation mode.
_IDENTITY_IN_EVALUATION = {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "StochasticDepth"}


# Arguments for training only, which code may pass as 0 in evaluation.
_OF_TRAINING = {"dropout", "dropout_p"}


def _computed(found):
    """What a graph computes, as values that compare equal: each layer's type, arguments, tensors and inputs, without those that are
    the identity in evaluation."""
    _, lowering, results = found
    numbers, rows = {}, []

    def source(value):
        while isinstance(value, Result) and value.layer.type in _IDENTITY_IN_EVALUATION:
            value = value.layer.inputs[0]
        if isinstance(value, Result):
            return numbers[value.layer], value.index
        if isinstance(value, Constant):
            return [(world.dtype, world.shape, world.flatten().contiguous().view(torch.uint8).numpy().tobytes()) for world in value.worlds]
        return value.name

    for layer in _used(lowering.layers, [value for _, value in results]):
        if layer.type not in _IDENTITY_IN_EVALUATION:
            numbers[layer] = len(rows)
            arguments = {name: value for name, value in layer.arguments.items() if name not in _OF_TRAINING}
            tensors = {own: parameter.name for own, parameter in layer.parameters.items()}
            rows.append((layer.type, arguments, layer.owner, tensors, [source(value) for value in layer.inputs]))
    return rows, [(key, source(value)) for key, value in results]


def _used(layers, results):
    """The layers that results depend on, in order."""
    needed = {value.layer for value in results if isinstance(value, Result)}
    for layer in reversed(layers):
        if layer in needed:
            needed |= {value.layer for value in layer.inputs if isinstance(value, Result)}
    return [layer for layer in layers if layer in needed]


def _file(module, graph, lowering, outputs, name, notes):
    results = []
    for key, value in outputs:
        if not isinstance(value, Result) or key is not None or value in results:
            identity = Layer("Identity", [value], {}, (), None, hint=key or "output")
            identity.results = [Result(value.shape, value.dtype, identity, 0)]
            lowering.layers.append(identity)
            value = identity.results[0]
        results.append(value)
    layers = _used(lowering.layers, results)
    root = arrange(layers, module)
    notes += [f"{place.file}:{place.line}: the checkpoint isn't kept, since what is in it is no module's whole call: put it into a module of its own"
              for place in mark(root)]
    place_tensors(root)
    _check_types(root)
    inputs, crossing = flow(root, results)
    wrapped = isinstance(module, torch.nn.DataParallel)
    prefix = "net." if wrapped else ""
    document = Document(root, inputs, crossing, module, prefix)
    declared = {value.name: value for value in lowering.values.values() if isinstance(value, Input)}
    if not wrapped:
        declared = {free_name(key, document.names_in(root)): value for key, value in declared.items()}
    given = {value: key for key, value in declared.items()}
    if wrapped:
        entry = {"name": "net", **document.region(module, root, list(given), results)}
        entries, names = [entry], {value: "net" if i == 0 else f"net:{i}" for i, value in enumerate(results)}
    else:
        entries, names = document.body(root, given)
    model = {"sheaf": "1.0", "name": name or type(module.module if wrapped else module).__name__.lower(),
             "inputs": {n: {"shape": ["batch" if s.rows else s.length or s.fixed for s in v.shape], "dtype": DTYPES[v.dtype]} for n, v in declared.items()}}
    if document.definitions:
        model["modules"] = document.definitions
    model["layers"] = entries
    if [names[value] for value in results] != [entries[-1]["name"]]:
        model["outputs"] = [names[value] for value in results]
    sources, state = {}, module.state_dict()
    for layer in root.layers():
        for own, parameter in layer.parameters.items():
            sources.setdefault(f"{layer.owner}.{own}" if own else layer.owner, parameter.name)
    weights = {full: state[source].detach().cpu() for full, source in sources.items()}
    weights = {full: (t.float() if t.dtype in (torch.bfloat16, torch.float64, torch.float16) else t).numpy() for full, t in weights.items()}
    return ModelFile(model, weights, notes, prefix, sources, graph.tree, Places(document.places))


def _check_types(root):
    """Rejects layers that model files don't have, each with the line of Python that needs it."""
    problems = {}
    for layer in root.layers():
        if lack := lacking(layer.type, arguments_of(layer)):
            place = layer.source or Source()
            problems[lack, place] = Diagnostic(f"'{layer.operator}' {lack}", place.file, place.line, source=place.text)
    if problems:
        raise Error(problems.values())
