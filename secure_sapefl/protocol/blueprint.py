"""What follows from a configuration before any record is read: method, model, and the terms all sites agree on.

Written once for simulated and for deployed studies. A blueprint is public: it holds no key and no record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Homomorphic, StudyFacts
from secure_sapefl.algorithms.server_step import with_server_step
from secure_sapefl.config import Config, Settings
from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Description, Model
from secure_sapefl.models.declared import DeclaredModel
from secure_sapefl.models.presets import Choice, made
from secure_sapefl.models.states import read_state, started_from
from secure_sapefl.own_code import OwnCode
from secure_sapefl.protocol.joint.possible import require_possible
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.protocol.study import Study, cohort_size
from secure_sapefl.streams import Purpose, stream
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import CLASSIFICATION


def shares_noise(config: Config, algorithm: Algorithm) -> bool:
    """Whether the sites of a study hide each other. Where nothing leaves a site there is nothing to hide."""
    return config.dp_noise == "shared" and algorithm.homomorphic is not Homomorphic.SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    config: Config
    algorithm: Algorithm
    options: Settings
    model: Model
    theta_initial: Tensor  # [P], what everybody starts from
    study: Study
    sources: Mapping[str, str] = field(default_factory=dict)  # digests of what is the user's own: model, weights
    init: str | None = None  # what was taken from a file of weights, in words
    task: Task = CLASSIFICATION

    @classmethod
    def drawn_up(
        cls,
        config: Config,
        algorithm: Algorithm,
        options: Settings,
        *,
        name: str,
        shape: tuple[int, ...],
        classes: int,
        sites: Sequence[SiteId],
        largest_site: int,
        build: OwnCode | DeclaredModel | None = None,
        late: Sequence[SiteId] = (),
        task: Task = CLASSIFICATION,
    ) -> "Blueprint":
        """``shape`` is a row's, ``classes`` the number of its classes or labels; ``largest_site`` is the most training
        rows any site declares; ``build`` makes the model where it is not the configuration that names it, or is
        all that is known of one whose code runs elsewhere; ``late`` are sites that will come after the last round."""
        check_task(task, algorithm)
        start = started(config, Description(shape, task.outputs(classes), task.name), build)
        model = start.model
        check_training(model, algorithm, config)
        facts = StudyFacts(
            cohort=cohort_size(config.participation, len(sites)),
            largest_site=largest_site,
            peers_per_client=config.peers_per_client,
        )
        study = Study(
            name=name,
            sites=tuple(sites),
            participation=config.participation,
            seed=config.seed,
            parameters=algorithm.update_length(model, options),
            max_score=algorithm.score_bound(facts),
            peers_per_client=config.peers_per_client,
            peers_from=algorithm.peers_from,
            relay_only=algorithm.homomorphic is Homomorphic.RELAY,
            scores=config.scores,
            keys=config.keys,
            colluders=config.colluders,
            rounds=config.rounds,
            late=tuple(late),
        )
        if algorithm.homomorphic is not Homomorphic.SILENT:
            require_possible(study)
        smoothing = 0.0 if shares_noise(config, algorithm) else algorithm.smoothing(options)
        return cls(
            config=config,
            algorithm=with_server_step(algorithm, config.server_momentum, smoothing),
            options=options,
            model=model,
            theta_initial=start.theta,
            study=study,
            sources=start.sources,
            init=start.init,
            task=task,
        )

    def with_shared_noise(self, config: Config, algorithm: Algorithm) -> "Blueprint":
        """The same study with its method's shared form (privacy/shared): everybody weighs 1, nobody has peers, and
        ``config.dp_contributors`` sites at least are in a sum."""
        study = replace(
            self.study,
            parameters=algorithm.update_length(self.model, self.options),
            max_score=1.0,
            least_contributors=config.dp_contributors or 1,
        )
        return replace(self, config=config, algorithm=algorithm, study=study)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    model: Model
    theta: Tensor
    sources: Mapping[str, str]
    init: str | None


def started(config: Config, about: Description, build: OwnCode | DeclaredModel | None = None) -> Start:
    """The model and the weights everybody starts from, by the configuration alone."""
    if isinstance(build, DeclaredModel):
        theta = build.initial(stream(config.seed, Purpose.INITIAL_WEIGHTS))
        return Start(model=build, theta=theta, sources={"model": build.digest}, init=None)
    state = None if config.init is None else read_state(config.init)
    choice = Choice(name=config.model, head=config.head, state=None if state is None else state.tensors, build=build)
    made_ = made(choice, about, stream(config.seed, Purpose.INITIAL_WEIGHTS))
    theta = made_.model.initial(stream(config.seed, Purpose.INITIAL_WEIGHTS))
    sources = {} if made_.digest is None else {"model": made_.digest}
    if state is None:
        return Start(model=made_.model, theta=theta, sources=sources, init=None)
    theta, taken = started_from(made_.model, theta, state)
    return Start(model=made_.model, theta=theta, sources={**sources, "init": state.digest}, init=taken)


def check_task(task: Task, algorithm: Algorithm) -> None:
    """Whether a method can do this task."""
    if task.labels != "class" and algorithm.classes_for is not None:
        raise BadInput(
            f"{algorithm.title} needs classes, for {algorithm.classes_for}; the labels of {task.name} are none. Choose "
            "another method: `secure-sapefl methods` lists all."
        )


def check_training(model: Model, algorithm: Algorithm, config: Config) -> None:
    """Whether a method can train this model, in the steps that were asked for."""
    if algorithm.splits_models and not 0 < model.head_start < model.parameters:
        raise BadInput(
            f"{algorithm.title} treats body and head of a model apart, and nobody says where the head of "
            f"{config.model!r} begins. Name it, for instance --head fc; a linear model has no body."
        )
    chosen = (config.optimizer, config.momentum, config.weight_decay, config.max_grad_norm)
    if algorithm.takes_own_steps and chosen != ("sgd", 0.0, 0.0, None):
        raise BadInput(
            f"{algorithm.title} takes plain steps of its own. Leave out --optimizer, --momentum, --weight-decay and "
            "--max-grad-norm."
        )
