"""A server or a relay that does not do what it should. Each test prints a line for docs/reliability.md."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
Small = Callable[..., Any]


@contextmanager
def patched(study: Any, folder: Path, code: str) -> Iterator[None]:
    """Processes started meanwhile run ``code`` first."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code)
    study.more_environment = {"PYTHONPATH": os.pathsep.join([str(folder), *os.environ.get("PYTHONPATH", "").split()])}
    yield
    study.more_environment = {}


CHEAT = """
import sys
if "server" in sys.orig_argv:
    from sapefl_crypto import aggregator
    from sapefl_crypto.aggregate import Aggregate
    Honest = aggregator.Aggregator
    class Cheat(Honest):
        def __init__(self, params, **k):
            super().__init__(params, **k)
            self.first, self.args = None, (params, k)
        def add(self, frame, score, *, sender=None):
            if self.first is None:
                self.first = Honest(self.args[0], **self.args[1])
                self.first.add(frame, score, sender=sender)
            super().add(frame, score, sender=sender)
        def finish(self):
            honest = super().finish()
            return Aggregate(occasion=honest.occasion, claim=honest.claim, payload=self.first.finish().payload)
    aggregator.Aggregator = Cheat

    from sapefl_crypto.joint import aggregator as joint
    from sapefl_crypto.joint.aggregate import JointAggregate
    HonestJoint = joint.JointAggregator
    class JointCheat(HonestJoint):
        first = None
        def add(self, frame, *, sender=None):
            if self.first is None:
                self.first = HonestJoint(self._about)
                self.first.add(frame, sender=sender)
            super().add(frame, sender=sender)
        def finish(self):
            return JointAggregate(claimed=super().finish().claimed, payload=self.first.finish().payload)
    joint.JointAggregator = JointCheat
"""


def test_a_server_that_hands_out_one_sites_ciphertext_is_found_out(either: Small, tmp_path: Path) -> None:
    """The server's own processes are patched to return the first frame as the sum, with the claim of an honest one."""
    study = either(rounds=2)
    for site in study.file.sites:
        policy = study.home(site).policy_path
        policy.write_text(policy.read_text().replace("max_rejected_sums = 8", "max_rejected_sums = 1"))
    with patched(study, tmp_path / "patch", CHEAT):
        study.start_server()
    for site in study.file.sites:
        study.start_site(site)
    study.wait_for(lambda: [one["answer"][:6] for one in study.status()["sites"]] == ["halted"] * len(study.file.sites))
    assert study.status()["closed"] == 1
    for site in study.file.sites:
        assert "tags" in study.site_status(site)["halted"]
        assert next(event.checks for event in study.events(site, "refused")) == {"tags": False}
        assert study.sent(site) == [0]
    print(f"\ndishonest server: {study.site_status('east')['halted']}")


HOSTILE = """
import sys
if {"site", "start"} <= set(sys.orig_argv):
    from sapefl_crypto import cohort
    honest, wrong = cohort.CohortKey.encrypt, []
    def encrypt(self, vector, **about):
        wrong[:] = wrong or [cohort.CohortKey.generate(self.params)]
        return honest(wrong[0], vector, **about)
    cohort.CohortKey.encrypt = encrypt

    from sapefl_crypto.joint import round_key, tags
    honest_joint, root = round_key.RoundKey.encrypt, tags.TagRoot.generate()
    round_key.RoundKey.encrypt = lambda self, vector, **about: honest_joint(self, vector, **{**about, "root": root})
"""


