"""examples/dcgan."""
import re


def test_readme(readme):
    smaller = {"make_faces.py faces": "make_faces.py faces --count 40", "--size 32 --channels 16 --epochs 12": "--size 16 --channels 4 --batch-size 20 --epochs 2"}
    trained = readme("dcgan", smaller)[-1]
    numbers = re.findall(r"epoch \d/2  loss of D ([\d.]+)  loss of G ([\d.]+)  distance ([\d.]+)", trained)
    assert len(numbers) == 2 and (readme.folder / "made.png").stat().st_size > 1000
