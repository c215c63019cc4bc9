"""A site of a study with joint keys: its seat on committees, which claims it signed, its update until a round is over.

seat.py      keys of one attempt at one round, in memory, and what the site says as a member
claims.py    the one claim a round that the site signed, in its ledger
answer.py    the update of the open round, for another attempt
"""
