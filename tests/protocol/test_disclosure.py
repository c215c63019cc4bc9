"""What we say each party can see is what a recorded server and a recorded site could really open."""

import dataclasses
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from secure_sapefl import Config, MessageSent, RunEvent, SitesTrained
from secure_sapefl.algorithms.registry import ALGORITHMS, algorithm
from secure_sapefl.audit.parties import AtServer, AtSite
from secure_sapefl.audit.recording import PublicTerms, Recorder, RoundMessages
from secure_sapefl.config import KeyChoice, ProtectionName, ScoreVisibility
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.counting.sums import counting_round, summed
from secure_sapefl.engine.protection import Joint, exact_numbers
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.protocol.disclosure import Disclosure, Exposure, Item, Level, keys_words, protection_words, stays
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.joint.messages import Delivery
from secure_sapefl.protocol.messages import Invitation, RoundOutcome, RoundUpload
from secure_sapefl.protocol.plaintext import PlaintextCodec
from secure_sapefl.protocol.server import Server
from secure_sapefl.protocol.sums import limbs_of

THREAT_MODEL = Path(__file__).parents[2] / "docs" / "threat-model.md"
Kind = tuple[str, ProtectionName, ScoreVisibility, KeyChoice]
KINDS: list[Kind] = [
    ("sapefl", "ckks", "open", "shared"),
    ("sapefl", "ckks", "hidden", "shared"),
    ("sapefl", "plaintext", "open", "shared"),
    ("fedavg", "ckks", "open", "shared"),
    ("fedavg", "plaintext", "hidden", "shared"),
    ("fedacs", "ckks", "open", "shared"),
    ("sapefl", "ckks", "open", "joint"),
    ("fedavg", "ckks", "open", "joint"),
    ("sapefl", "plaintext", "open", "joint"),
    ("fedacs", "ckks", "open", "joint"),
    ("sapefl-plus", "ckks", "open", "joint"),
]


def said(kind: Kind, *, once: bool = False) -> dict[Item, Disclosure]:
    """``once``: with what leaves before the first round and after the last."""
    method, protection, scores, keys = kind
    exposure = Exposure(
        algorithm=algorithm(method), protection=protection, scores=scores, keys=keys, counts=once, results=once
    )
    return {one.item: one for one in exposure.disclosures()}


class Everything:
    """A run as its server and one of its sites had it, and as it was."""

    def __init__(self, kind: Kind) -> None:
        method, protection, scores, keys = kind
        config = Config(
            method=method,
            protection=protection,
            scores=scores,
            keys=keys,
            clients=4,
            rounds=3,
            participation=1.0,
            local_epochs=1,
            workers=0,
            data_options={"rows": 200, "classes": 3, "informative": 5},
        )
        self.simulation = Simulation(assemble(config))
        self.messages: list[RoundMessages] = []
        self.trained: list[SitesTrained] = []
        self.delivered: list[Delivery] = []  # to the curious site, as a member of committees
        public, chosen = PublicTerms.from_simulation(self.simulation), self.simulation.protection
        self.curious = self.simulation.assembly.sites.names[0]
        alone = isinstance(chosen, Joint)
        site_codec = chosen.sites.codec([self.curious]) if alone else chosen.codec()
        self.server = AtServer("server", public, PlaintextCodec(public.params))  # it has no key: it tries without
        self.site = AtSite("site", public, site_codec, self.curious)
        self.site_holds_a_key = isinstance(site_codec, CkksCodec)
        recorder = Recorder([self.server, self.site, self])
        self.simulation.run(observers=[recorder.hear, self.watch])

    def hear(self, messages: RoundMessages) -> None:
        self.messages.append(messages)

    def watch(self, event: RunEvent) -> None:
        match event:
            case SitesTrained():
                self.trained.append(event)
            case MessageSent(message=Delivery() as delivery, recipients=(site,)) if site == self.curious:
                self.delivered.append(delivery)

    @property
    def uploads(self) -> list[RoundUpload]:
        return [upload for messages in self.messages for upload in messages.uploads]

    def on_the_wire(self) -> bytes:
        """Every byte anybody was sent."""
        frames = [part for one in self.uploads for part in (one.update, one.theta_personal and one.theta_personal.blob)]
        return b"\0\0".join(frame for frame in frames if frame)

    def scores(self) -> dict[tuple[int, str], float]:
        """By round and site, as they were before anything was protected."""
        return {
            (trained.round_index, site): score
            for trained in self.trained
            if trained.contribution.score is not None
            for site, score in zip(trained.sites, trained.contribution.score.tolist(), strict=True)
        }

    def score_arrives(self) -> bool:
        """Whether the number beside an upload, or the last but one of a readable update, is the site's score."""
        params, study = self.simulation.protection.params, self.simulation.assembly.blueprint.study
        true, sent = self.scores(), {}
        for upload in self.uploads:
            sent[upload.round_index, upload.site] = [upload.similarity_score]
            if upload.update is not None:
                with np.errstate(all="ignore"):  # in an encrypted update these bytes are no numbers
                    share = np.frombuffer(upload.update[-16:], "<f8")[0] / params.max_abs_value
                    sent[upload.round_index, upload.site].append(float(share * study.max_score))
        return bool(true) and all(np.isclose(sent[place], score, rtol=1e-4).any() for place, score in true.items())


