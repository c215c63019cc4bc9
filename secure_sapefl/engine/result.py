"""What a run gives back: one record a round, and a summary whose keys scripts rely on."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from secure_sapefl.engine.observers import result_tables
from secure_sapefl.engine.scored import ScoredModels
from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import CLASS_METRICS, Metric, Scores, Spread
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SiteId
from secure_sapefl.stopwatch import PHASES, Phase

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """Bytes a site sent and received in a round as a member of its committee; none where there is no committee."""

    up: float = 0.0
    down: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """How much a site sent. What it sent is gone once it is added: of thousands of sites it would fill the memory."""

    site: SiteId
    size: int
    update: int  # of these bytes, the encrypted update's

    @classmethod
    def from_upload(cls, upload: RoundUpload) -> "Sent":
        return cls(site=upload.site, size=upload.size, update=len(upload.update or b""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Bytes a site of the cohort sent and received in a round, on average, as counted from the messages."""

    up: float
    down: float
    update: float  # of the upload, the encrypted update alone

    @classmethod
    def from_messages(
        cls, invitations: Sequence[Invitation], uploads: Sequence[Sent], outcome: RoundOutcome, leg: Leg
    ) -> "Traffic":
        """Down: the peers' models and the aggregate, which every site of the study receives. With joint keys, up has
        the shares and down the answers too, and both a site's ``leg``."""
        sent = max(len(uploads), 1)
        return cls(
            up=leg.up + sum(upload.size for upload in uploads) / sent,
            update=sum(upload.update for upload in uploads) / sent,
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
    validation: float | None = None  # by the main metric, on training rows that were held back

    def spreads(self) -> dict[str, Spread]:
        """Every metric of the sites' own models, and the global model's main one, its accuracy say; nothing where none
        was evaluated."""
        everywhere = {f"global_{name}": spread for name, spread in _main(self.everywhere).metrics.items()}
        found = {**self.personal.metrics, **everywhere}
        return {name: spread for name, spread in found.items() if spread.per_client}

    def numbers(self) -> dict[str, float]:
        """The round in single numbers, means over sites, for a log of curves; what is not defined is left out."""
        found = {
            **{name: spread.mean for name, spread in self.spreads().items()},
            **{f"bytes/{name}": value for name, value in asdict(self.traffic).items()},
            **{f"similarity/{name}": value for name, value in self.similarity.items()},
            "seconds": self.total_seconds,
        }
        return {name: float(value) for name, value in found.items() if isfinite(value)}

    def to_json(self) -> dict[str, Any]:
        return {
            "round": self.round_index,
            **_named(self.personal, self.everywhere),
            "metrics": self.personal.to_json(),
            "global_metrics": _main(self.everywhere).to_json(),
            "changed": self.changed,
            "weights": dict(self.weights),
            "bytes": {**self.traffic.to_json(), "update": self.traffic.update},
            "seconds": {"total": self.total_seconds, **self.seconds},
            "similarity": dict(self.similarity),
            "refused": [{"site": r.site, "reason": r.reason} for r in self.refusals],
            **({} if self.validation is None else {"validation": self.validation}),
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> "RoundRecord":
        """The record back from its line, so that a resumed run ends with the numbers of the whole."""
        seconds = dict(line["seconds"])
        total = seconds.pop("total")
        return cls(
            round_index=line["round"],
            personal=Scores(_metrics(line)),
            everywhere=Scores({name: _spread(value) for name, value in _everywhere(line).items()}),
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
            validation=line.get("validation"),
        )


def _named(personal: Scores, everywhere: Scores) -> dict[str, object]:
    """Accuracy and AUC, which have keys of their own; null where the task has no such thing."""
    found = {
        "accuracy": personal.metrics.get("accuracy"),
        "auc": personal.metrics.get("auc"),
        "global_accuracy": everywhere.metrics.get("accuracy"),
    }
    return {key: None if spread is None else spread.to_json() for key, spread in found.items()}


def _main(scores: Scores) -> Scores:
    """The main metric alone."""
    return Scores(dict(list(scores.metrics.items())[:1]))


def _metrics(line: Mapping[str, Any]) -> dict[str, Spread]:
    """As release 0.1 wrote them too, which had accuracy and AUC alone."""
    found = line.get("metrics") or {name: line[name] for name in ("accuracy", "auc")}
    return {name: _spread(value) for name, value in found.items()}


def _everywhere(line: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = line.get("global_metrics") or {"accuracy": line["global_accuracy"]}
    return found


def _spread(value: Mapping[str, Any]) -> Spread:
    return Spread(tuple(float("nan") if v is None else v for v in value["per_client"]))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result:
    facts: Mapping[str, Any]  # method, dataset, sites, ... as they stand in the summary
    parameters: int
    rounds: tuple[RoundRecord, ...]
    similarity_matrix: list[list[float | None]] = field(default_factory=list)
    metrics: tuple[Metric, ...] = CLASS_METRICS  # of its task, the main one first
    privacy: Mapping[str, Any] | None = None
    late_clients: Mapping[str, Any] | None = None  # how those did who joined after the last round
    used: int | None = None  # the place of the round whose models are used, where training was stopped early
    models: ScoredModels | None = field(default=None, compare=False)  # once the run is over

    @property
    def accuracy(self) -> Spread:
        """Every site's own model on its own test rows, after the last round."""
        return self.last.personal.accuracy

    @property
    def auc(self) -> Spread:
        return self.last.personal.auc

    @property
    def global_accuracy(self) -> Spread:
        return self.last.everywhere.accuracy

    @property
    def main(self) -> Spread:
        """The same by what the task is judged by first: the accuracy of a classification."""
        return self.last.personal.main

    @property
    def last(self) -> RoundRecord:
        """The round whose models are used."""
        return self.rounds[-1 if self.used is None else self.used]

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

    def to_pandas(self) -> "pandas.DataFrame":
        """A row for every site of every round that was evaluated: its metrics, and the weight of its update (none where
        it sent none). Rounds count from 1. Sites that joined late are in `late_clients`."""
        return result_tables.frame(self)

    def __repr__(self) -> str:
        return f"<Result of {result_tables.title(self)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return result_tables.view(self)

    @property
    def skipped_rounds(self) -> list[int]:
        return [record.round_index for record in self.rounds if not record.changed]

    def _stopped(self) -> dict[str, Any]:
        """Which round is used where validation rows decided; ``rounds`` are then those that were run."""
        if self.used is None:
            return {}
        said = {"used_round": self.last.round_index, "validation": self.last.validation, "metric": self.metrics[0].name}
        return {"rounds": len(self.rounds), "early_stopping": said}

    def _with_facts(self, scores: Scores) -> dict[str, Any]:
        """With what a reader needs to know of each metric, such as which way is better."""
        facts = {metric.name: metric.facts() for metric in self.metrics}
        return {name: {**spread.to_json(), **facts[name]} for name, spread in scores.metrics.items()}

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
            **self._stopped(),
            "parameters": self.parameters,
            **_named(self.last.personal, self.last.everywhere),
            "main_metric": self.metrics[0].name,
            "metrics": self._with_facts(self.last.personal),
            "global_metrics": self._with_facts(_main(self.last.everywhere)),
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
