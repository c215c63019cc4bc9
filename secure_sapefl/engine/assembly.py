"""Where a simulated study is put together from its configuration: data, method, model, sites, privacy, protection.

Whoever needs a part of a study asks here (a deployed one for its blueprint and its own site's half), so that a
simulation, its late sites, its audit and its predictions cannot differ in how they were built.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from secure_sapefl import plugins
from secure_sapefl.algorithms import own
from secure_sapefl.algorithms.fedavg_ft_plus import OwnModelOptions, why_not_shifted
from secure_sapefl.config import Config
from secure_sapefl.data import Federation, Progress, build_federation, no_progress, private_options
from secure_sapefl.data.build import Change, as_it_is
from secure_sapefl.data.tables.columns import Columns
from secure_sapefl.data.tables.findings import require_accepted
from secure_sapefl.engine.counting.agreement import agreement
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
from secure_sapefl.engine.validation import with_validation_rows
from secure_sapefl.errors import BadInput, UnknownName
from secure_sapefl.models.base import Build
from secure_sapefl.models.declared import CARRIED
from secure_sapefl.models.presets import PRESETS
from secure_sapefl.own_code import OwnCode, names_own_code, own_function, short
from secure_sapefl.protocol.blueprint import Blueprint
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import BY_LABELS, with_weights
from secure_sapefl.tasks.own import Found, given
from secure_sapefl.tasks.own import find as find_task
from secure_sapefl.tasks.tried import require_sound

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
            "task": self.blueprint.task.name,
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
            **({"colluders": config.colluders} if config.keys == "joint" else {}),
            "device": str(self.device),
            **self._about_the_model(),
            **self._about_the_labels(),
            "versions": versions(),
        }

    def _about_the_labels(self) -> dict[str, str]:
        """Where they are no classes, what stood for those while rows were divided."""
        labels, config = self.federation.labels, self.blueprint.config
        weights = {} if config.class_weights is None else {"class_weights": config.class_weights}
        by_class = self.federation.partition == "dirichlet" and labels.kind != "class"
        return weights | ({"divided_by": labels.strata_in_words} if by_class else {})

    def _about_the_model(self) -> dict[str, str]:
        """What is worth saying once, where there is something."""
        model, init = self.blueprint.model, self.blueprint.init
        one_by_one = {} if model.unstackable is None else {"trained": f"site after site: {model.unstackable}"}
        steps = {} if self.sites.steps is None else {"steps": self.sites.steps}
        return one_by_one | steps | ({} if init is None else {"init": init}) | self._about_the_base()

    def _about_the_base(self) -> dict[str, str]:
        """Where a method would mix it into own models, and cannot."""
        blueprint, options = self.blueprint, self.blueprint.options
        if not isinstance(options, OwnModelOptions) or not options.base_share:
            return {}
        why = why_not_shifted(blueprint.model, blueprint.task, self.sites.theta_initial, self.federation.shape)
        return {} if why is None else {"base_share": why}


def assemble(
    config: Config, federation: Federation | None = None, model: Build | None = None, task: Task | None = None
) -> Assembly:
    """The study that ``config`` describes, with the data, the model and the task it names unless a ``federation``, a
    function that builds a ``model`` or a ``task`` is given."""
    build = build_of(config) if model is None else own_function(model)
    if model is not None and build is not None:
        config = config.model_copy(update={"model": build.name})
    method, (algorithm, options) = own.find(config.method), own.configured(config.method, config.options)
    device = resolve_device(config.device)
    everybody = with_public_facts(federation or federation_of(config, task=task), config)
    learned = task_of(config, everybody, task)
    training, late = divided(everybody, config.late_clients)
    training = _with_validation(training, config)
    resolved = {
        "clients": len(training.clients) + config.late_clients,
        "options": options.model_dump(mode="json", exclude_none=True),
        "data_options": data_options_of(config),
        "dp_public": everybody.public or config.dp_public,
        "class_weights": resolved_weights(config, everybody),
        "agreed": everybody.agreed or config.agreed,
    }
    config = config.model_copy(update=resolved)
    blueprint = Blueprint.drawn_up(
        config,
        algorithm,
        options,
        name=study_name(config),
        shape=training.shape,
        classes=training.classes,
        sites=[client.name for client in training.clients],
        largest_site=max(training.declared),
        build=build,
        late=() if late is None else [client.name for client in late.clients],
        task=with_weights(learned.task, config.class_weights, training.classes),
    )
    blueprint = replace(blueprint, sources={**blueprint.sources, **method.sources, **learned.sources})
    shared = shared_noise_for(blueprint, training, exact_numbers(blueprint.study))
    if shared is not None:
        blueprint = blueprint.with_shared_noise(shared.config, shared.algorithm)
    sites = Sites(blueprint, training, device)
    return Assembly(blueprint=blueprint, federation=training, late=late, device=device, sites=sites, shared=shared)


def build_of(config: Config) -> OwnCode | None:
    """The function of an installed package that a configuration's model names; files and presets need no looking up."""
    if config.model in (*PRESETS, CARRIED) or names_own_code(config.model):
        return None
    found = plugins.find("model", config.model)
    if found is None:
        raise UnknownName("model", config.model, {*PRESETS, *plugins.offered("model")})
    return found


