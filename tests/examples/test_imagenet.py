"""examples/imagenet."""
import re
import subprocess


def test_readme(readme):
    smaller = {"make_pictures.py pictures": "make_pictures.py pictures --train 40 --val 20", "--epochs 8": "--epochs 1"}
    _, imported, trained, evaluated = readme("imagenet", smaller)
    assert "('batch', 3, 32, 32)> and 10 classes" in imported
    accuracy = re.search(r"eval accuracy ([\d.]+), .* after 1 epoch", trained)[1]
    assert f"accuracy {accuracy}," in evaluated
    done = subprocess.run(["python3", "examples/imagenet/with_pytorch.py", "pictures", "--size", "32", "--epochs", "1", "--workers", "0"], cwd=readme.folder,
                          env=readme.environment, capture_output=True, text=True, check=True)
    assert re.search(r"epoch 1/1  train loss [\d.]+  eval accuracy [\d.]+", done.stdout)
