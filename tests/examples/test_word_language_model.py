"""examples/word_language_model."""
import re
import subprocess


def perplexities(printed):
    return [float(number) for number in re.findall(r"train perplexity ([\d.]+)", printed)]


def test_readme(readme):
    smaller = {"make_text.py text": "make_text.py text --text examples/*/*.py examples/*/README.md",
               "main.py text --epochs 6": "main.py text --epochs 2 --size 16 --bptt 10 --dropout 0 --generate 5", "--epochs 6": "--steps 2"}
    _, ours, _, trained, evaluated = readme("word_language_model", smaller)
    found = perplexities(ours)
    assert len(found) == 2 and found[1] < found[0] and len(ours.splitlines()[-1].split()) == 5
    assert "after 2 steps" in trained and "perplexity" in evaluated
    again = ["python3", "examples/word_language_model/main.py", "text", *"--epochs 2 --size 16 --bptt 10 --dropout 0 --generate 5 --pytorch".split()]
    done = subprocess.run(again, cwd=readme.folder, env=readme.environment, capture_output=True, text=True, check=True)
    for a, b in zip(found, perplexities(done.stdout)):
        assert abs(a - b) < 0.01 * b
