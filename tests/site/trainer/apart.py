"""Short programs in a process of their own, since what they give up they never get back."""

import subprocess
import sys
from textwrap import dedent


def told(program: str, *arguments: str) -> str:
    """What ``program`` prints; ``tried(f)`` in it is "done" or the name of the error."""
    tried = """
        import os, socket, sys
        from pathlib import Path
        def tried(attempt):
            try:
                attempt()
            except OSError as error:
                return type(error).__name__
            return "done"
    """
    whole = dedent(tried) + dedent(program)
    done = subprocess.run(
        [sys.executable, "-I", "-c", whole, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