def level(read: bool, sent: bool) -> Level:
    return "readable" if read else "sealed" if sent else "nothing"


def of_server(run: Everything, kind: Kind) -> dict[Item, Level]:
    updates = any(upload.update for upload in run.uploads)
    models = any(upload.theta_personal for upload in run.uploads)
    names = {upload.site for upload in run.uploads}
    return {
        "participation": level(bool(names), bool(names)),
        "update": level(bool(run.server.updates), updates),
        "score": level(run.score_arrives(), updates),
        "personal model": level(bool(run.server.personal), models),
        "global model": level(run.server.theta_global is not None, updates),
        "key": level(kind[1] == "ckks" and bool(run.server.updates), sent=False),
        "shares": level(read=False, sent=any(upload.shares for upload in run.uploads)),
    }


def of_site(run: Everything) -> dict[Item, Level]:
    names = {site for messages in run.messages for site, _ in messages.outcome.weights} - {run.curious}
    names |= {peer for messages in run.messages for one in messages.invitations for peer in one.peers}
    return {
        "participation": level(bool(names), sent=False),
        "update": level(bool(run.site.updates), sent=False),
        "score": level(bool(run.site.scores), sent=False),
        "personal model": level(bool(run.site.personal), sent=False),
        "global model": level(run.site.theta_global is not None, sent=False),
        "key": level(run.site_holds_a_key, sent=False),
        "shares": level(read=False, sent=bool(run.delivered)),  # one opens nothing
    }


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_the_words_are_held_against_a_recorded_run(kind: Kind) -> None:
    run, words = Everything(kind), said(kind)
    server, site = of_server(run, kind), of_site(run)
    checked = [item for item in words if item in server]
    assert {item: words[item].server.level for item in checked} == {item: server[item] for item in checked}
    assert {item: words[item].sites.level for item in checked} == {item: site[item] for item in checked}
    unsaid = {item for item in server if (server[item], site[item]) != ("nothing", "nothing")} - words.keys()
    assert unsaid == set(), "seen by somebody, and not in the words"
    for item in ("rows", "similarities"):
        assert item not in words or words[item].server.level == words[item].sites.level == "nothing"


def test_rows_and_similarities_pass_over_no_wire() -> None:
    """In plaintext, where every byte can be read."""
    run = Everything(("sapefl", "plaintext", "open", "shared"))
    wire = run.on_the_wire()
    rows = [client.train.X for client in run.simulation.assembly.federation.clients]
    assert not any(row.astype(kind).tobytes() in wire for own in rows for row in own for kind in ("<f4", "<f8"))
    update = run.trained[0].contribution.shared
    assert update is not None
    assert update[0].numpy()[:8].tobytes() in wire, "the search finds what is there"
    compared = [trained.contribution.statistics["similarity"].numpy() for trained in run.trained]
    assert all(matrix.shape[1] == 4 for matrix in compared)
    assert not any(row.astype(kind).tobytes() in wire for own in compared for row in own for kind in ("<f4", "<f8"))


def test_where_nothing_is_sent_nobody_sees_anything() -> None:
    assert Everything(("local", "plaintext", "open", "shared")).uploads == []
    words = said(("local", "ckks", "open", "shared")).values()
    assert {view.level for one in words for view in (one.server, one.sites)} == {"nothing"}


