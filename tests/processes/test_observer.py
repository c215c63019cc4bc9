"""Somebody listens on every line of a real deployment: what passes, when, and what that tells of a site.

`pytest -m slow -s tests/processes/test_observer.py` prints the table of docs/privacy-audit.md. Twelve sites
share one machine here, so the server asks one at a time: otherwise they would disturb each other's times, which sites
with machines of their own do not.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secure_sapefl.audit.properties import infer_properties
from secure_sapefl.data import Federation
from secure_sapefl.site.data import federation
from secure_sapefl.site.state import SiteState
from secure_sapefl.storage.parts import from_bytes
from secure_sapefl.transport.heads.rounds import upload_of
from tests.network_tap import BULK, Tap, found, histories

SITES = 12
ROUNDS = 3
WINDOW = 16  # bytes of something long that have to turn up for it to count as found


def unequal_hospitals(folder: Path, count: int) -> dict[str, Path]:
    """From a few dozen rows to twenty thousand, with label mixes that have nothing to do with it."""
    rng, files = np.random.default_rng(0), {}
    for number in range(count):
        rows, share = int(60 * 1.7**number), 0.5 + 0.4 * np.sin(2.4 * number)
        x = rng.normal(size=(rows, 4)).clip(-5, 5)
        labels = np.where(rng.random(rows) < share, "yes", "no")
        lines = [",".join([*(f"{v:.4f}" for v in row), label]) for row, label in zip(x, labels, strict=True)]
        files[f"hospital-{number:02d}"] = folder / f"{number}.csv"
        files[f"hospital-{number:02d}"].write_text("\n".join(["x0,x1,x2,x3,y", *lines]) + "\n")
    return files


def overheard(study: Any) -> dict[str, Tap]:
    """The study from its first to its last byte, with an ear on the line of every site."""
    with ExitStack() as lines:
        taps = {site: lines.enter_context(Tap("127.0.0.1", study.port)) for site in study.file.sites}
        study.start_server("--at-once", "1")
        study.wait_for(lambda: "a run of the study was started" in (study.folder / "server.log").read_text())
        for count, (site, tap) in enumerate(taps.items(), start=1):
            study.start_site(site, "--server", f"127.0.0.1:{tap.port}")
            study.wait_for(lambda count=count: heard_from(study) >= count)
        study.wait_to_finish(*taps)
    assert study.status()["closed"] == study.file.rounds
    return taps


def heard_from(study: Any) -> int:
    return sum(site["seconds_since_heard"] is not None for site in study.status()["sites"])


def secrets(study: Any) -> dict[str, list[bytes]]:
    """What must not stand on the wire, in every form in which it might."""
    file = study.file
    needles: dict[str, list[bytes]] = {
        "site's name": [site.encode() for site in file.sites],
        "study's name": [file.name.encode(), file.digest.encode(), bytes.fromhex(file.digest)],
        "score": [],
        "ciphertext": [],
        "model": [],
    }
    for site in file.sites:
        folder = study.home(site).study_folder(file.digest)
        upload = upload_of(from_bytes((folder / "upload").read_bytes()), site)
        score = np.float64(upload.similarity_score)
        needles["score"] += [repr(float(score)).encode(), score.tobytes(), score.byteswap().tobytes()]
        needles["ciphertext"] += [upload.update[at : at + WINDOW] for at in range(1000, len(upload.update), 20_000)]
        needles["model"] += pieces(SiteState.load(folder / "state.npz", study=file.digest, site=site))
    return needles


def pieces(state: SiteState) -> Iterator[bytes]:
    """Runs of weights that are none of them zero, as they lie in memory."""
    for tensor in (state.theta_global, *state.own.values()):
        vector = tensor.flatten().numpy()
        for at in range(0, len(vector) - WINDOW // 4, max(1, len(vector) // 8)):
            run = vector[at : at + WINDOW // 4]
            if np.count_nonzero(run) == len(run):
                yield run.tobytes()


@pytest.mark.slow
def test_what_an_observer_of_the_network_learns(deploy: Callable[..., Any], tmp_path: Path) -> None:
    files = unequal_hospitals(tmp_path, SITES)
    study = deploy(
        files,
        name="a-trial-nobody-knows-of",
        rounds=ROUNDS,
        local_epochs=5,
        largest_site=20_000,
        peers_per_client=3,
        min_cohort=SITES - 2,
        round_deadline=900.0,
    )
    taps = overheard(study)
    assert found((stream for tap in taps.values() for stream in tap.streams), secrets(study)) == set()

    seen = histories({site: tap.passings for site, tap in taps.items()})
    for what, history in seen.items():
        values = np.array([list(history[site].values()) for site in study.file.sites])
        assert values.shape == (SITES, ROUNDS - 1), "the first invitation, without models, does not stand out"
        assert what == "time to answer" or np.ptp(values) < BULK, "sizes differ by small talk alone"
    show(seen, federation(study.file, files))


def show(seen: dict[str, dict[str, dict[int, float]]], sites: Federation) -> None:
    """What was measured of each site, and what a regression makes of it."""
    for client in sites.clients:
        values = "; ".join(f"{what} {[round(v, 1) for v in by[client.name].values()]}" for what, by in seen.items())
        print(f"\n{client.name}, {len(client.train)} training rows: {values}", end="")
    for what, history in seen.items():
        inferred = infer_properties(history, sites, np.random.default_rng(0))
        print(f"\nlearnt from {what}:")
        for one in () if isinstance(inferred, str) else inferred:
            shown = ", found" if one.p_value < 0.05 and one.r_squared > 0 else ""
            print(f"  {one.what}: R2 {one.r_squared:.2f}, p {one.p_value:.3f}{shown}")


@pytest.mark.slow
def test_without_tls_the_same_search_finds_names_scores_and_frames(deploy: Callable[..., Any], tmp_path: Path) -> None:
    """The control, and what TLS is for: names, scores and frames are in sight. Models are encrypted once more, and the
    study's name is bound into every signature and never sent."""
    study = deploy(unequal_hospitals(tmp_path, 3), tls=False, name="a-trial-nobody-knows-of", rounds=2)
    taps = overheard(study)
    in_sight = found((stream for tap in taps.values() for stream in tap.streams), secrets(study))
    assert in_sight == {"site's name", "score", "ciphertext"}
