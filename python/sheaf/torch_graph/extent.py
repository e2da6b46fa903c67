"""Sizes that depend on the batch: a · batch + b.

torch.export describes them by symbols. Reading them at a few batch sizes gives the same answer as algebra would,
whatever form the symbol's expression has."""
from dataclasses import dataclass

# Batch sizes at which sizes and constants are evaluated: none is a multiple of another, or a usual size of a dimension.
WORLDS = (41, 43, 59)


class UnknownSize(ValueError):
    """A size that depends on the tensors' values, and so is known only during the run."""


@dataclass(frozen=True)
class Extent:
    rows: int  # how many times the batch
    fixed: int

    @property
    def is_fixed(self):
        return self.rows == 0

    def at(self, batch):
        return self.rows * batch + self.fixed

    def __str__(self):
        if self.is_fixed:
            return str(self.fixed)
        rows = "batch" if self.rows == 1 else f"{self.rows}*batch"
        return f"{rows} + {self.fixed}" if self.fixed else rows


def at_batch(size, batch):
    """The value of a torch.SymInt (or plain number) when the batch has that many rows."""
    node = getattr(size, "node", None)
    if node is None:
        return size
    expression = node.expr
    if any(symbol.name.startswith("u") for symbol in expression.free_symbols):
        raise UnknownSize(f"{size} is known only during the run")
    value = expression.subs({symbol: batch for symbol in expression.free_symbols})
    return float(value) if isinstance(size, float) or not value.is_integer else int(value)


def extent_of(size):
    """The Extent of a tensor's size, or None if it is not linear in the batch."""
    first, second, third = (at_batch(size, batch) for batch in WORLDS)
    rows, remainder = divmod(second - first, WORLDS[1] - WORLDS[0])
    extent = Extent(rows, first - rows * WORLDS[0])
    return extent if remainder == 0 and extent.at(WORLDS[2]) == third else None
