"""Becomes the ServerApp of one run of Flower's, and of no other.

Flower's own SuperExec executes whatever was submitted to the SuperLink. It is not started; this takes its place. Tasks
of other runs are taken off the list and left to lie. What Flower's program needs is imported before: a task that was
taken and gives no sign of life for half a minute is lost.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Final

from flwr.supercore.constant import TaskType
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.superlink.cli.flwr_serverapp import flwr_serverapp

from secure_sapefl.transport.tasks import PAUSE_SECONDS, next_task, task_list

_PATIENCE_SECONDS: Final = 60.0


def token_of(client: RuntimeHttpClient, run: int, seconds: float = _PATIENCE_SECONDS) -> str | None:
    """What lets a ServerApp speak for the run; None where its task does not turn up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = next_task(client, TaskType.SERVER_APP)
        if found is None:
            time.sleep(PAUSE_SECONDS)
        elif found.task.run_id == run:
            return str(found.token)
    return None


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    authority = None if options.authority is None else options.authority.read_bytes()
    client = task_list(options.superlink, options.secret.read_bytes(), authority)
    token = token_of(client, options.run)
    client.close()
    if token is None:
        sys.exit(f"The SuperLink has no task of run {options.run}.")
    line = ["--insecure"] if authority is None else ["--root-certificates", str(options.authority)]
    sys.argv = ["flwr-serverapp", "--runtime-api-address", options.superlink, "--token", token, *line]
    flwr_serverapp()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="secure_sapefl.transport.one_run", description="Becomes the ServerApp of one run."
    )
    parser.add_argument("--run", type=int, required=True)
    parser.add_argument("--superlink", required=True)
    parser.add_argument("--secret", type=Path, required=True)
    parser.add_argument("--authority", type=Path)
    return parser


if __name__ == "__main__":
    main()
