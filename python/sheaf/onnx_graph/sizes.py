"""Numbers that a graph computes with besides tensors: sizes, some of which depend on the batch, axes, and scalars."""
import torch

# Tensors of up to this many elements with at most one dimension are numbers: shapes, axes, pads, scalars.
_MOST = 64


class Sizes:
    """A number, or a list of them, in `data`. A number may be a torch.SymInt."""

    def __init__(self, data, dtype=torch.int64):
        self.data, self.dtype = data, dtype

    @staticmethod
    def of(tensor):
        """A tensor as Sizes if it may be one, else None: integers and flags with at most one dimension, real numbers that are one."""
        if tensor.dim() > 1 or tensor.numel() > (1 if tensor.is_floating_point() else _MOST):
            return None
        return Sizes(tensor.tolist(), tensor.dtype)

    @property
    def numbers(self):
        """Always a list."""
        return list(self.data) if isinstance(self.data, (list, tuple)) else [self.data]

    @property
    def number(self):
        """The only one, or None."""
        return self.numbers[0] if len(self.numbers) == 1 else None

    def each(self, change, dtype=None):
        changed = [change(number) for number in self.numbers]
        return Sizes(changed if isinstance(self.data, (list, tuple)) else changed[0], dtype or self.dtype)

    @staticmethod
    def together(combine, first, second, dtype=None):
        """Number by number; a single one is combined with each of the others."""
        a, b = first.numbers, second.numbers
        many = max(len(a), len(b))
        made = [combine(x, y) for x, y in zip(a * many if len(a) == 1 else a, b * many if len(b) == 1 else b)]
        flat = not isinstance(first.data, (list, tuple)) and not isinstance(second.data, (list, tuple))
        return Sizes(made[0] if flat else made, dtype or first.dtype)

    @staticmethod
    def tensor_of(value):
        """A tensor from what may be Sizes."""
        if not isinstance(value, Sizes):
            return value
        if any(isinstance(number, torch.SymInt) for number in value.numbers):
            parts = [torch.full((), number, dtype=value.dtype) if isinstance(number, torch.SymInt) else torch.tensor(number, dtype=value.dtype)
                     for number in value.numbers]
            return torch.stack(parts) if isinstance(value.data, (list, tuple)) else parts[0]
        return torch.tensor(value.data, dtype=value.dtype)


def numbers(value):
    """The list in an attribute or an input. Raises ValueError for a tensor."""
    if isinstance(value, torch.Tensor):
        raise ValueError("has sizes that are computed from data")
    return value.numbers if isinstance(value, Sizes) else list(value)


def operand(value):
    """An argument of a torch function besides tensors: a number if it is one, else a tensor."""
    if isinstance(value, Sizes) and value.number is not None and not isinstance(value.number, torch.SymInt):
        return value.number
    return Sizes.tensor_of(value)
