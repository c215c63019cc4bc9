"""What a running site says of itself, for `site status`."""

import json
import os
from pathlib import Path
from typing import Any

from secure_sapefl.errors import BadInput


def read_site_status(path: Path) -> dict[str, Any]:
    """`status.json` of a study at a site, with whether its agent runs now."""
    if not path.is_file():
        raise BadInput(f"{path.parent} has no status yet; start the site with `secure-sapefl site start`.")
    found: dict[str, Any] = json.loads(path.read_bytes())
    return {**found, "running": found["pid"] is not None and Path(f"/proc/{found['pid']}").exists()}


def all_statuses(home: Path) -> list[dict[str, Any]]:
    """Of every study that was ever started at a site."""
    return [read_site_status(path) for path in sorted((home / "studies").glob("*/status.json"), key=os.path.getmtime)]
