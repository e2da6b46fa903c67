"""The table of operators: what a node becomes. One function an operator, in the file of its family."""
from dataclasses import dataclass
from typing import Callable

from .sizes import Sizes, numbers

OPERATORS = {}


@dataclass(frozen=True)
class Operator:
    """`run(node, *inputs)` gives the node's value, or a tuple of them; inputs are tensors, Sizes, or None. The first, its data, is a tensor
    but for an operator `on_sizes`. `layer(node, weights)` gives a Layer where the node's weights make it one, else None. Either raises
    ValueError for a form that can't be expressed, with what to say of the operator. Inputs at `settings` are numbers, however many."""

    run: Callable
    layer: Callable | None = None
    on_sizes: bool = False
    settings: tuple = ()


def operator(*kinds, layer=None, on_sizes=False, settings=()):
    def register(function):
        for kind in kinds:
            assert kind not in OPERATORS, kind
            OPERATORS[kind] = Operator(function, layer, on_sizes, settings)
        return function

    return register


def setting(node, inputs, position, name, default=None):
    """What newer opsets have as an input and older ones as an attribute: a list of numbers, a number, or the default."""
    if position < len(inputs) and inputs[position] is not None:
        value = inputs[position]
        if not isinstance(value, Sizes):
            raise ValueError(f"'{name}' is computed from data")
        return value.data
    return node.attributes.get(name, default)


def axes_of(node, inputs, position=1):
    value = setting(node, inputs, position, "axes")
    return None if value is None else [value] if isinstance(value, int) else numbers(value)
