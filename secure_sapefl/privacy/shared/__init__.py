"""Shared noise: each site adds a share, and only the sum of all contributors is private.

parties      how many contribute at least, how many of them may collude, how many shares nobody can subtract
grid         rounding, noise on a grid, and what both cost
"""
