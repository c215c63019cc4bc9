"""What a run gives back: one record a round, and a summary whose keys scripts rely on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from torch import nn

from secure_sapefl.engine.scored import ScoredModels
from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import Scores, Spread
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SiteId
from secure_sapefl.stopwatch import PHASES, Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """Bytes a site sent and received in a round as a member of its committee; none where there is no committee."""

    up: float = 0.0
    down: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Bytes a site of the cohort sent and received in a round, on average, as counted from the messages."""

    up: float
    down: float
    update: float  # of the upload, the encrypted update alone

    @classmethod
    def from_messages(
        cls, invitations: Sequence[Invitation], uploads: Sequence[RoundUpload], outcome: RoundOutcome, leg: Leg
    ) -> "Traffic":
        """Down: the peers' models and the aggregate, which every site of the study receives. With joint keys, up has
        the shares and down the answers too, and both a site's ``leg``."""
        sent = max(len(uploads), 1)
        return cls(
            up=leg.up + sum(upload.size for upload in uploads) / sent,
            update=sum(len(upload.update or b"") for upload in uploads) / sent,
            down=leg.down + outcome.size + sum(invitation.size for invitation in invitations) / len(invitations),
        )

    def to_json(self) -> dict[str, float]:
        return {"up_per_client_round": self.up, "down_per_client_round": self.down}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRecord:
    """A line of `rounds.jsonl`."""

    round_index: int
    personal: Scores
    everywhere: Scores  # the global model
    changed: bool  # false where theta_G stayed as it was
    weights: tuple[tuple[SiteId, int], ...]  # what the server weighed each site's update with
    traffic: Traffic
    seconds: Mapping[Phase, float]
    total_seconds: float
    similarity: Mapping[str, float]
    refusals: tuple[Refusal, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "round": self.round_index,
            "accuracy": self.personal.accuracy.to_json(),
            "auc": self.personal.auc.to_json(),
            "global_accuracy": self.everywhere.accuracy.to_json(),
            "metrics": {name: spread.to_json() for name, spread in self.personal.metrics.items()},
            "changed": self.changed,
            "weights": dict(self.weights),
            "bytes": {**self.traffic.to_json(), "update": self.traffic.update},
            "seconds": {"total": self.total_seconds, **self.seconds},
            "similarity": dict(self.similarity),
            "refused": [{"site": r.site, "reason": r.reason} for r in self.refusals],
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> "RoundRecord":
        """The record back from its line, so that a resumed run ends with the numbers of the whole."""
        seconds = dict(line["seconds"])
        total = seconds.pop("total")
        nothing = Spread(())
        return cls(
            round_index=line["round"],
            personal=Scores(
                _spread(line["accuracy"]),
                _spread(line["auc"]),
                {name: _spread(value) for name, value in line.get("metrics", {}).items()},
            ),
            everywhere=Scores(_spread(line["global_accuracy"]), nothing),
            changed=line["changed"],
            weights=tuple(line["weights"].items()),
            traffic=Traffic(
                up=line["bytes"]["up_per_client_round"],
                down=line["bytes"]["down_per_client_round"],
                update=line["bytes"]["update"],
            ),
            seconds=seconds,
            total_seconds=total,
            similarity=line["similarity"],
            refusals=tuple(Refusal(r["site"], r["reason"]) for r in line["refused"]),
        )


def _spread(value: Mapping[str, Any]) -> Spread:
    return Spread(tuple(float("nan") if v is None else v for v in value["per_client"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    facts: Mapping[str, Any]  # method, dataset, sites, ... as they stand in the summary
    parameters: int
    rounds: tuple[RoundRecord, ...]
    similarity_matrix: list[list[float | None]] = field(default_factory=list)
    privacy: Mapping[str, Any] | None = None
    late_clients: Mapping[str, Any] | None = None  # how those did who joined after the last round
    models: ScoredModels | None = field(default=None, repr=False, compare=False)  # once the run is over

    @property
    def accuracy(self) -> Spread:
        """Every site's own model on its own test rows, after the last round."""
        return self.rounds[-1].personal.accuracy

    @property
    def auc(self) -> Spread:
        return self.rounds[-1].personal.auc

    @property
    def global_accuracy(self) -> Spread:
        return self.rounds[-1].everywhere.accuracy

    def model(self, site: SiteId) -> nn.Module:
        """The very model whose accuracy on the site's test rows is reported, late sites' included. It is the owner's:
        `secure-sapefl release` is the way to outsiders."""
        if self.models is None:
            raise BadInput(f"The run is not over: the model of {site!r} has not been scored for the last time yet.")
        return self.models.module(site)

    def export(self, site: SiteId, out: Path | str) -> None:
        """Write that model for its owner: a state dict (.safetensors) or a program that needs no source (.pt2)."""
        from secure_sapefl.engine.export import scored_model, write_export  # torch.export is slow to load

        self.model(site)  # or say why there is none
        assert self.models is not None
        write_export(scored_model(self.models, self.summary(), site), out)

    @property
    def skipped_rounds(self) -> list[int]:
        return [record.round_index for record in self.rounds if not record.changed]

    def seconds(self) -> dict[str, float]:
        total = {"total": sum(record.total_seconds for record in self.rounds)}
        return total | {phase: sum(record.seconds[phase] for record in self.rounds) for phase in PHASES}

    def summary(self) -> dict[str, Any]:
        """`summary.json`."""
        count = len(self.rounds)
        mean = Traffic(
            up=sum(r.traffic.up for r in self.rounds) / count,
            down=sum(r.traffic.down for r in self.rounds) / count,
            update=sum(r.traffic.update for r in self.rounds) / count,
        )
        return {
            **self.facts,
            "parameters": self.parameters,
            "accuracy": self.accuracy.to_json(),
            "auc": self.auc.to_json(),
            "metrics": {name: spread.to_json() for name, spread in self.rounds[-1].personal.metrics.items()},
            "global_accuracy": self.global_accuracy.to_json(),
            "bytes": {**mean.to_json(), "update_bytes_per_parameter": mean.update / self.parameters},
            "seconds": self.seconds(),
            "privacy": None if self.privacy is None else dict(self.privacy),
            "late_clients": None if self.late_clients is None else dict(self.late_clients),
            "skipped_rounds": self.skipped_rounds,
            "refused": [
                {"round": record.round_index, "site": r.site, "reason": r.reason}
                for record in self.rounds
                for r in record.refusals
            ],
            "similarity_matrix": self.similarity_matrix,
        }


def versions() -> dict[str, str]:
    """The releases a number was made with."""
    found = {}
    for name in ("secure-sapefl", "torch", "tenseal", "opacus", "numpy", "scikit-learn"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
