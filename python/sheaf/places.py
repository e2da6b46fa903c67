"""The compiler's messages about an imported model's layers, with the lines of code that the layers were imported from."""
import dataclasses
import json

from .error import Error


class Places:
    """The code behind layers of a model file: pairs of a layer's dict and a Diagnostic, whose message is the operator's name. Layers
    that are changed or moved keep theirs."""

    def __init__(self, pairs=()):
        self._pairs = list(pairs)

    def __bool__(self):
        return bool(self._pairs)

    def explained(self, error, model, text):
        """`error`, which the compiler raised for the model file `text`: each of its diagnostics names the operator and the line of the
        innermost layer that it points at, if that was imported from one. `model` is what `text` was written from."""
        origins = {id(entry): origin for entry, origin in self._pairs}
        spans = [(first, end, origins[id(entry)]) for (first, end), entry in zip(_spans(text), _dicts(model), strict=True) if id(entry) in origins]
        return Error([_explained(diagnostic, spans, text) for diagnostic in error.diagnostics])


def _explained(diagnostic, spans, text):
    if not diagnostic.line:
        return diagnostic
    lines = text.split("\n")
    line = lines[diagnostic.line - 1]
    column = len(line.encode()[:max(diagnostic.column - 1, 0)].decode(errors="ignore"))  # columns count bytes
    at = sum(len(before) + 1 for before in lines[:diagnostic.line - 1]) + column
    around = [(end - first, text[first:end], origin) for first, end, origin in spans if first <= at < end]
    if not around:
        return diagnostic
    _, layer, origin = min(around, key=lambda span: span[0])
    notes = (*diagnostic.notes, f"it became the layer at {diagnostic.file}:{diagnostic.line}: {layer[:200]}")
    return dataclasses.replace(origin, message=f"'{origin.message}': {diagnostic.message}", notes=notes, severity=diagnostic.severity)


def _dicts(value):
    """The dicts of a JSON value, inner ones first."""
    if isinstance(value, (dict, list, tuple)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _dicts(part)
    if isinstance(value, dict):
        yield value


def _spans(text):
    """Where the objects of a JSON text begin and end, in the order of _dicts."""
    found, decoder = [], json.JSONDecoder()
    plain = decoder.parse_object

    def located(opened, *how):
        value, end = plain(opened, *how)
        found.append((opened[1] - 1, end))
        return value, end

    decoder.parse_object = located
    decoder.scan_once = json.scanner.py_make_scanner(decoder)
    decoder.decode(text)
    return found
