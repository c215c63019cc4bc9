"""Encrypted weighted sums for people who need not know any federated learning. See README.md in the folder above."""
