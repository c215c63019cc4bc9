"""Where a simulated study is put together from its configuration: data, method, model, sites, privacy, protection.

Whoever needs a part of a study asks here (a deployed one for its blueprint and its own site's half), so that a
simulation, its late sites, its audit and its predictions cannot differ in how they were built.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from secure_sapefl import plugins
from secure_sapefl.algorithms import own
from secure_sapefl.config import Config
from secure_sapefl.data import Federation, Progress, build_federation, no_progress, private_options
from secure_sapefl.data.build import Change, as_it_is
from secure_sapefl.data.tables.findings import require_accepted
from secure_sapefl.engine.device import group_size, resolve_device
from secure_sapefl.engine.privacy import (
    Privacy,
    privacy_for,
    public_facts_of,
    shared_noise_for,
    warn_of_preparation,
    with_public_facts,
)
from secure_sapefl.engine.protection import Protection, exact_numbers, protection_for
from secure_sapefl.engine.result import versions
from secure_sapefl.engine.sites import Sites
from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Build
from secure_sapefl.models.presets import PRESETS
from secure_sapefl.own_code import OwnCode, names_own_code, own_function, short
from secure_sapefl.protocol.blueprint import Blueprint

if TYPE_CHECKING:
    from secure_sapefl.privacy.shared.setup import SharedNoise


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A study whose sites are ready to train. Nothing is opened yet that others may hold, such as a ledger."""

    blueprint: Blueprint
    federation: Federation  # the sites that train
    late: Federation | None  # those that come after the last round
    device: torch.device
    sites: Sites
    shared: "SharedNoise | None"  # where sites share their noise, all that follows from that

    @property
    def group_size(self) -> int:
        """How many sites are trained side by side."""
        return group_size(self.blueprint.model.parameters, self.device, self.blueprint.config.group_size)

    def protection(self) -> Protection:
        """With a key of its own, made now."""
        config, study = self.blueprint.config, self.blueprint.study
        return protection_for(config.protection, self.blueprint.algorithm, study, config.workers)

    def privacy(self) -> Privacy:
        """With the ledgers of its sites, which it holds from now on. Says aloud what their budget does not cover."""
        learned = self.federation.learned
        warn_of_preparation(self.blueprint.config, learned=learned)
        return privacy_for(self.blueprint, self.sites, self.shared, learned=learned)

    def facts(self) -> dict[str, Any]:
        """What a summary says of a run before its first round."""
        config = self.blueprint.config
        return {
            "method": config.method,
            "dataset": config.dataset,
            "source": self.federation.source,
            "partition": self.federation.partition,
            "preparation": self.federation.preparation,
            "clients": len(self.sites.names),
            "client_names": list(self.sites.names),
            "client_rows": list(self.sites.sizes),
            "rounds": config.rounds,
            "seed": config.seed,
            "protection": config.protection,
            "keys": config.keys,
            "device": str(self.device),
            **self._about_the_model(),
            "versions": versions(),
        }

    def _about_the_model(self) -> dict[str, str]:
        """What is worth saying once, where there is something."""
        model, init = self.blueprint.model, self.blueprint.init
        one_by_one = {} if model.unstackable is None else {"trained": f"site after site: {model.unstackable}"}
        return one_by_one | ({} if init is None else {"init": init})


def assemble(config: Config, federation: Federation | None = None, model: Build | None = None) -> Assembly:
    """The study that ``config`` describes, with the data and the model it names unless a ``federation`` or a function
    that builds a ``model`` is given."""
    build = build_of(config) if model is None else own_function(model)
    if model is not None and build is not None:
        config = config.model_copy(update={"model": build.name})
    method, (algorithm, options) = own.find(config.method), own.configured(config.method, config.options)
    device = resolve_device(config.device)
    everybody = with_public_facts(federation or federation_of(config), config)
    training, late = divided(everybody, config.late_clients)
    resolved = {
        "clients": len(training.clients) + config.late_clients,
        "options": options.model_dump(mode="json", exclude_none=True),
        "data_options": data_options_of(config),
        "dp_public": everybody.public or config.dp_public,
    }
    blueprint = Blueprint.drawn_up(
        config.model_copy(update=resolved),
        algorithm,
        options,
        name=study_name(config),
        shape=training.shape,
        classes=training.classes,
        sites=[client.name for client in training.clients],
        largest_site=max(training.declared),
        build=build,
        late=() if late is None else [client.name for client in late.clients],
    )
    blueprint = replace(blueprint, sources={**blueprint.sources, **method.sources})
    shared = shared_noise_for(blueprint, training.declared, exact_numbers(blueprint.study))
    if shared is not None:
        blueprint = blueprint.with_shared_noise(shared.config, shared.algorithm)
    sites = Sites(blueprint, training, device)
    return Assembly(blueprint=blueprint, federation=training, late=late, device=device, sites=sites, shared=shared)


def build_of(config: Config) -> OwnCode | None:
    """The function of an installed package that a configuration's model names; files and presets need no looking up."""
    known = config.model in PRESETS or names_own_code(config.model)
    return None if known else plugins.find("model", config.model)


def divided(federation: Federation, late: int) -> tuple[Federation, Federation | None]:
    """Those who train, and the last ``late`` sites, who come when they are done."""
    if late == 0:
        return federation, None
    count = len(federation.clients)
    if late >= count:
        raise BadInput(f"--late-clients is {late} and there are {count} sites: at least one has to train before them.")
    now, then = federation.clients[:-late], federation.clients[-late:]
    return replace(federation, clients=now), replace(federation, clients=then)


def study_name(config: Config) -> str:
    """Of a simulated study, as its messages and ledgers have it."""
    return f"{short(config.method)}-{config.seed}"


def data_options_of(config: Config) -> dict[str, Any]:
    """A private study prepares rows without learning from them where the dataset knows how, unless told otherwise."""
    return {**({} if config.dp_epsilon is None else private_options(config.dataset)), **config.data_options}


def federation_of(config: Config, progress: Progress = no_progress, change: Change = as_it_is) -> Federation:
    """The sites a configuration asks for; ``progress`` hears of a download, should one be needed. A table in which
    something dangerous is found is refused, unless the configuration accepts it by name."""
    federation = build_federation(
        config.dataset,
        clients=config.clients,
        partition=config.partition,
        kappa=config.kappa,
        seed=config.seed,
        data_dir=config.data_dir,
        options=data_options_of(config),
        label=config.label,
        group=config.group,
        rows=config.rows,
        clusters=config.clusters,
        progress=progress,
        private=public_facts_of(config),
        change=change,
        schema=config.data_schema,
    )
    require_accepted(federation.findings, config.accept)
    return federation
