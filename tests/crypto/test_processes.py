"""Processes that hold a key must not outlive the one that gave it to them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = """
import sys
import numpy as np
from sapefl_crypto import CohortKey, KeyPool, Parameters

pool = KeyPool(CohortKey.generate(Parameters(max_clients=2)), workers=1)
pool.submit(CohortKey.encrypt, np.zeros(3, np.float32), study="s", round_index=0, sender="a").result()
print(*pool._executor._processes, flush=True)
sys.stdin.read()
"""


def test_a_killed_parent_takes_its_workers_along() -> None:
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert workers
    assert all(_alive(pid) for pid in workers)
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    for _ in range(600):
        if not any(_alive(pid) for pid in workers):
            return
        time.sleep(0.1)
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    raise AssertionError("workers with a copy of the key were still running a minute after their parent was killed")


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
