"""Errors as values with a place."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Diagnostic:
    """One problem: where it is and what it is. `line` and `column` count from 1; 0 where there is none."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    source: str = ""  # the line of text that `line` names, if known
    notes: tuple = ()  # further remarks, a sentence each
    severity: str = "error"  # or "warning", "note"

    def __str__(self):
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        lines = [f"{place}: {self.severity}: {self.message}" if place else f"{self.severity}: {self.message}"]
        if self.source and self.column:
            lines += [self.source, "".join("\t" if c == "\t" else " " for c in self._before_column()) + "^"]
        elif self.source:
            lines.append(f"    {self.source.strip()}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _before_column(self):
        """The text before the column, which counts bytes."""
        return self.source.encode()[:self.column - 1].decode(errors="ignore")


def reason(problem):
    """The gist of another library's exception in a line: the system's words, the first line of its message, or else its
    type."""
    said = getattr(problem, "strerror", None) or str(problem).strip() or type(problem).__name__
    return said.splitlines()[0]


class Error(Exception):
    """A model, plan, data or run is at fault. `diagnostics` says where and why, one Diagnostic a problem."""

    def __init__(self, diagnostics):
        if isinstance(diagnostics, str):
            diagnostics = [Diagnostic(diagnostics)]
        self.diagnostics = list(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))

    def __reduce__(self):
        return type(self), (self.diagnostics,)