def _with_validation(federation: Federation, config: Config) -> Federation:
    """With training rows held back, where training is to stop by them."""
    if config.early_stopping is None:
        return federation
    if config.dp_epsilon is not None:
        raise BadInput(
            "Early stopping chooses a round by looking at records, which the privacy budget does not cover. Leave out "
            "--early-stopping, and choose --rounds beforehand."
        )
    return with_validation_rows(federation, config.seed, "Leave out --early-stopping.")


def task_of(config: Config, federation: Federation, task: Task | None = None) -> Found:
    """What is learned: the task that is given or named, or else the one the labels are for."""
    if task is not None:
        found = given(task)
    elif config.task is not None:
        found = find_task(config.task)
    else:
        return Found(BY_LABELS[federation.labels.kind], {})
    if found.task.labels != federation.labels.kind:
        raise BadInput(
            f"The task {found.task.name} reads labels of the kind {found.task.labels!r}, and those of "
            f"{federation.dataset} are of the kind {federation.labels.kind!r}. Choose another task, or other labels."
        )
    if found.sources:
        require_sound(found.task, federation.classes)
    return found


def resolved_weights(config: Config, federation: Federation) -> str | None:
    """Class weights as numbers. What is balanced is counted on the training rows of all sites together, which no budget
    covers."""
    if config.class_weights != "balanced":
        return config.class_weights
    if config.dp_epsilon is not None:
        raise BadInput(
            "Balanced class weights count records, which the privacy budget does not cover. Give the weights as public "
            "knowledge: --class-weights 1,3.5, in the order of the classes."
        )
    if federation.labels.kind != "class":
        raise BadInput("Class weights are for classification: these labels are no classes. Leave out --class-weights.")
    labels = np.concatenate([client.train.y for client in federation.clients])
    counts = np.bincount(labels, minlength=federation.classes).clip(min=1)
    return ",".join(f"{weight:.6g}" for weight in len(labels) / (federation.classes * counts))


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


def federation_of(
    config: Config,
    progress: Progress = no_progress,
    change: Change = as_it_is,
    task: Task | None = None,
    table: Columns | None = None,
) -> Federation:
    """The sites a configuration asks for; ``progress`` hears of a download, should one be needed. A table in which
    something dangerous is found is refused, unless the configuration accepts it by name. ``table`` is one that is in
    memory already, such as a frame (`data.tables.readers.frame_columns`)."""
    wanted = find_task(config.task).task if task is None and config.task is not None else task
    federation = build_federation(
        config.dataset if table is None else table,
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
        labels=None if wanted is None else wanted.labels,
        scaled=wanted is None or wanted.scaled,
        preparation=config.preparation,
        agree=agreement(config, study_name(config)),
    )
    require_accepted(federation.findings, config.accept)
    return federation
