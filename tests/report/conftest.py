"""Folders of finished runs, written as the engine writes them, with numbers chosen by hand."""

import json
import subprocess

import pytest

from secure_sapefl.config import Config
from secure_sapefl.engine.result import Result, RoundRecord, Traffic
from secure_sapefl.metrics import Scores, Spread
from secure_sapefl.protocol.messages import Refusal
from secure_sapefl.report.run import load_run
from secure_sapefl.stopwatch import PHASES

QUIET = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
MORE = "--disable-component-update --disable-sync --virtual-time-budget=20000 --dump-dom --window-size=1000,800"
SIMILARITY = {"score_min": 1.0, "score_mean": 1.5, "score_max": 2.0, "peers_received": 2.0, "peers_passed": 1.0}


RATE = {"value": 0.05, "low": 0.02, "high": 0.08}
DETECTION = {
    "auc": {"value": 0.75, "low": 0.7, "high": 0.8},
    "tpr_at_fpr": {"0.01": RATE, "0.001": None},
}
REBUILT = {"share_rebuilt": 1.0, "rebuilt": 4, "error_best": 0.0, "psnr_best": None}


def document(**changes):
    peer = {
        "who": "site <b>",
        "membership": {"updates": {"loss_threshold": DETECTION, "rmia": None}},
        "inversion": REBUILT,
        "properties": {"scores": [{"property": "label entropy", "p_value": 0.01, "r_squared": 0.6}], "sizes": "None."},
    }
    epsilon = {"epsilon": 2.1, "delta": 1e-5, "right": 9, "guesses": 10, "canaries": 40, "reachable": 3.0}
    mechanism = {"release": "update", "epsilon_lower": 0.0, "epsilon_claimed": 0.4}
    return {
        "parties": {"peer": peer},
        "timing": {"peer": "Not in its sight."},
        "empirical_epsilon": {**epsilon, "claimed": 4.0, "mechanisms": [mechanism]},
        "inversion_control": REBUILT,
        "server_attacks": {"forgeries_accepted": {"a": False, "b": False}},
        "alarms": [],
        **changes,
    }


@pytest.fixture(scope="session")
def audit_document():
    """What `audit.json` may hold; what it is given overrides it."""
    return document


def record(index, own, auc, everywhere, method, refusals):
    silent = method == "local"
    return RoundRecord(
        round_index=index,
        personal=Scores({"accuracy": Spread(tuple(own)), "auc": Spread(tuple(auc))}),
        everywhere=Scores({"accuracy": Spread(tuple(everywhere))}),
        changed=not silent,
        weights=(),
        traffic=Traffic(up=0, down=0, update=0) if silent else Traffic(up=1234.0, down=5678.0, update=800.0),
        seconds=dict.fromkeys(PHASES, 0.0) | {"local": 2.0, "encrypt": 0.5},
        total_seconds=3.0,
        similarity=SIMILARITY if method == "sapefl" else {},
        refusals=refusals,
    )


@pytest.fixture(scope="session")
def make_folder(tmp_path_factory):
    """A function that writes a folder; what it is given overrides three quiet sites over two rounds."""

    def make(
        name="run",
        *,
        sites=("Anna", "Bert", "Cleo"),
        own=(0.9, 0.6, 0.3),
        auc=(0.8, 0.7, 0.6),
        everywhere=(0.5, 0.6, 0.5),
        rounds=2,
        method="sapefl",
        protection="ckks",
        matrix=None,
        refusals=(),
        evaluate_every=1,
        settings=None,
        **summary,
    ):
        folder = tmp_path_factory.mktemp("runs") / name
        folder.mkdir()
        config = Config(
            method=method,
            clients=len(sites),
            rounds=rounds,
            protection=protection,
            evaluate_every=evaluate_every,
            **(settings or {}),
        )
        facts = {
            "method": method,
            "dataset": "synthetic",
            "source": "by hand",
            "partition": "iid",
            "clients": len(sites),
            "client_names": list(sites),
            "rounds": rounds,
            "seed": 0,
            "protection": protection,
            "device": "cpu",
            "versions": {"secure-sapefl": "0"},
        }
        nothing = ((), (), ())
        numbers = [nothing if (t + 1) % evaluate_every else (own, auc, everywhere) for t in range(rounds)]
        records = tuple(record(t, *numbers[t], method, refusals) for t in range(rounds))
        if matrix is None:
            matrix = [[None if i == j else 0.5 for j in range(len(sites))] for i in range(len(sites))]
        shown = [] if method != "sapefl" or len(sites) == 1 else matrix
        result = Result(facts=facts, parameters=100, rounds=records, similarity_matrix=shown)
        (folder / "config.toml").write_text(config.to_toml())
        (folder / "rounds.jsonl").write_text("".join(json.dumps(r.to_json()) + "\n" for r in records))
        (folder / "summary.json").write_text(json.dumps(result.summary() | summary))
        return folder

    return make


@pytest.fixture(scope="session")
def make_run(make_folder):
    return lambda *arguments, **options: load_run(make_folder(*arguments, **options))


@pytest.fixture
def refusal():
    return Refusal("Bert", "a value is <b>NaN</b>")


@pytest.fixture
def browse(chromium, tmp_path):
    """The document a browser ends up with at an address; later flags override earlier ones."""

    def load(address, *flags):
        command = [chromium, *QUIET.split(), *MORE.split(), *flags, f"--user-data-dir={tmp_path / 'profile'}", address]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return load
