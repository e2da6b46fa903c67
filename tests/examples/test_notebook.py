"""examples/notebook."""
import json
import re


def test_readme(readme):
    readme("notebook", {})
    cells = json.loads((readme.folder / "executed.ipynb").read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert sum("image/svg+xml" in output.get("data", {}) for output in outputs) == 2
    printed = "".join("".join(output.get("text", "")) for output in outputs)
    assert "chunks 4,4,2" in printed and re.search(r"\(10, 5\) → \(10, 2\)", printed)
    losses = json.loads("".join(outputs[-2]["data"]["text/plain"]))
    assert len(losses) == 5 and losses[-1] < 0.1 * losses[0]
    assert "no divergence" in "".join(outputs[-1]["data"]["text/plain"])
