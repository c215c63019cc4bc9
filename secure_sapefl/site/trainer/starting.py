"""Under which conditions carried code runs at a site at all: the owner's policy, and what the system can hold."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from secure_sapefl.data.federation import ClientData
from secure_sapefl.errors import BadInput, PolicyConflict
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.policy import Policy
from secure_sapefl.site.trainer import limits
from secure_sapefl.site.trainer.carried import CarriedTraining
from secure_sapefl.site.trainer.confinement import NEEDED, within_reach
from secure_sapefl.site.trainer.process import TrainerProcess
from secure_sapefl.site.trainer.training import CPU, OwnProcess, Training
from secure_sapefl.study.terms import StudyTerms
from secure_sapefl.transport.users import OtherUser

if TYPE_CHECKING:
    from secure_sapefl.privacy.study import StudyPrivacy


@contextmanager
def training_at(
    home: SiteHome,
    terms: StudyTerms,
    rows: ClientData,
    privacy: "StudyPrivacy | None" = None,
    device: torch.device = CPU,
) -> Iterator[Training]:
    """In this process with a model of ours; with a model the study brings, in one of its own, which ends with this."""
    if terms.file.code is None:
        yield OwnProcess(terms, rows, privacy, device)
        return
    carried = carried_training(home, terms, rows, device)
    try:
        yield carried
    finally:
        carried.close()


def carried_training(
    home: SiteHome, terms: StudyTerms, rows: ClientData, device: torch.device = CPU
) -> CarriedTraining:
    require_allowed(home, terms)
    if device != CPU:
        raise BadInput("Carried code is trained on the processor: a graphics card would let it out. Use --device cpu.")
    limits.not_looked_into()
    return CarriedTraining(terms, rows, _start(home.path, home.policy()))


def require_allowed(home: SiteHome, terms: StudyTerms) -> None:
    """The owner approved exactly this code, and nothing of the site lies where it may read."""
    from secure_sapefl.site.consent import require_consent  # which reads reviews, which ask here

    require_consent(home, terms.file)
    if home.policy().code != "reviewed":
        raise PolicyConflict(
            f"Study {terms.file.name!r} carries code, and the policy of {home.name!r} says code = never. Read the code "
            "with `secure-sapefl site review`, and decide to change policy.toml or not to take part."
        )
    for path in (home.path, home.data_path):
        reach = within_reach(path)
        if reach is not None:
            raise BadInput(f"{path} lies in {reach}, which carried code can read. Move it out of there first.")


def _start(kept: Path, policy: Policy) -> Callable[[], TrainerProcess]:
    user = OtherUser.named(policy.code_user, "the trainer")

    def start() -> TrainerProcess:
        process = TrainerProcess(kept, user)
        missing = [name for name in NEEDED if name not in process.held]
        if missing and not policy.code_unconfined:
            process.close()
            raise PolicyConflict(
                f"Carried code is not kept from: {', '.join(missing)}. It needs Landlock (Linux 5.13) and libseccomp. "
                "It was not run; code_unconfined = true in policy.toml would run it all the same."
            )
        return process

    return start
