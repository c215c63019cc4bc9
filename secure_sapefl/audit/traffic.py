"""What shows without opening anything: sizes and times of messages, as an observer of a TLS connection has them.

Sizes are those of the run's own frames. Arrival times of a simulation say nothing, since it trains sites side by side;
so two rounds are run with every site alone, and the processor time each takes stands for how long an observer waits.
"""

from typing import Any

from secure_sapefl.audit.recording import RecordedRun, RoundMessages
from secure_sapefl.audit.references import in_the_open
from secure_sapefl.config import Config
from secure_sapefl.data import Federation
from secure_sapefl.protocol.messages import SiteId


class Sizes:
    """Every size of upload that was seen, without the sender's name, which an observer knows."""

    def __init__(self) -> None:
        self.update: set[int] = set()
        self.theta_personal: set[int] = set()
        self.by_site: dict[SiteId, dict[int, float]] = {}

    def hear(self, messages: RoundMessages) -> None:
        for upload in messages.uploads:
            name = len(upload.site.encode())
            update = 0 if upload.update is None else len(upload.update) - name
            sealed = 0 if upload.theta_personal is None else len(upload.theta_personal.blob) - name
            self.update.add(update)
            self.theta_personal.add(sealed)
            self.by_site.setdefault(upload.site, {})[upload.round_index] = float(update + sealed)

    def to_json(self) -> dict[str, Any]:
        return {"update": sorted(self.update), "theta_personal": sorted(self.theta_personal)}


class Times:
    """Seconds a site takes for its half of a round, by site and round."""

    def __init__(self) -> None:
        self.by_site: dict[SiteId, dict[int, float]] = {}

    def hear(self, messages: RoundMessages) -> None:
        for upload, seconds in zip(messages.uploads, messages.seconds, strict=True):
            self.by_site.setdefault(upload.site, {})[upload.round_index] = seconds


def time_sites(config: Config, federation: Federation) -> Times:
    alone = in_the_open(config).model_copy(update={"rounds": 2, "participation": 1.0, "group_size": 1})
    times = Times()
    RecordedRun(alone, federation).run(times)
    return times
