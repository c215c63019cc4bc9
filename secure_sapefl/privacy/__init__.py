"""Differential privacy of everything that leaves a site (the only importer of opacus).

events       what was done to a site's records, as frozen values
accounting   from events to epsilon, by Opacus' accountants
ledger       a site's budget: an event is written before the release it pays for is made
calibration  from (epsilon, delta) and a schedule to noise
randomness   keyed streams for simulations, a secure generator for sites
per_record   gradients clipped record by record, for a stack of sites at once
trainer      DP-SGD over a Poisson plan
steps        single noised gradients, for methods that take their own steps
scores       the Gaussian mechanism on means over all records, such as output similarities
fisher       how steep records are, as such a mean
paying       a site that pays, whatever kind of noise hides it
group, study what a method and a run are handed
modules      records of any torch module, one site at a time
shared       noise that only the sum of all sites has
"""
