"""The server side runs in a process that never had a key, and nothing of the key is found in that process's memory.

The scan is done from outside, by the parent, so that looking for the secret does not put it there. The control is the
same scan of a process that does hold the key.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import sapefl_crypto
from sapefl_crypto import CohortKey

LENGTH = 4100
SERVER = f"""
import sys
from sapefl_crypto import Aggregator, Parameters
size = int.from_bytes(sys.stdin.buffer.read(8), "big")
frame = sys.stdin.buffer.read(size)
aggregator = Aggregator(Parameters(max_clients=10), study="s", round_index=1, length={LENGTH}, max_score=1.0)
aggregator.add(frame, score=0.5)
aggregate = aggregator.finish()
print("ready", "sapefl_crypto.cohort" in sys.modules, flush=True)
sys.stdin.buffer.read(1)
"""
SITE = """
import sys
from sapefl_crypto import CohortKey
size = int.from_bytes(sys.stdin.buffer.read(8), "big")
key = CohortKey.from_secret(sys.stdin.buffer.read(size))
print("ready", "sapefl_crypto.cohort" in sys.modules, flush=True)
sys.stdin.buffer.read(1)
"""


@contextmanager
def waiting(program: str, given: bytes) -> Iterator[tuple[int, str]]:
    """The program after it has worked on what it was given: its process id and what it said."""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(len(given).to_bytes(8, "big") + given)
        process.stdin.flush()
        yield process.pid, process.stdout.readline().decode()
        process.stdin.write(b".")


def memory_of(pid: int) -> Iterator[bytes]:
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in maps:
            where, rights, *_ = line.split()
            if rights.startswith("rw"):
                start, stop = (int(edge, 16) for edge in where.split("-"))
                memory.seek(start)
                yield memory.read(stop - start)


def secret_parts(key: CohortKey) -> list[bytes]:
    """32-byte windows of every form the secret takes: the root, the polynomial as SEAL holds it, the packed key."""
    polynomial = key._ring.secret_coefficients().tobytes()  # the secrets that must not be found
    packed = key.export_secret()[62:]
    windows = [form[at : at + 32] for form in (polynomial, packed) for at in range(0, len(form) - 2080, 2048)]
    return [key._root.reveal(), *windows]  # as above


def found(pid: int, parts: list[bytes]) -> int:
    regions = list(memory_of(pid))
    return sum(any(part in region for region in regions) for part in parts)


pytestmark = pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="reads /proc/PID/mem, which is Linux")


def test_no_part_of_the_key_is_in_the_servers_memory(key: CohortKey) -> None:
    frame = key.encrypt(np.ones(LENGTH, np.float32), study="s", round_index=1, sender="a")
    with waiting(SERVER, frame) as (pid, said):
        assert said == "ready False\n"
        assert found(pid, secret_parts(key)) == 0
        assert found(pid, [frame[200:232]]) == 1, "the scan sees the server's own data"


def test_the_scan_finds_a_key_where_there_is_one(key: CohortKey) -> None:
    parts = secret_parts(key)
    with waiting(SITE, key.export_secret()) as (pid, said):
        assert said == "ready True\n"
        assert found(pid, parts[:1]) == 1, "the root"
        assert found(pid, parts) > len(parts) / 2


def imports(module: str) -> set[str]:
    """Modules of this package that ``module`` imports, by its source and theirs."""
    folder, seen, waiting = Path(sapefl_crypto.__file__).parent, set[str](), [module]
    while waiting:
        name = waiting.pop()
        if name not in seen and (folder / f"{name}.py").exists():
            seen.add(name)
            for node in ast.walk(ast.parse((folder / f"{name}.py").read_text())):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sapefl_crypto"):
                    waiting += [node.module.split(".")[-1], *(alias.name for alias in node.names)]  # type: ignore[union-attr]
    return seen


def test_the_aggregator_imports_nothing_that_knows_a_key() -> None:
    assert imports("aggregator") == {
        "aggregator", "aggregate", "claims", "errors", "exact_plan", "frames", "occasion", "packing", "parameters",
        "seal",
    }  # fmt: skip
    assert {"cohort", "tags", "derivation", "secret", "secret_ring"} <= imports("cohort")
