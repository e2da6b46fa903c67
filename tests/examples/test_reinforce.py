"""examples/reinforce."""
import re
import subprocess


def rewards(printed):
    return [float(reward) for reward in re.findall(r"running reward ([\d.]+)", printed)]


def test_readme(readme):
    ours, = readme("reinforce", {"reinforce.py": "reinforce.py --episodes 10 --dropout 0"})
    done = subprocess.run(["python3", "examples/reinforce/reinforce.py", "--episodes", "10", "--dropout", "0", "--pytorch"], cwd=readme.folder, env=readme.environment,
                          capture_output=True, text=True, check=True)
    # Without dropout, whose masks differ, probabilities are the same but for rounding, and so are the actions drawn from them.
    assert rewards(ours) == rewards(done.stdout) and len(rewards(ours)) == 1
