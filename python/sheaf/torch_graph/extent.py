"""Sizes that a run determines: sums of products of the batch and the model file's lengths, `2*batch*seq + 1`.

torch.export describes them by symbols. Reading them for a few numbers of each gives the same answer as algebra would,
whatever form the symbol's expression has."""
import contextlib
import contextvars
import itertools
import math
from dataclasses import dataclass

BATCH = "batch"
# Batch sizes at which sizes and constants are evaluated: none is a multiple of another, or a usual size of a dimension.
WORLDS = (41, 43, 59)


class UnknownSize(ValueError):
    """A size that depends on the tensors' values, and so is known only during the run."""


@dataclass(frozen=True)
class Extent:
    rows: int  # how many times the batch
    fixed: int
    products: tuple = ()  # ((names, how many times their product), …) of what has a length in it, in order

    @staticmethod
    def of(terms):
        """From {names, in order: how many times their product}."""
        products = tuple(sorted((names, count) for names, count in terms.items() if count and names not in ((), (BATCH,))))
        return Extent(terms.get((BATCH,), 0), terms.get((), 0), products)

    @property
    def terms(self):
        return {(): self.fixed, (BATCH,): self.rows, **dict(self.products)}

    @property
    def is_fixed(self):
        return self.rows == 0 and not self.products

    @property
    def has_rows(self):
        """Whether it depends on the batch."""
        return self.rows != 0 or any(BATCH in names for names, _ in self.products)

    @property
    def length(self):
        """The length that it is, or None."""
        (names, count), *others = self.products or (((), 0),)
        return names[0] if len(names) == count == 1 and not others and self.rows == self.fixed == 0 else None

    def __mul__(self, other):
        terms = {}
        for (one, count), (two, times) in itertools.product(self.terms.items(), other.terms.items()):
            names = tuple(sorted(one + two))
            terms[names] = terms.get(names, 0) + count * times
        return Extent.of(terms)

    def at(self, numbers):
        """Its value for {name: number}."""
        return sum(count * math.prod(numbers[name] for name in names) for names, count in self.terms.items() if count)

    def __str__(self):
        if self.is_fixed:
            return str(self.fixed)
        parts = ["*".join(([] if count == 1 else [str(count)]) + list(names)) for names, count in [((BATCH,), self.rows), *self.products] if count]
        return " + ".join(parts + ([str(self.fixed)] if self.fixed else []))


class Sizes:
    """What the symbols of an exported program stand for. `names`: {symbol: name}, the batch where a symbol isn't listed; `largest`:
    {length: its largest number, or None if there is none}.

    `worlds` are three sets of numbers, at which constants and numbers are evaluated. In the second one lengths have their largest
    numbers, so that a constant has all that it can have."""

    def __init__(self, names=None, largest=None):
        self.names, self.largest = dict(names or {}), dict(largest or {})
        self.worlds = tuple({BATCH: rows} for rows in WORLDS)
        for place, (name, most) in enumerate(self.largest.items()):
            apart = 17 + 6 * place  # by another number than any other size
            second = most or 64 + 29 * place
            first = second - min(apart, second // 2)
            for world, number in zip(self.worlds, (first, second, max(1, first - 3))):
                world[name] = number

    def name_of(self, symbol):
        return self.names.get(symbol.name, BATCH)

    def at(self, size, numbers):
        """The value of a torch.SymInt (or plain number) for {name: number}."""
        node = getattr(size, "node", None)
        if node is None:
            return size
        expression = node.expr
        if any(symbol.name.startswith("u") for symbol in expression.free_symbols):
            raise UnknownSize(f"{size} is known only during the run")
        value = expression.subs({symbol: numbers[self.name_of(symbol)] for symbol in expression.free_symbols})
        return float(value) if isinstance(size, float) or not value.is_integer else int(value)

    def extent_of(self, size):
        """The Extent of a tensor's size, or None if it is no sum of such products."""
        node = getattr(size, "node", None)
        names = sorted({self.name_of(symbol) for symbol in node.expr.free_symbols}) if node is not None else []
        first, second, third = self.worlds
        parts = [names_in for count in range(len(names) + 1) for names_in in itertools.combinations(names, count)]
        found = {part: self.at(size, {name: (second if name in part else first)[name] for name in names}) for part in parts}
        terms = {}
        for part in reversed(parts):  # what a product adds, without what longer ones do
            inside = [one for count in range(len(part) + 1) for one in itertools.combinations(part, count)]
            added = sum((-1) ** (len(part) - len(one)) * found[one] for one in inside)
            apart = math.prod(second[name] - first[name] for name in part)
            longer = sum(count * math.prod(first[name] for name in other if name not in part) for other, count in terms.items() if set(part) < set(other))
            count, remainder = divmod(added - longer * apart, apart)
            if remainder:
                return None
            terms[part] = int(count)
        extent = Extent.of(terms)
        return extent if extent.at(third) == self.at(size, third) else None

    def between(self, first, second):
        """The Extent of a constant's size in the first two worlds: of those that fit, the one with the smallest fixed part."""
        if first == second:
            return Extent(0, first)
        one, two, _ = self.worlds
        products = [part for count in (1, 2) for part in itertools.combinations_with_replacement(sorted(one), count)]
        fitting = []
        for names in products:
            begin, end = (math.prod(world[name] for name in names) for world in (one, two))
            if end != begin and (second - first) % (end - begin) == 0 and (second - first) // (end - begin) > 0:
                count = (second - first) // (end - begin)
                fitting.append((abs(first - count * begin), len(names), count, names, first - count * begin))
        if not fitting:
            rows = (second - first) // (two[BATCH] - one[BATCH])  # it depends on the batch, in a way that nothing takes
            return Extent(rows, first - rows * one[BATCH])
        *_, count, names, fixed = min(fitting)
        return Extent.of({names: count, (): fixed})

    def length_of(self, numbers):
        """The length that a number, in each world, is; or None."""
        return next((name for name in self.largest if tuple(numbers) == tuple(world[name] for world in self.worlds)), None)


_sizes = contextvars.ContextVar("sizes", default=Sizes())


def sizes():
    """Those of the program that is being lowered."""
    return _sizes.get()


@contextlib.contextmanager
def using(these):
    before = _sizes.set(these)
    try:
        yield
    finally:
        _sizes.reset(before)


def extent_of(size):
    return sizes().extent_of(size)