def test_a_site_that_spoils_sums_is_left_out_and_the_study_goes_on(either: Small, tmp_path: Path) -> None:
    """One site's process encrypts with a key of its own, or with other tags: its frames look right to the server, and
    no sum with them holds."""
    study = either(rounds=5)
    for site in study.file.sites:
        policy = study.home(site).policy_path
        loose = policy.read_text().replace("min_effective_cohort = 2.0", "min_effective_cohort = 1.0")
        policy.write_text(loose.replace("max_share = 0.6", "max_share = 0.9"))
    study.start_server()
    with patched(study, tmp_path / "patch", HOSTILE):
        study.start_site("east")
    others = [site for site in study.file.sites if site != "east"]
    for site in others:
        study.start_site(site)
    study.wait_to_finish()
    assert study.status()["closed"] == 5
    assert {one["site"]: one["answer"].split(":")[0] for one in study.status()["sites"]}["east"] == "left out"
    assert [one["site"] for one in study.status()["history"][-1]["left_out"]] == ["east"]
    first, *rest = (study.site_state(site).theta_global for site in others)
    assert all(first.equal(one) for one in rest)
    assert study.site_status(others[0])["halted"] is None
    wrong = [event.round_index for event in study.events(others[0], "refused") if event.checks == {"tags": False}]
    held = [event.round_index for event in study.events(others[0], "checked")]
    (out,) = study.status()["history"][-1]["left_out"]
    print(f"\nhostile site: wrong sums in rounds {wrong}, sound ones in {held}; {out['reason']}")
    assert held[-1] == 4
    assert len(wrong) <= len(study.file.sites)


STUTTER = """
import sys
if "secure_sapefl.transport.relay_node" in sys.orig_argv:
    import time
    from pathlib import Path
    from secure_sapefl.transport import agent_socket
    from secure_sapefl.storage.parts import from_bytes, to_bytes
    once, kept = agent_socket.ask, Path({kept!r})

    def stuttering(path, parts):
        old = [from_bytes(file.read_bytes()) for file in sorted(kept.glob("letter-*"))]
        (kept / f"letter-{{time.monotonic_ns():020d}}").write_bytes(to_bytes(parts))
        first = once(path, parts)
        second = once(path, parts)
        replayed = [once(path, message) for message in old]
        with (kept / "said").open("a") as said:
            said.write("same\\n" if first == second else "refused\\n" if second is None else "other\\n")
            said.writelines("replay refused\\n" if one is None else "replay answered\\n" for one in replayed)
        answers = sorted(kept.glob("answer-*"))
        (kept / f"answer-{{time.monotonic_ns():020d}}").write_bytes(to_bytes(first))
        stale = from_bytes(answers[-1].read_bytes()) if len(answers) % 3 == 2 else None
        return first if stale is None else stale

    agent_socket.ask = stuttering
"""


def test_messages_delivered_twice_and_old_ones_again_change_nothing(either: Small, tmp_path: Path) -> None:
    """A relay hands its agent every message twice, then all messages so far again, and every third time it answers the
    server with the answer to an earlier message."""
    study, kept = either(rounds=3, privacy={"epsilon": 8.0, "delta": 1e-4}), tmp_path / "kept"
    kept.mkdir()
    study.start_server()
    with patched(study, tmp_path / "patch", STUTTER.format(kept=str(kept))):
        study.start_site("east")
    for site in (one for one in study.file.sites if one != "east"):
        study.start_site(site)
    study.wait_to_finish_well()
    said = Counter((kept / "said").read_text().splitlines())
    log = (study.state / "server.log").read_text()
    again = [event for event in study.events("east", "sent") if event.note == "the same bytes again"]
    print(f"\nstuttering relay: {dict(said)}; {len(again)} uploads entered again; sent {study.sent('east')}")
    assert said["replay refused"]
    assert again
    assert "an answer to another question, perhaps a replay" in log
    assert study.sent("east") == [0, 1, 2]


def test_a_changed_study_file_starts_nothing(small: Small) -> None:
    study = small(rounds=2)
    path = study.folder / "study.toml"
    path.write_text(path.read_text().replace("rounds = 2", "rounds = 3"))
    for start in (study.start_server, lambda: study.start_site("east")):
        process = start()
        assert process.wait() == 2
    words = (study.folder / "east.log").read_text()
    print(f"\nchanged study: exit code 2; {words.strip().splitlines()[-1]}")
    assert not study.events("east", "started")
