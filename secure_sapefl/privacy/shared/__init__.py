"""Shared noise: each site adds a share, and only the sum of all contributors is private.

parties      how many contribute at least, how many of them may collude, how many shares nobody can subtract
grid         rounding, noise on a grid, and what both cost
plan         what a study does, in public numbers, and both epsilons of it
calibrator   from a budget and the steps one can afford to a plan
carriage     how noised sums travel as exact whole numbers
mechanism    a site's part of a step: sampled, clipped, summed, rounded, noised
persons      the same with all records of a person clipped as one
ledger       two numbers a site, and a budget for each
terms        what sites agree on and what a round costs them
optimizer    the step that all sites take with an opened sum
form, setup  a method, and a whole study, with shared noise
"""
