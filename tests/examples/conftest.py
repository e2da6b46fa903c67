"""Runs the commands of an example's README, made smaller, so that what the README says is what works."""
import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(os.environ["SHEAF_SOURCE_DIR"])
LIMIT_SECONDS = 300


@pytest.fixture
def readme(tmp_path):
    """Runs all commands of examples/NAME/README.md in one folder, with each KEY of `smaller` replaced by its value; gives what each printed."""
    for name in ("examples", "models"):
        (tmp_path / name).symlink_to(SOURCE / name)
    environment = {**os.environ, "PATH": f"{Path(os.environ['SHEAF']).parent}:{os.environ['PATH']}"}

    def run(name, smaller):
        text = "".join(re.findall(r"^```sh\n(.*?)^```$", (SOURCE / "examples" / name / "README.md").read_text(), re.MULTILINE | re.DOTALL))
        for old, new in smaller.items():
            assert old in text, f"{name}/README.md has no {old}"
            text = text.replace(old, new)
        printed = []
        for command in re.sub(r"\\\n", " ", text).splitlines():
            done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS)
            assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
            printed.append(done.stdout)
        return printed

    run.folder, run.environment = tmp_path, environment
    return run
