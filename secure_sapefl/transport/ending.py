"""A program of Flower's that ends when its main thread does: `python -m secure_sapefl.transport.ending PROGRAM OPTION…`

A SuperNode sends itself SIGINT when the SuperLink does not know it any more, as after the server was killed. Heartbeat
and question may both do so; then the second interrupts the handler of the first, the main thread ends with a
KeyboardInterrupt, and other threads go on for ever. Whoever waits for its end to start it again would never do so.
"""

import os
import runpy
import shutil
import sys
import traceback
from collections.abc import Callable
from typing import Final, NoReturn

INTERRUPTED: Final = 130


def end_with(program: Callable[[], object]) -> NoReturn:
    """Run it, and end this process with its exit code, whatever else still runs here."""
    code = 1
    try:
        program()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> NoReturn:
    path = shutil.which(sys.argv[1])
    if path is None:
        sys.exit(f'{sys.argv[1]} is not on the path; install the extra "deploy".')
    sys.argv = [path, *sys.argv[2:]]
    end_with(lambda: runpy.run_path(path, run_name="__main__"))


if __name__ == "__main__":
    main()
