"""Attacks on our own system, from what each party of a run was actually handed."""
