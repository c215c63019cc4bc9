"""A federation for tuning: part of the training rows takes the place of the test rows."""

from dataclasses import replace

from secure_sapefl.data import Federation
from secure_sapefl.data.public import completed
from secure_sapefl.engine import validation


def with_validation_rows(federation: Federation, seed: int) -> Federation:
    """A fifth of every site's training rows, stratified by class, become what it is judged on; test rows are gone. In a
    private study sites declare the rows they have left."""
    held_back = validation.with_validation_rows(federation, seed, "Compare without --tune.")
    clients = tuple(
        replace(client, test=client.validation, validation=None)
        for client in held_back.clients
        if client.validation is not None
    )
    facts = federation.public
    left = None if facts is None else completed(facts.model_copy(update={"rows": {}, "persons": {}}), clients)
    return replace(held_back, clients=clients, public=left)
