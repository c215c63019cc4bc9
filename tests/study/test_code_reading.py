"""What is found in carried code by its words."""

import pytest

from secure_sapefl.study.code_reading import flags, imports, in_words, numbered, unusual
from tests.carried_code import HONEST


@pytest.mark.parametrize(
    ("source", "topic", "word"),
    [
        ("rows = open('/etc/passwd')", "files", "open"),
        ("from pathlib import Path", "files", "pathlib"),
        ("import torch\ntorch.save(1, 2)", "files", "save"),
        ("import socket", "network", "socket"),
        ("import urllib.request", "network", "urllib"),
        ("import torch\ntorch.hub", "network", "hub"),
        ("import subprocess", "processes", "subprocess"),
        ("import os\nos.fork()", "processes", "fork"),
        ("import ctypes", "processes", "ctypes"),
        ("eval('1')", "eval", "eval"),
        ("f = getattr(x, 'sys' + 'tem')", "eval", "getattr"),
        ("__import__('o' + 's')", "eval", "__import__"),
        ("().__class__.__subclasses__()", "eval", "__subclasses__"),
        ("def f():\n    import pickle", "eval", "pickle"),
    ],
)
def test_a_word_that_reaches_further_is_named_with_its_line(source: str, topic: str, word: str) -> None:
    line = len(source.splitlines())
    assert (topic, line, word) in {(flag.topic, flag.line, flag.word) for flag in flags(source)}
    assert f"line {line}: {word}" in in_words(source)


def test_an_honest_model_has_no_flag_and_that_proves_nothing() -> None:
    assert flags(HONEST) == ()
    assert "which proves nothing" in in_words(HONEST)
    assert imports(HONEST) == ("torch",)
    assert unusual(HONEST) == ()


def test_imports_are_found_wherever_they_stand() -> None:
    source = "import math\ndef f():\n    from torch.nn import functional\n    import requests as r\n"
    assert imports(source) == ("math", "requests", "torch.nn")
    assert unusual(source) == ("requests",)


def test_lines_are_numbered_as_flags_count_them() -> None:
    assert numbered("a = 1\nb = 2\n") == "   1  a = 1\n   2  b = 2"
