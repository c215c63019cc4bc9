"""Epsilon measured: the canaries' bound on the whole run, and each mechanism's by itself, against what ledgers say."""

from typing import Final

from secure_sapefl.algorithms.own import configured
from secure_sapefl.audit.canaries import CanaryRun
from secure_sapefl.audit.file_rows import Moved
from secure_sapefl.audit.findings import EmpiricalEpsilon
from secure_sapefl.audit.mechanisms import Bench, MechanismAudit, audit_mechanisms
from secure_sapefl.audit.one_run import lower_bound
from secure_sapefl.audit.recording import PublicTerms
from secure_sapefl.audit.shared_sums import SharedBench, audit_shared
from secure_sapefl.config import Config
from secure_sapefl.data import Federation
from secure_sapefl.privacy.shared.setup import SharedNoise
from secure_sapefl.privacy.study import Terms
from secure_sapefl.protocol.blueprint import shares_noise

_NO_DELTA: Final = 1e-5  # for the bound on a run that promised nothing


def empirical_epsilon(
    canaries: CanaryRun, mechanisms: tuple[MechanismAudit, ...], delta: float | None, moved: Moved | None = None
) -> EmpiricalEpsilon:
    privacy = canaries.result.privacy
    return EmpiricalEpsilon(
        lower=lower_bound(canaries.scores, canaries.included, delta or _NO_DELTA),
        claimed=None if privacy is None else float(privacy["epsilon_max"]),
        replaced=None if privacy is None else float(privacy["epsilon_max_replace_one"]),
        delta=delta or _NO_DELTA,
        mechanisms=mechanisms,
        moved=moved,
    )


def mechanisms_of(
    config: Config, federation: Federation, public: PublicTerms, trainings: int, queries: int, seed: int
) -> tuple[MechanismAudit, ...]:
    """Those of the smallest site that can take part, where a record weighs most; none in a run that is not private."""
    if shares_noise(config, public.algorithm):
        return audit_shared(_shared_bench(config, federation, public, trainings, seed))
    terms, cohort = (
        Terms.from_config(config, public.algorithm, public.options, public.study.name),
        public.study.cohort_size,
    )
    if terms is None:
        return ()
    able = [client.train for client in federation.clients if len(client.train) >= config.batch_size]
    bench = Bench(
        terms=terms,
        rows=min(able, key=len),
        model=public.model,
        undrawn=public.undrawn,
        task=public.task,
        theta=public.theta_initial[: public.model.parameters],
        entries=max(1, min(config.peers_per_client or cohort, cohort - 1)),
        trainings=trainings,
        queries=queries,
        seed=seed,
    )
    return audit_mechanisms(bench)


def _shared_bench(config: Config, federation: Federation, public: PublicTerms, trials: int, seed: int) -> SharedBench:
    """A site of the run under the run's own plan, at the first common model."""
    algorithm, options = configured(config.method, config.options)
    noise = SharedNoise.from_config(
        config,
        algorithm,
        units=federation.declared_units(config.dp_unit),
        parameters=public.model.parameters,
        numbers=public.params,
    )
    return SharedBench(
        terms=noise.terms(options, public.study.name),
        rows=min((client.train for client in federation.clients if len(client.train)), key=len),
        model=public.model,
        undrawn=public.undrawn,
        task=public.task,
        theta=public.theta_initial[: public.model.parameters],
        trials=trials,
        seed=seed,
    )
