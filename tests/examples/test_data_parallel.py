"""examples/data_parallel."""
import re


def test_readme(readme):
    two, three, parallelism = readme("data_parallel", {})
    sizes = [30, 30, 30, 10]
    for printed in (two, three):
        assert re.findall(r"Outside: input size torch.Size\(\[(\d+), 5\]\) output_size torch.Size\(\[(\d+), 2\]\)", printed) == [(str(n), str(n)) for n in sizes]
        assert "In Model: input size" in printed
    output, gradients = re.search(r"output \(20, 20\)\n.*output ([\d.e-]+), gradients ([\d.e-]+)", parallelism).groups()
    assert float(output) < 1e-6 and float(gradients) < 1e-6
