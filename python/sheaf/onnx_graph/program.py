"""A Graph as a torch.nn.Module: one line of Python for each node, under the file's name, so that an error about an
operation names the node."""
import linecache

import torch

from ..error import Diagnostic, Error
from . import elementwise, layers, pooling, recurrent, reduction, resampling, shape  # noqa: F401
from .operators import OPERATORS
from .sizes import Sizes
from .weights import Placed


class Program(torch.nn.Module):
    """The result of module_of."""


def module_of(graph):
    """The Program of a graph. Raises Error with all nodes whose operation is unknown, or unknown in this form."""
    module = type(graph.name, (Program,), {})()
    weights, problems = Placed(module, graph), []
    variables, steps, lines = {}, [], {}

    def variable(name):
        return variables.setdefault(name, f"v{len(variables)}") if name and not weights.has(name) else "None"

    given = [variables.setdefault(value.name, value.argument) for value in graph.inputs]
    for node in graph.nodes:
        if weights.absorbed(node):
            lines[node.line] = f"{variable(node.outputs[0])} = {variable(weights.absorbed(node))}"
            continue
        try:
            if weights.known(node):
                weights.fold(node, _step(node, weights)[0]())
                continue
            step, read = _step(node, weights)
        except ValueError as problem:
            problems.append(_refusal(node, problem, graph.file))
            continue
        steps.append(step)
        results = [variable(name) if name else "_" for name in node.outputs]
        lines[node.line] = f"{', '.join(results)} = steps[{len(steps) - 1}]({', '.join(variable(name) for name in read)})"
    if problems:
        raise Error(problems)
    constants = {name: weights.value(name) for name in graph.outputs if weights.has(name)}
    results = [f"tensor_of(constants[{name!r}]())" if name in constants else f"tensor_of({variable(name)})" for name in graph.outputs]
    space = {"steps": steps, "constants": constants, "tensor_of": Sizes.tensor_of}
    module.forward = _compiled(graph, given, lines, results, space).__get__(module)
    return module.eval()


def _refusal(node, problem, file):
    return Diagnostic(f"'{node.kind}' {problem}", file, node.line, source=str(node))


def _step(node, weights):
    """The function that runs a node, and the names of the values it reads."""
    rule = OPERATORS.get(node.kind)
    if rule is None:
        raise ValueError("has no counterpart in the model file")
    made = rule.layer(node, weights) if rule.layer else None
    if made is not None:
        return Step(made.run, node, [None] * len(made.data), weights.graph.file), made.data
    return Step(rule.run, node, [weights.value(name, i in rule.settings) for i, name in enumerate(node.inputs)], weights.graph.file,
                rule.on_sizes), node.inputs


class Step:
    """The function that runs a node: `run(node, *values)`, on tensors, numbers and sizes. `known` receives those from
    the file."""

    def __init__(self, run, node, known, file, on_sizes=False):
        self.run, self.node, self.known, self.file, self.on_sizes = run, node, known, file, on_sizes

    def __call__(self, *values):
        values = values or [None] * len(self.known)
        inputs = [known() if known is not None else value for known, value in zip(self.known, values)]
        while inputs and inputs[-1] is None:
            inputs.pop()
        if inputs and not self.on_sizes:
            inputs[0] = Sizes.tensor_of(inputs[0])
        try:
            return self.run(self.node, *inputs)
        except ValueError as problem:
            raise Error([_refusal(self.node, problem, self.file)]) from None


def _compiled(graph, given, lines, results, space):
    """The function `forward`; a node's line is its number, and its text the node's."""
    last = max(lines, default=0)
    body = [f"    {lines.get(line, 'pass')}" for line in range(1, last + 1)]
    source = "\n".join([f"def forward(self, {', '.join(given)}):", *body, f"    return {', '.join(results)}"])
    code = compile(source, graph.file, "exec")
    code = code.replace(co_consts=tuple(const.replace(co_firstlineno=0) if hasattr(const, "co_firstlineno") else const for const in code.co_consts))
    texts = {node.line: str(node) for node in graph.nodes}
    linecache.cache[graph.file] = (len(source), None, [f"{texts.get(line, '')}\n" for line in range(1, last + 2)], graph.file)
    exec(code, space)
    return space["forward"]
