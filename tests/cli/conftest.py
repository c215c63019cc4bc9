"""Typer 0.20, which Flower pins, imports names that Click 8.5 calls deprecated. Only that import is excused here."""

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "'click", DeprecationWarning)
    import typer  # noqa: F401
