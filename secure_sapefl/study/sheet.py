"""A study for people: its facts, who sees what, and the note for a data protection officer."""

from typing import Any

from secure_sapefl.data.tables.schema import Schema
from secure_sapefl.privacy.adjacency import adjacency
from secure_sapefl.protocol.disclosure import keys_words, stays
from secure_sapefl.study.code import CarriedCode
from secure_sapefl.study.code_reading import in_words
from secure_sapefl.study.plain_words import exposure, leaving, leaving_once
from secure_sapefl.study.shared_words import both_numbers
from secure_sapefl.study.terms import StudyTerms
from secure_sapefl.templating import template


def facts(terms: StudyTerms) -> dict[str, str]:
    study, params = terms.file, terms.params
    options, privacy = ", ".join(f"{name} {value}" for name, value in study.options.items()), study.privacy
    return {
        "study": study.name,
        "digest": study.digest,
        "purpose": study.purpose or "not said",
        "coordinator": f"{study.coordinator_keys.name}, key {study.coordinator_keys.fingerprint}",
        "release": f"secure-sapefl {study.package}",
        "method": f"{terms.blueprint.algorithm.title} ({options or 'no options'})",
        "model": f"{study.model}, {terms.blueprint.model.parameters:,} parameters",
        **({} if study.code is None else {"code": _code(study.code)}),
        "data": _data(terms),
        "rounds": f"{study.rounds}, each with {study.cohort_size} of {len(study.sites)} sites; counts with "
        f"{study.min_cohort}, closes after {study.round_deadline:g} s",
        "training": _training(terms),
        "scores": "hidden: each site weighs its own update"
        if study.scores == "hidden"
        else "open: the server reads them, and weighs with them",
        "encryption": f"CKKS for {params.max_clients} sites, values up to {params.max_abs_value:g}, exact to "
        f"2^-{params.grid_bits}, {params.security_bits} bits",
        "keys": f"{study.keys}. {keys_words(study.keys, study.colluders)}",
        "privacy": _privacy(terms),
        **({} if privacy is None else {"neighbours": adjacency(terms.file.dp_unit), "declared": _declared(terms)}),
        **({"warning": terms.weak_delta} if terms.weak_delta else {}),
    }


def _code(code: CarriedCode) -> str:
    return (
        f"carried: {code.file}, {code.lines} lines, SHA-256 {code.digest}; it reaches for {in_words(code.source)}. "
        "Sites whose owners approve it run it in a process of its own; it could hide records in what leaves"
    )


def _training(terms: StudyTerms) -> str:
    study = terms.file
    at_home = f"{study.local_epochs} epochs, batches of {study.batch_size}, learning rate {study.lr:g}"
    if terms.shared is None:
        return f"{at_home.replace('epochs', 'epochs a round')}, seed {study.seed}"
    return f"{' '.join(terms.plan())} At home: {at_home}. Seed {study.seed}"


def _privacy(terms: StudyTerms) -> str:
    privacy = terms.file.privacy
    if privacy is None:
        return "no differential privacy"
    if terms.shared is not None:
        return f"{both_numbers(terms.shared.plan)} (δ {privacy.delta:g}); noise {privacy.noise}"
    return (
        f"at most ε {privacy.epsilon:g} at δ {privacy.delta:g} for each record of a site, {_replaced(terms)}; noise "
        f"{privacy.noise}"
    )


def _replaced(terms: StudyTerms) -> str:
    """Of the site where it is most; a site with less than a batch sits out."""
    from secure_sapefl.study.cost import planned_replace_one  # takes seconds to import

    least = terms.file.batch_size if terms.shared is None else 1
    able = {n for n in map(terms.file.declared, terms.file.sites) if n >= least}
    most = max((planned_replace_one(terms, n) for n in able), default=0.0)
    return f"added or removed, and at most {most:.3g} for one replaced"


def _declared(terms: StudyTerms) -> str:
    records = (f"{site} {terms.file.declared(site):,}" for site in terms.file.sites)
    return f"{', '.join(records)} training records; everybody may know these numbers"


def _data(terms: StudyTerms) -> str:
    data, study = terms.file.data, terms.file
    kind = f"{len(data.features)} columns and {data.label!r}" if data.kind == "table" else f"images {data.shape}"
    return f"{kind}, {_labels(data)}, at most {study.largest_site:,} training records a site"


def _labels(data: Schema) -> str:
    names = data.label_names
    match data.label_is.kind:
        case "class":
            return f"{len(names)} classes"
        case "yes-no":
            return f"{len(names)} labels that are yes or no"
        case "number":
            return "a number to predict"


def to_json(terms: StudyTerms) -> dict[str, Any]:
    parts = [
        {"field": part.field, "what": part.what, "bytes": part.size, "server": part.server, "sites": part.sites}
        | {"noised": part.noised, "once": part.once}
        for part in (*leaving(terms), *leaving_once(terms))
    ]
    return {
        "digest": terms.file.digest,
        "study": terms.file.model_dump(mode="json", exclude_none=True),
        "sites": {keys.name: keys.fingerprint for keys in terms.file.sites_keys},
        "coordinator": terms.file.coordinator_keys.fingerprint,
        "parameters": terms.blueprint.model.parameters,
        "leaves": parts,
        "warnings": [terms.weak_delta] if terms.weak_delta else [],
        "code_digest": None if terms.file.code is None else terms.file.code.digest,
        "plan": list(terms.plan()),
        "neighbours": adjacency(terms.file.dp_unit),
    }


def data_protection_note(terms: StudyTerms) -> str:
    return template("secure_sapefl.study", "data_protection_note.md.j2").render(
        study=terms.file,
        terms=terms,
        leaving=(*leaving(terms), *leaving_once(terms)),
        stays=stays(terms.file.keys, terms.file.metrics),
        keys=keys_words(terms.file.keys, terms.file.colluders),
        not_protected=exposure(terms).not_protected(),
        adjacency=adjacency(terms.file.dp_unit),
        replaced=_replaced(terms) if terms.file.privacy else "",
        both_numbers="" if terms.shared is None else both_numbers(terms.shared.plan),
    )
