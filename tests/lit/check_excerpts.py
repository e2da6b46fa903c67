"""Checks that MLIR excerpts in a page are part of the tests they name.

usage: check_excerpts.py PAGE SOURCE_ROOT

Each ```mlir block of the page stands after a line `<!-- FILE -->`; its lines must follow one another in FILE, in which
lines of FileCheck's (`// CHECK…`) are passed over. Exits with 1 and a line for each excerpt that isn't there.
"""
import pathlib
import re
import sys


def main(page_name, root):
    page = pathlib.Path(page_name).read_text(encoding="utf-8")
    excerpts = list(re.finditer(r"^(?:<!-- (\S+) -->\n)?```mlir\n(.*?\n)```$", page, re.MULTILINE | re.DOTALL))
    errors = [] if excerpts else [f"{page_name}: no excerpts"]
    for excerpt in excerpts:
        name, text = excerpt.groups()
        line = page.count("\n", 0, excerpt.start(2))
        place = f"{page_name}:{line}"
        if not name:
            errors.append(f"{place}: excerpt names no test")
            continue
        lines = pathlib.Path(root, name).read_text(encoding="utf-8").splitlines(keepends=True)
        test = "".join(part for part in lines if not part.lstrip().startswith("// CHECK"))
        if text not in test:
            errors.append(f"{place}: excerpt is not in {name}")
    print("\n".join(errors), file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
