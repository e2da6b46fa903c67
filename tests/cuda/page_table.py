"""A table of a page of docs/ that a test makes: it holds the page to the table, or writes it there."""
import re
import sys
from pathlib import Path

END = "<!-- end -->"


def hold(page, begin, table, what):
    """`table` stands in the file `page` between the line `begin` and the next `END`; with --write it is put there. Returns the test's exit status."""
    text = page.read_text(encoding="utf-8")
    updated, places = re.subn(f"{re.escape(begin)}\n.*?{re.escape(END)}", lambda _: f"{begin}\n{table}\n{END}", text, flags=re.DOTALL)
    assert places == 1, page
    if "--write" in sys.argv:
        page.write_text(updated, encoding="utf-8")
    elif updated != text:
        print(f"{page} has other {what}; `{Path(sys.argv[0]).name} --write` writes these:\n{table}")
        return 1
    return 0
