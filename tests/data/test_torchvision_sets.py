"""torchvision beside a torch without its CUDA operators."""

import subprocess
import sys


def test_the_datasets_import_in_a_fresh_process_and_twice():
    code = (
        "from secure_sapefl.data.torchvision_sets import import_datasets as load;"
        "print(load().MNIST.__name__, load().CIFAR10.__name__)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["MNIST", "CIFAR10"]
