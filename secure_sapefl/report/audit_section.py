"""What `secure-sapefl audit` found of a run, worded for its page. Reads `audit.json`; attacks nothing itself."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class PartyRow:
    name: str
    who: str
    membership: tuple[str, ...]
    rebuilt: str
    learnt: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSection:
    parties: tuple[PartyRow, ...]
    epsilon: str
    mechanisms: tuple[tuple[str, str, str], ...]  # release, at least, at most
    control: str
    forgeries: str
    alarms: tuple[str, ...]
    picture: str | None  # a data URI


def read_audit(folder: Path) -> AuditSection | None:
    """The audit of a run, or None where there was none. A damaged one is a damaged run."""
    file, picture = folder / "audit.json", folder / "plots" / "audit-inversion.png"
    if not file.is_file():
        return None
    found = json.loads(file.read_text(encoding="utf-8"))
    return AuditSection(
        parties=tuple(_party(name, one, found["timing"][name]) for name, one in found["parties"].items()),
        epsilon=_epsilon(found["empirical_epsilon"]),
        mechanisms=tuple(_mechanism(one) for one in found["empirical_epsilon"]["mechanisms"]),
        control=_rebuilt(found["inversion_control"]),
        forgeries=_forgeries(found["server_attacks"]["forgeries_accepted"]),
        alarms=tuple(alarm["sentence"] for alarm in found["alarms"]),
        picture=f"data:image/png;base64,{b64encode(picture.read_bytes()).decode()}" if picture.is_file() else None,
    )


def _party(name: str, one: Mapping[str, Any], times: Sequence[Mapping[str, Any]] | str) -> PartyRow:
    sources = {**one["properties"], "times": times}
    learnt = [f"{source}: {worked}" for source, found in sources.items() if (worked := _worked(found))]
    return PartyRow(
        name=name,
        who=one["who"],
        membership=tuple(f"{kind}: {_detection(found)}" for kind, found in one["membership"].items())
        or ("no model in sight",),
        rebuilt="no update in sight" if one["inversion"] is None else _rebuilt(one["inversion"]),
        learnt=tuple(learnt) or ("nothing beyond chance",),
    )


def _detection(found: Mapping[str, Any]) -> str:
    """The better of the two attacks."""
    attacks = [one for one in (found["loss_threshold"], found["rmia"]) if one is not None]
    best = max(attacks, key=lambda one: float(one["auc"]["value"]))
    auc, rates = best["auc"], best["tpr_at_fpr"]
    caught = [f"{_rate(one)} at {float(at):.1%} false alarms" for at, one in rates.items()]
    return f"AUC {auc['value']:.2f} ({auc['low']:.2f} to {auc['high']:.2f}); finds {', '.join(caught)}"


def _rate(one: Mapping[str, float] | None) -> str:
    if one is None:
        return "an unknown share, for want of rows,"
    return f"{one['value']:.1%} ({one['low']:.1%} to {one['high']:.1%})"


def _rebuilt(one: Mapping[str, Any]) -> str:
    quality = "" if one["psnr_best"] is None else f", {one['psnr_best']:.1f} dB"
    return f"{one['share_rebuilt']:.0%} of {one['rebuilt']}; best error {one['error_best']:.2f}{quality}"


def _worked(found: Sequence[Mapping[str, Any]] | str) -> str:
    if isinstance(found, str):
        return ""
    hits = [one for one in found if one["p_value"] < _SIGNIFICANT and one["r_squared"] > 0]
    return ", ".join(f"{one['property']} (R² {one['r_squared']:.2f}, p {one['p_value']:.3f})" for one in hits)


def _epsilon(found: Mapping[str, Any]) -> str:
    claimed = found["claimed"]
    promise = "The run promised no budget." if claimed is None else f"The ledgers say at most {claimed:.2f}."
    return (
        f"ε is at least {found['epsilon']:.2f} at δ {found['delta']:g}, with 95 % confidence: {found['right']} of "
        f"{found['guesses']} coins about {found['canaries']} canaries were guessed right. Had all been, "
        f"{found['reachable']:.2f} would have shown. {promise}"
    )


def _mechanism(one: Mapping[str, Any]) -> tuple[str, str, str]:
    return one["release"], f"{one['epsilon_lower']:.2f}", f"{one['epsilon_claimed']:.2f}"


def _forgeries(accepted: Mapping[str, bool]) -> str:
    if not accepted:
        return "No forged sum was tried: the run is not encrypted, or no round had two contributors."
    passed = [name for name, taken in accepted.items() if taken]
    return f"{len(accepted)} forged sums and models were sent to the sites; {len(passed) or 'none'} passed."
