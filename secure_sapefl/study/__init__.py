"""What a study *is*: one signed file, the terms that follow from it, and how it is told to people.

file (its digest is its identity), roster, schema, preparation; terms is what follows from it, new makes one, sheet and
plain_words explain it, cost says what it may spend, mock fills it with made-up records.
"""
