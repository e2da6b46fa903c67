"""The table of operators: what a node becomes. One function per operator, in its family's file."""
from dataclasses import dataclass
from typing import Callable

from .sizes import Sizes, numbers

OPERATORS = {}


@dataclass(frozen=True)
class Operator:
    """`run(node, *inputs)` returns the node's value, or a tuple of them; inputs are tensors, Sizes, or None. The first,
    its data, is a tensor except for an operator `on_sizes`. `layer(node, weights)` returns a Layer if the node's
    weights make it one, else None. Either raises ValueError, with a description, for a form of the operator that can't
    be expressed. Inputs at `settings` are numbers, however many."""

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
    """An argument that is an input in newer opsets and an attribute in older ones: a list of numbers, a number, or the
    default."""
    if position < len(inputs) and inputs[position] is not None:
        value = inputs[position]
        if not isinstance(value, Sizes):
            raise ValueError(f"'{name}' is computed from data")
        return value.data
    return node.attributes.get(name, default)


def axes_of(node, inputs, position=1):
    value = setting(node, inputs, position, "axes")
    return None if value is None else [value] if isinstance(value, int) else numbers(value)
