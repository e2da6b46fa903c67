"""What goes wrong, as values with a place."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Diagnostic:
    """One problem: where it is and what it is. `line` and `column` count from 1; 0 where there is none."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    source: str = ""  # the line of text that `line` names, where it is known

    def __str__(self):
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        text = f"{place}: error: {self.message}" if place else f"error: {self.message}"
        return f"{text}\n    {self.source.strip()}" if self.source else text


class Error(Exception):
    """A model, plan, data or run is at fault. `diagnostics` says where and why, one Diagnostic a problem."""

    def __init__(self, diagnostics):
        if isinstance(diagnostics, str):
            diagnostics = [Diagnostic(diagnostics)]
        self.diagnostics = list(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))
