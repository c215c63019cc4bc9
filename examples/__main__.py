"""`python examples NAME` runs an example. With `--quick` it is small, to see that it runs; its numbers mean nothing."""

import argparse
import importlib
import sys
from datetime import datetime
from pathlib import Path

from common import Setting, took

from secure_sapefl.errors import SapeflError

EXAMPLES = {  # name: module, what it is, how long it takes on one core
    "heart_hospitals": ("heart_hospitals.run", "four hospitals: who gains from learning together, and at which ε", 40),
    "heart_network": ("heart_hospitals.network", "the same study with real processes, TLS, CKKS and privacy", 150),
    "wearables_har": ("wearables_har.run", "thirty people with a phone at the belt; five of them join late", 20),
    "imaging": ("imaging.run", "chest X-rays and blood cells at sites with different patients", 80),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python examples",
        description=__doc__,
        epilog="\n".join(f"{name:16} {what}" for name, (_, what, _) in EXAMPLES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=EXAMPLES, metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="small and meaningless, in seconds")
    parser.add_argument("--out", type=Path, help="folder for runs and plots; a new one under runs/ unless given")
    given = parser.parse_args(arguments)
    module, what, seconds = EXAMPLES[given.name]
    out = given.out or Path("runs") / f"{datetime.now():%Y-%m-%d-%H%M%S}-{given.name}"
    print(f"{given.name}: {what}.")
    if not given.quick:
        print(f"Takes about {seconds} seconds of one core.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with took("In all"):
            importlib.import_module(module).main(Setting(quick=given.quick, out=out))
    except (SapeflError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Runs and plots: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
