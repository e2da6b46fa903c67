"""examples/fashion_mnist."""
import re


def test_readme(readme):
    smaller = {"make_clothes.py clothes": "make_clothes.py clothes --train 500 --test 100", "--batch-size 64": "--batch-size 25"}
    *_, trained, evaluated = readme("fashion_mnist", smaller)
    accuracy, loss = re.search(r"eval accuracy ([\d.]+), .* train loss ([\d.]+) after 3 epochs", trained).groups()
    assert float(loss) < 2  # of ln 10 = 2.3
    # Batch norm's statistics are the file's: the devices change nothing.
    assert f"accuracy {accuracy}," in evaluated and "on 100 rows" in evaluated
