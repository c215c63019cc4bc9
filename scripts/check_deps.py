"""`make check-deps`: known vulnerabilities of everything installed, and under which licences it stands.

pip-audit calls it a success when it could look nothing up. Here what was not checked is a failure of its own: exit
code 0 when every package was checked and none is known to be vulnerable, 1 when one is, 2 when some were not checked.

Without a network, bring OSV's export of its PyPI advisories and name it: `make check-deps ADVISORIES=all.zip`. What it
says is as old as it is, so its date is said with it.
"""

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

OURSELVES = "secure-sapefl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    checked: int
    vulnerable: tuple[str, ...]
    unchecked: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        return 1 if self.vulnerable else 2 if self.unchecked or not self.checked else 0

    @property
    def sentences(self) -> list[str]:
        said = [f"Vulnerable: {line}" for line in self.vulnerable]
        if self.unchecked or not self.checked:
            some = ", ".join(self.unchecked[:5]) + (", ..." if len(self.unchecked) > 5 else "")
            what = f"{len(self.unchecked)} packages were NOT checked ({some})" if some else "NOTHING was checked"
            said.append(
                f"{what}: the advisory database could not be asked. Run this where it can be reached, or bring OSV's "
                "export of PyPI (ADVISORIES=all.zip); until then nothing is known about them."
            )
        said.append(f"{self.checked} packages were checked, {len(self.vulnerable)} advisories apply.")
        return said


def verdict(report: str) -> Verdict:
    """Read pip-audit's JSON; what is not JSON is an audit that did not take place."""
    try:
        entries: list[dict[str, Any]] = json.loads(report)["dependencies"]
    except (json.JSONDecodeError, KeyError, TypeError):
        return Verdict(checked=0, vulnerable=(), unchecked=())
    checked = [entry for entry in entries if "skip_reason" not in entry]
    return Verdict(
        checked=len(checked),
        vulnerable=tuple(_advice(entry, found) for entry in checked for found in entry["vulns"]),
        unchecked=tuple(entry["name"] for entry in entries if "skip_reason" in entry),
    )


def _advice(entry: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    fixed = ", ".join(found.get("fix_versions") or ()) or "no release yet"
    return f"{entry['name']} {entry['version']}: {found['id']}, fixed in {fixed}"


def requirements(installed: Iterable[Distribution]) -> list[str]:
    """Every package as published: a local build (torch 2.13.0+cpu) is audited as the release it is a build of."""
    found = {d.metadata["Name"]: d.version.partition("+")[0] for d in installed if d.metadata["Name"] != OURSELVES}
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def audit(names: list[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requirements.txt"
        file.write_text("\n".join(names) + "\n")
        options = ["--requirement", str(file), "--no-deps", "--disable-pip", "--format", "json"]
        command = [sys.executable, "-m", "pip_audit", *options, "--progress-spinner", "off"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own interpreter
    return done.stdout


def look_up(advisories: Iterable[Mapping[str, Any]], names: Iterable[str]) -> str:
    """What pip-audit would report, from records of OSV (ossf.github.io/osv-schema)."""
    found: dict[str, dict[str, Any]] = {}
    for name, _, version in (line.partition("==") for line in names):
        found[canonicalize_name(name)] = {"name": name, "version": version, "vulns": []}
    for advisory in advisories:
        for affected in advisory.get("affected", ()) if "withdrawn" not in advisory else ():
            entry = found.get(canonicalize_name(affected.get("package", {}).get("name", "")))
            if entry is not None and _affects(affected, entry["version"]):
                fixed = [event["fixed"] for events in _ranges(affected) for event in events if "fixed" in event]
                entry["vulns"].append({"id": advisory["id"], "fix_versions": fixed})
    return json.dumps({"dependencies": list(found.values())})


def _affects(affected: Mapping[str, Any], version: str) -> bool:
    """As OSV defines it: by enumeration, or within a range."""
    listed = version in affected.get("versions", ())
    return listed or any(_within(events, Version(version)) for events in _ranges(affected))


def _ranges(affected: Mapping[str, Any]) -> list[list[dict[str, str]]]:
    """Of versions; ranges of commits say nothing here."""
    return [one["events"] for one in affected.get("ranges", ()) if one["type"] == "ECOSYSTEM"]


def _within(events: list[dict[str, str]], version: Version) -> bool:
    inside = False
    for at, kind in sorted(moment for event in events for moment in _moments(event)):
        match kind:
            case "introduced" if version >= at:
                inside = True
            case "fixed" if version >= at:
                inside = False
            case "last_affected" if version > at:
                inside = False
    return inside


def _moments(event: Mapping[str, str]) -> Iterator[tuple[Version, str]]:
    """A beginning that is no version ("0" is one) is that of time; an end that is none never comes."""
    for kind, at in event.items():
        try:
            yield Version(at), kind
        except InvalidVersion:
            if kind == "introduced":
                yield Version("0.dev0"), kind


def exported(path: Path) -> list[dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        return [json.loads(archive.read(name)) for name in archive.namelist() if name.endswith(".json")]


def licence(package: Distribution) -> str:
    """As the package declares it: by expression, by classifier, or in words."""
    metadata = package.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = [c for c in metadata.get_all("Classifier") or () if c.startswith("License :: ")]
    if classifiers:
        return " / ".join(sorted(c.rpartition(" :: ")[2] for c in classifiers))
    words = (metadata.get("License") or "").strip().splitlines()
    return words[0][:60] if words else "not declared"


def by_licence(installed: Iterable[Distribution]) -> dict[str, list[str]]:
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for package in installed:
        groups[licence(package)].add(package.metadata["Name"])
    return {name: sorted(groups[name]) for name in sorted(groups, key=lambda name: (-len(groups[name]), name))}


def checked(names: list[str]) -> tuple[Verdict, str]:
    """The verdict, and whose it is."""
    export = os.environ.get("ADVISORIES")
    if not export:
        return verdict(audit(names)), "Asked: the advisory database of PyPI, by pip-audit, now."
    try:
        advisories = exported(Path(export))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        return verdict(""), f"{export} is not an export of advisories: {error}."
    newest = max((str(one.get("modified", "")) for one in advisories), default="")
    source = f"Asked: {export}, {len(advisories)} advisories, the newest of {newest[:10]}. It knows of nothing later."
    return verdict(look_up(advisories, names) if advisories else ""), source


def main() -> int:
    installed = list(distributions())
    for name, packages in by_licence(installed).items():
        print(f"{name} ({len(packages)}): {', '.join(packages)}")
    found, source = checked(requirements(installed))
    print("\n" + "\n".join((source, *found.sentences)))
    return found.exit_code


if __name__ == "__main__":
    sys.exit(main())