@pytest.mark.parametrize(("protection", "keys"), [("plaintext", "shared"), ("ckks", "shared"), ("ckks", "joint")])
@pytest.mark.parametrize("method", ["sapefl", "local"])
def test_counts_before_the_first_round_are_held_against_what_was_sent(
    method: str, protection: ProtectionName, keys: KeyChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a round of counts whose server keeps all it is handed."""
    sent: list[RoundUpload] = []
    accept = Server.accept
    monkeypatch.setattr(Server, "accept", lambda self, upload: sent.append(upload) or accept(self, upload))
    counts = {name: np.full(3, 1000 + place) for place, name in enumerate("abcd")}
    study = counting_round(Config(keys=keys), "t", tuple(counts), entries=3)
    totals = summed(counts, study, protection).totals
    limbs = [limbs_of(one, exact_numbers(study)).tobytes() for one in counts.values()]
    read = all(any(part in (upload.update or b"") for upload in sent) for part in limbs)
    words = said((method, protection, "open", keys), once=True)
    assert words["counts"].server.level == words["totals"].server.level == level(read, sent=len(sent) == 4)
    assert totals.tolist() == [4006] * 3
    assert (words["counts"].sites.level, words["totals"].sites.level) == ("nothing", "readable")
    assert "counts" not in said((method, protection, "open", keys))


def test_every_field_of_a_message_is_accounted_for() -> None:
    """A new field in a message has to get its words."""
    fields = {kind: {field.name for field in dataclasses.fields(kind)} for kind in (RoundUpload, Invitation)}
    assert fields[RoundUpload] == {"site", "round_index", "similarity_score", "update", "theta_personal", "shares"}
    assert fields[Invitation] == {"site", "round_index", "peers", "models", "keys", "attempt"}
    outcome = {field.name for field in dataclasses.fields(RoundOutcome)}
    assert outcome == {"round_index", "aggregate", "weights", "refusals", "left_out", "reports"}


def test_the_shared_key_is_not_kept_quiet() -> None:
    assert "cohort key" in said(("sapefl", "ckks", "open", "shared"))["update"].sites.does
    exposure = Exposure(algorithm=algorithm("sapefl"), protection="ckks", scores="open")
    assert "server and one site work together" in exposure.not_protected()[0]
    assert "their scores are known" in exposure.not_protected()[1]
    hidden = dataclasses.replace(exposure, scores="hidden").not_protected()
    assert not any("their scores are known" in sentence for sentence in hidden)


@pytest.mark.parametrize("method", ALGORITHMS)
@pytest.mark.parametrize("protection", get_args(ProtectionName))
@pytest.mark.parametrize("keys", get_args(KeyChoice))
def test_sentences_go_on_from_their_party(method: str, protection: ProtectionName, keys: KeyChoice) -> None:
    for one in said((method, protection, "open", keys), once=True).values():
        assert re.fullmatch(r"(reads|sees|is|adds|passes|has|follows|cannot) [^.]+", one.server.does)
        assert re.fullmatch(r"(read|see|are|can|hold|have) [^.]+", one.sites.does)


def documented() -> str:
    """The section of the threat model that is written from the words; `docs/threat-model.md` holds it as it is here."""
    columns: list[Kind] = [
        ("sapefl", "plaintext", "open", "shared"),
        ("sapefl", "ckks", "open", "shared"),
        ("sapefl", "ckks", "hidden", "shared"),
    ]
    plain, encrypted, hidden = (said(kind, once=True) for kind in columns)
    lines = ["| what | server, `plaintext` | server, `ckks` | the other sites |", "|---|---|---|---|"]
    for item, one in encrypted.items():
        in_plaintext = plain[item].server.level if item in plain else "nothing"  # test results of a simulation stay
        cells = in_plaintext, one.server.level, one.sites.level
        lines.append(f"| {one.what} | {' | '.join(cells)} |")
        if hidden[item] != one:
            cells = in_plaintext, hidden[item].server.level, hidden[item].sites.level
            lines.append(f"| {one.what}, with `--scores hidden` | {' | '.join(cells)} |")
    lines.append("")
    lines += sentences(encrypted.values())
    lines += ["", "With `--keys joint` the levels are the same but for the key, and this is different:", ""]
    lines += sentences(
        one for item, one in said(("sapefl", "ckks", "open", "joint"), once=True).items() if encrypted.get(item) != one
    )
    return "\n".join(lines)


def sentences(disclosures: Iterable[Disclosure]) -> Iterator[str]:
    for one in disclosures:
        words = f"{one.what}: the server {one.server.does}. The other sites {one.sites.does}."
        yield from textwrap.wrap(words, 118, initial_indent="- ", subsequent_indent="  ")


def test_the_threat_model_is_written_from_the_words() -> None:
    section = THREAT_MODEL.read_text(encoding="utf-8").partition("## What each party sees\n")[2].partition("\n## ")[0]
    assert documented() in section, f"docs/threat-model.md should hold\n{documented()}"


def test_which_keys_and_what_that_means_takes_two_sentences() -> None:
    for words in (keys_words("shared", 1), keys_words("joint", 1), keys_words("joint", 3)):
        assert len(re.findall(r"\.(?= |$)", words)) == 2
    assert "one site working with the server can read nobody's update" in keys_words("joint", 1)
    assert "3 sites working with the server" in keys_words("joint", 3)
    assert "not been reviewed outside" in keys_words("joint", 1)


def test_a_run_says_in_a_line_how_it_was_protected() -> None:
    assert "server could read every update" in protection_words("plaintext", "joint")
    assert protection_words("ckks", "joint").startswith("ckks, joint keys: ")
    assert "joint" not in protection_words("ckks", "shared")


def test_joint_studies_say_what_they_do_not_protect_against() -> None:
    exposure = Exposure(algorithm=algorithm("sapefl"), protection="ckks", scores="open", keys="joint", colluders=2)
    beyond, given_, known = exposure.not_protected()
    assert beyond.startswith("More than 2 sites working with the server may read")
    assert "personal models that this site was given" in given_
    assert "scores are known" in known
    assert "betray the cohort key" in stays("shared")[1]
    assert "no key can be learned" in stays("joint")[1]
    assert "test results stay" in stays("shared")[0]
    assert "inside an encrypted sum" in stays("shared", "sum")[0]
